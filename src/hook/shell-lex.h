#pragma once

#include "hook/shell.h"

/* Shared by the two halves of the reader: words (shell-word.c) and commands (shell-parse.c). */
struct shell {
	struct arena *arena;
	const char *p, *end;
	unsigned int depth;
	struct shell_redir *pending, **pending_end; /* here-documents whose text is still to come */
};

void shell_init(struct shell *s, struct arena *a, const char *text, size_t len);

static inline bool shell_at(const struct shell *s, size_t n, char c)
{
	return (size_t)(s->end - s->p) > n && s->p[n] == c;
}

bool shell_is_name(const char *s, size_t n);
void shell_deeper(struct shell *s);
/* Blanks, continued lines and comments; not newlines. */
void shell_blanks(struct shell *s);
/* The word that begins here; NULL at an operator or the end. */
struct shell_word *shell_read_word(struct shell *s);
/* A here-document, or the inside of double quotes: only $ ` and \ mean something. */
struct shell_word *shell_expandable(struct shell *s, const char *text, size_t len);
struct shell_word *shell_literal(struct shell *s, const char *text, size_t len);

/* Commands up to ')', which is taken. */
struct shell_list *shell_read_parens(struct shell *s);
/* All there is. */
struct shell_list *shell_read_all(struct shell *s);
