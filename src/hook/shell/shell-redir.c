/* Newlines with the here-documents that follow them, and redirections. */
#include "hook/shell/shell-lex.h"

#include <ctype.h>
#include <string.h>

/* Reads a line of a here-document, without its newline; false at the end. */
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

/* The here-documents of a line begin after its newline. */
void shell_newline(struct shell *s)
{
	struct shell_redir *r = s->pending;

	s->p++;
	s->pending = NULL;
	s->pending_end = &s->pending;
	for (; r; r = r->next_pending)
		here_document(s, r);
}

void shell_newlines(struct shell *s)
{
	for (;;) {
		shell_blanks(s);
		if (!shell_at(s, 0, '\n'))
			return;
		shell_newline(s);
	}
}

const char *shell_plain(struct shell *s, const struct shell_word *w, bool *quoted)
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

struct shell_word *shell_need_word(struct shell *s)
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
	r->delimiter = shell_plain(s, shell_need_word(s), &r->raw);
	r->target = shell_literal(s, "", 0); /* if no line follows */
	*s->pending_end = r;
	s->pending_end = &r->next_pending;
}

/* Reads a redirection after an optional number; false when none begins here. */
bool shell_redir(struct shell *s, struct shell_cmd *cmd)
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
		r->target = shell_need_word(s);
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
			/* >&FILE names a file; >&1 and >&- do not. */
			if (s->p < s->end && (isdigit((unsigned char)*s->p) || *s->p == '-'))
				r->kind = REDIR_DUP;
		}
		r->target = shell_need_word(s);
	}
	return true;
}
