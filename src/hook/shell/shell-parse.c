#include "hook/shell/shell-lex.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

struct shell_list *shell_empty_list(struct shell *s)
{
	return arena_alloc(s->arena, sizeof(struct shell_list));
}

/* True when this reserved word is next; it is consumed only if take is set. */
bool shell_keyword(struct shell *s, const char *word, bool take)
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

static struct shell_word *array_words(struct shell *s)
{
	struct shell_word *first = NULL, **end = &first;

	for (s->p++;; end = &(*end)->next) {
		shell_newlines(s);
		if (shell_at(s, 0, ')')) {
			s->p++;
			return first;
		}
		*end = shell_need_word(s);
	}
}

/* Returns the offset of the value after NAME=, NAME+= or NAME[…]=, or 0. */
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
		if (shell_redir(s, cmd))
			continue;
		w = shell_read_word(s);
		if (!w)
			return;
		if (!cmd->words && read_assign(s, cmd, w))
			continue;
		/* declare a=(…) is an assignment at any position. */
		if (shell_at(s, 0, '(') && read_assign(s, cmd, w))
			continue;
		*end = w;
		end = &w->next;
	}
}

/* f() …: the name was read as the only word. */
static bool is_function(const struct shell *s, const struct shell_cmd *cmd)
{
	return cmd->words && !cmd->words->next && !cmd->assigns && !cmd->redirs &&
	       shell_at(s, 0, '(');
}

struct shell_cmd *shell_command(struct shell *s)
{
	struct shell_cmd *cmd = arena_alloc(s->arena, sizeof(*cmd));

	shell_deeper(s);
	while (shell_keyword(s, "!", true) || shell_keyword(s, "time", true) ||
	       shell_keyword(s, "-p", true) || shell_keyword(s, "coproc", true))
		;
	if (shell_compound(s, cmd)) {
		while (shell_redir(s, cmd))
			;
	} else {
		read_simple(s, cmd);
		if (is_function(s, cmd)) {
			cmd->name = shell_plain(s, cmd->words, NULL);
			shell_function(s, cmd);
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
		*end = shell_command(s);
		if (!*end)
			break;
		end = &(*end)->next;
		shell_blanks(s);
		if (!shell_at(s, 0, '|') || shell_at(s, 1, '|'))
			break;
		s->p += shell_at(s, 1, '&') ? 2 : 1;
		shell_newlines(s);
	}
	return pipe->first ? pipe : NULL;
}

static bool at_closer(struct shell *s, const char *closer)
{
	if (!closer)
		return false;
	if (streq(closer, ";;")) {
		if (shell_keyword(s, "esac", false))
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
	return shell_keyword(s, closer, true);
}

/* Consumes a separator between two pipelines; *conditional is set after && and ||. */
static bool separator(struct shell *s, struct shell_pipe *last, bool *conditional)
{
	static const char *const within[] = {"then", "elif", "else", "do"};

	if (shell_at(s, 0, '\n')) {
		shell_newline(s);
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
		if (shell_keyword(s, within[i], true))
			return true;
	return false;
}

/* Reads commands up to the closer, and consumes it; with NULL up to the end. */
struct shell_list *shell_list_until(struct shell *s, const char *closer)
{
	struct shell_list *list = shell_empty_list(s);
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
		if (last) {
			last->conditional = conditional;
			conditional = false;
			end = &last->next;
		} else {
			arena_give_up(s->arena, "it has a bracket where none can be");
		}
	}
	s->depth--;
	return list;
}

struct shell_list *shell_read_parens(struct shell *s)
{
	return shell_list_until(s, ")");
}

struct shell_list *shell_read_all(struct shell *s)
{
	return shell_list_until(s, NULL);
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
