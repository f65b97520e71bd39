/* Parses if, while, for, case, [[, functions, and groups in brackets. */
#include "hook/shell/shell-lex.h"

#include <string.h>

void shell_function(struct shell *s, struct shell_cmd *cmd)
{
	struct shell_pipe *pipe = arena_alloc(s->arena, sizeof(*pipe));

	cmd->kind = CMD_FUNCTION;
	shell_blanks(s);
	if (shell_at(s, 0, '(')) {
		s->p++;
		shell_blanks(s);
		if (!shell_at(s, 0, ')'))
			arena_give_up(s->arena, "a ( is where none can be");
		s->p++;
	}
	shell_newlines(s);
	pipe->first = shell_command(s);
	if (!pipe->first)
		arena_give_up(s->arena, "a function has no body");
	cmd->words = NULL;
	cmd->body = shell_empty_list(s);
	cmd->body->first = pipe;
}

/* [[ … ]]: its operators are ignored, but its substitutions run. */
static void read_test(struct shell *s, struct shell_cmd *cmd)
{
	struct shell_word **end = &cmd->words;

	while (s->p < s->end) {
		struct shell_word *w;

		shell_newlines(s);
		if (shell_keyword(s, "]]", true))
			return;
		w = shell_read_word(s);
		if (w) {
			*end = w;
			end = &w->next;
		} else if (s->p < s->end) {
			s->p++;
		}
	}
	arena_give_up(s->arena, "a [[ is not closed");
}

/* Reads ((…)) as a command, or the head of for ((…)). */
static bool read_arithmetic(struct shell *s, struct shell_cmd *cmd)
{
	const char *from = s->p + 2;
	int n = 2;

	for (const char *p = from; p < s->end; p++) {
		if (*p == '(')
			n++;
		else if (*p == ')' && --n == 0) {
			if (p[-1] != ')')
				return false;
			cmd->kind = CMD_GROUP;
			cmd->body = shell_empty_list(s);
			cmd->words = shell_expandable(s, from, (size_t)(p - from) - 1);
			s->p = p + 1;
			return true;
		}
	}
	return false;
}

static bool is_forever(struct shell *s)
{
	return shell_keyword(s, "true", false) || shell_keyword(s, ":", false) ||
	       shell_keyword(s, "1", false) || shell_keyword(s, "false", false);
}

static void read_for(struct shell *s, struct shell_cmd *cmd)
{
	struct shell_word *w, **end = &cmd->words;

	cmd->loop = true;
	shell_blanks(s);
	if (shell_at(s, 0, '(') && shell_at(s, 1, '(')) {
		if (!read_arithmetic(s, cmd))
			arena_give_up(s->arena, "a for (( is not closed");
	} else {
		cmd->name = shell_plain(s, shell_need_word(s), NULL);
		shell_newlines(s);
		if (shell_keyword(s, "in", true)) {
			while ((w = shell_read_word(s))) {
				*end = w;
				end = &w->next;
			}
		}
	}
	shell_blanks(s);
	if (shell_at(s, 0, ';'))
		s->p++;
	shell_newlines(s);
	if (shell_at(s, 0, '{')) {
		s->p++;
		cmd->body = shell_list_until(s, "}");
	} else if (shell_keyword(s, "do", true)) {
		cmd->body = shell_list_until(s, "done");
	} else {
		arena_give_up(s->arena, "a for has no do");
	}
}

/* Patterns are words, and are expanded like words. */
static void case_pattern(struct shell *s, struct shell_cmd *cmd)
{
	struct shell_word *w, **end = &cmd->words;

	shell_blanks(s);
	if (shell_at(s, 0, '('))
		s->p++;
	while (*end)
		end = &(*end)->next;
	for (;;) {
		w = shell_read_word(s);
		if (w) {
			*end = w;
			end = &w->next;
		}
		shell_blanks(s);
		if (shell_at(s, 0, '|') || shell_at(s, 0, '\n')) {
			s->p++;
			continue;
		}
		if (!shell_at(s, 0, ')'))
			arena_give_up(s->arena, "a case has a pattern without )");
		s->p++;
		return;
	}
}

static void read_case(struct shell *s, struct shell_cmd *cmd)
{
	struct shell_pipe **end;

	cmd->conditional = true;
	cmd->words = shell_need_word(s);
	shell_newlines(s);
	if (!shell_keyword(s, "in", true))
		arena_give_up(s->arena, "a case has no in");
	cmd->body = shell_empty_list(s);
	end = &cmd->body->first;
	for (;;) {
		shell_newlines(s);
		if (shell_keyword(s, "esac", true))
			return;
		case_pattern(s, cmd);
		*end = shell_list_until(s, ";;")->first;
		while (*end)
			end = &(*end)->next;
	}
}

/* Reads a compound command; false: none begins here. */
bool shell_compound(struct shell *s, struct shell_cmd *cmd)
{
	cmd->kind = CMD_GROUP;
	if (shell_at(s, 0, '(') && shell_at(s, 1, '(') && read_arithmetic(s, cmd))
		return true;
	if (shell_at(s, 0, '(')) {
		s->p++;
		cmd->body = shell_list_until(s, ")");
	} else if (shell_keyword(s, "{", true)) {
		cmd->body = shell_list_until(s, "}");
	} else if (shell_keyword(s, "if", true)) {
		cmd->conditional = true;
		cmd->body = shell_list_until(s, "fi");
	} else if (shell_keyword(s, "while", true) || shell_keyword(s, "until", true)) {
		cmd->loop = is_forever(s);
		cmd->conditional = true;
		cmd->body = shell_list_until(s, "done");
	} else if (shell_keyword(s, "for", true) || shell_keyword(s, "select", true)) {
		read_for(s, cmd);
	} else if (shell_keyword(s, "case", true)) {
		read_case(s, cmd);
	} else if (shell_keyword(s, "[[", true)) {
		cmd->body = shell_empty_list(s);
		read_test(s, cmd);
	} else if (shell_keyword(s, "function", true)) {
		cmd->name = shell_plain(s, shell_need_word(s), NULL);
		shell_function(s, cmd);
		return true;
	} else {
		cmd->kind = CMD_SIMPLE;
		return false;
	}
	return true;
}
