#include "hook/shell-lex.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

static struct shell_list *read_list(struct shell *s, const char *closer);

static struct shell_list *empty_list(struct shell *s)
{
	return arena_alloc(s->arena, sizeof(struct shell_list));
}

/* One line of a here-document, without its newline; false at the end. */
static bool here_line(struct shell *s, const char **line, size_t *n)
{
	const char *nl;

	if (s->p >= s->end)
		return false;
	*line = s->p;
	nl = memchr(s->p, '\n', (size_t)(s->end - s->p));
	*n = (size_t)((nl ? nl : s->end) - s->p);
	s->p = nl ? nl + 1 : s->end;
	return true;
}

static void here_document(struct shell *s, struct shell_redir *r)
{
	char *text = arena_alloc(s->arena, (size_t)(s->end - s->p) + 2);
	const char *line;
	size_t n, len = 0;

	while (here_line(s, &line, &n)) {
		while (r->strip && n && *line == '\t') {
			line++;
			n--;
		}
		if (n == strlen(r->delimiter) && memcmp(line, r->delimiter, n) == 0)
			break;
		memcpy(text + len, line, n);
		len += n;
		text[len++] = '\n';
	}
	r->target = r->raw ? shell_literal(s, text, len) : shell_expandable(s, text, len);
}

/* A newline is the place where the here-documents of its line begin. */
static void take_newline(struct shell *s)
{
	struct shell_redir *r = s->pending;

	s->p++;
	s->pending = NULL;
	s->pending_end = &s->pending;
	for (; r; r = r->next_pending)
		here_document(s, r);
}

static void skip_newlines(struct shell *s)
{
	for (;;) {
		shell_blanks(s);
		if (!shell_at(s, 0, '\n'))
			return;
		take_newline(s);
	}
}

/* The reserved word here, if it is this one; taken only when asked. */
static bool keyword(struct shell *s, const char *word, bool take)
{
	size_t n = strlen(word);

	shell_blanks(s);
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	if (s->p + n < s->end && !strchr(" \t\r\n;&|<>()", s->p[n]))
		return false;
	if (take)
		s->p += n;
	return true;
}

static const char *plain_text(struct shell *s, const struct shell_word *w, bool *quoted)
{
	char *text;
	size_t n = 0;

	for (struct shell_part *p = w->first; p; p = p->next)
		n += p->len;
	text = arena_alloc(s->arena, n + 1);
	n = 0;
	for (struct shell_part *p = w->first; p; p = p->next) {
		if (p->kind == PART_TEXT && p->len) {
			memcpy(text + n, p->text, p->len);
			n += p->len;
		}
		if (quoted && p->quoted)
			*quoted = true;
	}
	return text;
}

static struct shell_word *need_word(struct shell *s)
{
	struct shell_word *w = shell_read_word(s);

	if (!w)
		arena_give_up(s->arena, "a word is missing");
	return w;
}

static void add_here(struct shell *s, struct shell_redir *r)
{
	r->strip = shell_at(s, 0, '-');
	if (r->strip)
		s->p++;
	r->delimiter = plain_text(s, need_word(s), &r->raw);
	r->target = shell_literal(s, "", 0); /* if no line follows */
	*s->pending_end = r;
	s->pending_end = &r->next_pending;
}

/* Behind an optional number; false when no redirection begins here. */
static bool read_redir(struct shell *s, struct shell_cmd *cmd)
{
	const char *back;
	struct shell_redir *r, **end = &cmd->redirs;

	shell_blanks(s);
	back = s->p;
	if (shell_at(s, 0, '{')) { /* {fd}> */
		const char *close = memchr(s->p, '}', (size_t)(s->end - s->p));

		if (close && shell_is_name(s->p + 1, (size_t)(close - s->p) - 1) &&
		    close + 1 < s->end && (close[1] == '<' || close[1] == '>'))
			s->p = close + 1;
	}
	while (s->p < s->end && isdigit((unsigned char)*s->p))
		s->p++;
	if (shell_at(s, 0, '&') && shell_at(s, 1, '>'))
		s->p++;
	if ((!shell_at(s, 0, '<') && !shell_at(s, 0, '>')) ||
	    (shell_at(s, 1, '(') && s->p == back)) {
		s->p = back;
		return false;
	}
	while (*end)
		end = &(*end)->next;
	*end = r = arena_alloc(s->arena, sizeof(*r));
	if (shell_at(s, 0, '<') && shell_at(s, 1, '<') && shell_at(s, 2, '<')) {
		s->p += 3;
		r->kind = REDIR_HERE;
		r->target = need_word(s);
	} else if (shell_at(s, 0, '<') && shell_at(s, 1, '<')) {
		s->p += 2;
		r->kind = REDIR_HERE;
		add_here(s, r);
	} else {
		r->kind = shell_at(s, 0, '<') && !shell_at(s, 1, '>') ? REDIR_IN : REDIR_OUT;
		s->p++;
		if (shell_at(s, 0, '>') || shell_at(s, 0, '|')) {
			s->p++;
		} else if (shell_at(s, 0, '&')) {
			s->p++;
			/* >&FILE is a file, >&1 and >&- are not. */
			if (s->p < s->end && (isdigit((unsigned char)*s->p) || *s->p == '-'))
				r->kind = REDIR_DUP;
		}
		r->target = need_word(s);
	}
	return true;
}

static struct shell_word *array_words(struct shell *s)
{
	struct shell_word *first = NULL, **end = &first;

	for (s->p++;; end = &(*end)->next) {
		skip_newlines(s);
		if (shell_at(s, 0, ')')) {
			s->p++;
			return first;
		}
		*end = need_word(s);
	}
}

/* NAME= NAME+= NAME[…]=: where the value begins, or 0. */
static size_t assign_at(const struct shell_word *w, size_t *name_len, bool *append)
{
	const struct shell_part *p = w->first;
	size_t n = 0;

	if (p->kind != PART_TEXT || p->quoted)
		return 0;
	while (n < p->len && (isalnum((unsigned char)p->text[n]) || p->text[n] == '_'))
		n++;
	if (!shell_is_name(p->text, n))
		return 0;
	*name_len = n;
	if (n < p->len && p->text[n] == '[') {
		const char *close = memchr(p->text, ']', p->len);

		if (!close)
			return 0;
		n = (size_t)(close - p->text) + 1;
	}
	*append = n < p->len && p->text[n] == '+';
	n += *append;
	return n < p->len && p->text[n] == '=' ? n + 1 : 0;
}

static bool read_assign(struct shell *s, struct shell_cmd *cmd, struct shell_word *w)
{
	struct shell_assign *a, **end = &cmd->assigns;
	size_t name_len, at;
	bool append;

	at = assign_at(w, &name_len, &append);
	if (!at)
		return false;
	a = arena_alloc(s->arena, sizeof(*a));
	a->name = arena_strndup(s->arena, w->first->text, name_len);
	a->append = append;
	if (at == w->first->len && !w->first->next && shell_at(s, 0, '(')) {
		a->array = true;
		a->value = array_words(s);
	} else {
		struct shell_part *part = arena_alloc(s->arena, sizeof(*part));

		*part = *w->first;
		part->text += at;
		part->len -= at;
		a->value = arena_alloc(s->arena, sizeof(*a->value));
		a->value->first = part;
		a->value->last = w->last == w->first ? part : w->last;
	}
	while (*end)
		end = &(*end)->next;
	*end = a;
	return true;
}

static void read_simple(struct shell *s, struct shell_cmd *cmd)
{
	struct shell_word *w, **end = &cmd->words;

	for (;;) {
		if (read_redir(s, cmd))
			continue;
		w = shell_read_word(s);
		if (!w)
			return;
		if (!cmd->words && read_assign(s, cmd, w))
			continue;
		/* declare a=(…): an assignment, wherever it stands. */
		if (shell_at(s, 0, '(') && read_assign(s, cmd, w))
			continue;
		*end = w;
		end = &w->next;
	}
}

/* f() …: the name has been read as the only word. */
static bool is_function(const struct shell *s, const struct shell_cmd *cmd)
{
	return cmd->words && !cmd->words->next && !cmd->assigns && !cmd->redirs &&
	       shell_at(s, 0, '(');
}

static struct shell_cmd *read_command(struct shell *s);

static void function_body(struct shell *s, struct shell_cmd *cmd)
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
	skip_newlines(s);
	pipe->first = read_command(s);
	if (!pipe->first)
		arena_give_up(s->arena, "a function has no body");
	cmd->words = NULL;
	cmd->body = empty_list(s);
	cmd->body->first = pipe;
}

/* [[ … ]]: its operators mean nothing here, what it substitutes does. */
static void read_test(struct shell *s, struct shell_cmd *cmd)
{
	struct shell_word **end = &cmd->words;

	while (s->p < s->end) {
		struct shell_word *w;

		skip_newlines(s);
		if (keyword(s, "]]", true))
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

/* ((…)) as a command, and the head of for ((…)). */
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
			cmd->body = empty_list(s);
			cmd->words = shell_expandable(s, from, (size_t)(p - from) - 1);
			s->p = p + 1;
			return true;
		}
	}
	return false;
}

static bool is_forever(struct shell *s)
{
	return keyword(s, "true", false) || keyword(s, ":", false) || keyword(s, "1", false) ||
	       keyword(s, "false", false);
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
		cmd->name = plain_text(s, need_word(s), NULL);
		skip_newlines(s);
		if (keyword(s, "in", true)) {
			while ((w = shell_read_word(s))) {
				*end = w;
				end = &w->next;
			}
		}
	}
	shell_blanks(s);
	if (shell_at(s, 0, ';'))
		s->p++;
	skip_newlines(s);
	if (shell_at(s, 0, '{')) {
		s->p++;
		cmd->body = read_list(s, "}");
	} else if (keyword(s, "do", true)) {
		cmd->body = read_list(s, "done");
	} else {
		arena_give_up(s->arena, "a for has no do");
	}
}

static void case_pattern(struct shell *s)
{
	shell_blanks(s);
	if (shell_at(s, 0, '('))
		s->p++;
	for (;;) {
		(void)shell_read_word(s);
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
	cmd->words = need_word(s);
	skip_newlines(s);
	if (!keyword(s, "in", true))
		arena_give_up(s->arena, "a case has no in");
	cmd->body = empty_list(s);
	end = &cmd->body->first;
	for (;;) {
		skip_newlines(s);
		if (keyword(s, "esac", true))
			return;
		case_pattern(s);
		*end = read_list(s, ";;")->first;
		while (*end)
			end = &(*end)->next;
	}
}

/* A compound command; false: none begins here. */
static bool read_compound(struct shell *s, struct shell_cmd *cmd)
{
	cmd->kind = CMD_GROUP;
	if (shell_at(s, 0, '(') && shell_at(s, 1, '(') && read_arithmetic(s, cmd))
		return true;
	if (shell_at(s, 0, '(')) {
		s->p++;
		cmd->body = read_list(s, ")");
	} else if (keyword(s, "{", true)) {
		cmd->body = read_list(s, "}");
	} else if (keyword(s, "if", true)) {
		cmd->conditional = true;
		cmd->body = read_list(s, "fi");
	} else if (keyword(s, "while", true) || keyword(s, "until", true)) {
		cmd->loop = is_forever(s);
		cmd->conditional = true;
		cmd->body = read_list(s, "done");
	} else if (keyword(s, "for", true) || keyword(s, "select", true)) {
		read_for(s, cmd);
	} else if (keyword(s, "case", true)) {
		read_case(s, cmd);
	} else if (keyword(s, "[[", true)) {
		cmd->body = empty_list(s);
		read_test(s, cmd);
	} else if (keyword(s, "function", true)) {
		cmd->name = plain_text(s, need_word(s), NULL);
		function_body(s, cmd);
		return true;
	} else {
		cmd->kind = CMD_SIMPLE;
		return false;
	}
	return true;
}

static struct shell_cmd *read_command(struct shell *s)
{
	struct shell_cmd *cmd = arena_alloc(s->arena, sizeof(*cmd));

	shell_deeper(s);
	while (keyword(s, "!", true) || keyword(s, "time", true) || keyword(s, "-p", true) ||
	       keyword(s, "coproc", true))
		;
	if (read_compound(s, cmd)) {
		while (read_redir(s, cmd))
			;
	} else {
		read_simple(s, cmd);
		if (is_function(s, cmd)) {
			cmd->name = plain_text(s, cmd->words, NULL);
			function_body(s, cmd);
		}
	}
	s->depth--;
	return cmd->kind != CMD_SIMPLE || cmd->words || cmd->assigns || cmd->redirs ? cmd : NULL;
}

static struct shell_pipe *read_pipe(struct shell *s)
{
	struct shell_pipe *pipe = arena_alloc(s->arena, sizeof(*pipe));
	struct shell_cmd **end = &pipe->first;

	for (;;) {
		*end = read_command(s);
		if (!*end)
			break;
		end = &(*end)->next;
		shell_blanks(s);
		if (!shell_at(s, 0, '|') || shell_at(s, 1, '|'))
			break;
		s->p += shell_at(s, 1, '&') ? 2 : 1;
		skip_newlines(s);
	}
	return pipe->first ? pipe : NULL;
}

static bool at_closer(struct shell *s, const char *closer)
{
	if (!closer)
		return false;
	if (streq(closer, ";;")) {
		if (keyword(s, "esac", false))
			return true;
		if (!shell_at(s, 0, ';') || (!shell_at(s, 1, ';') && !shell_at(s, 1, '&')))
			return false;
		s->p += shell_at(s, 2, '&') ? 3 : 2;
		return true;
	}
	if (*closer == ')') {
		if (!shell_at(s, 0, ')'))
			return false;
		s->p++;
		return true;
	}
	return keyword(s, closer, true);
}

/* What stands between two pipelines; *conditional is set behind && and ||. */
static bool separator(struct shell *s, struct shell_pipe *last, bool *conditional)
{
	static const char *const within[] = {"then", "elif", "else", "do"};

	if (shell_at(s, 0, '\n')) {
		take_newline(s);
		return true;
	}
	if ((shell_at(s, 0, '&') && shell_at(s, 1, '&')) ||
	    (shell_at(s, 0, '|') && shell_at(s, 1, '|'))) {
		*conditional = true;
		s->p += 2;
		return true;
	}
	if (shell_at(s, 0, '&') || shell_at(s, 0, ';')) {
		if (last && *s->p == '&')
			last->background = true;
		s->p++;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(within); i++)
		if (keyword(s, within[i], true))
			return true;
	return false;
}

/* Up to the closer, which is taken; with NULL up to the end. */
static struct shell_list *read_list(struct shell *s, const char *closer)
{
	struct shell_list *list = empty_list(s);
	struct shell_pipe **end = &list->first, *last = NULL;
	bool conditional = false;

	shell_deeper(s);
	for (;;) {
		shell_blanks(s);
		if (at_closer(s, closer))
			break;
		if (s->p >= s->end || !*s->p) {
			if (closer)
				arena_give_up(s->arena, "it ends in the middle of a command");
			break;
		}
		if (separator(s, last, &conditional))
			continue;
		*end = last = read_pipe(s);
		if (!last)
			arena_give_up(s->arena, "it has a bracket where none can be");
		last->conditional = conditional;
		conditional = false;
		end = &last->next;
	}
	s->depth--;
	return list;
}

struct shell_list *shell_read_parens(struct shell *s)
{
	return read_list(s, ")");
}

struct shell_list *shell_read_all(struct shell *s)
{
	return read_list(s, NULL);
}

struct shell_list *shell_parse(struct arena *a, const char *text, size_t len)
{
	struct shell s;

	if (len > SHELL_TEXT)
		arena_give_up(a, "it is too long");
	if (memchr(text, 0, len))
		arena_give_up(a, "it has a NUL byte");
	shell_init(&s, a, text, len);
	return shell_read_all(&s);
}
