#pragma once

#include "hook/shell/shell.h"

/* Shared by the two halves of the parser: words (shell-word.c) and commands (shell-parse.c). */
struct shell {
	struct arena *arena;
	const char *p, *end;
	unsigned int depth;
	struct shell_redir *pending, **pending_end; /* here-documents still to be read */
};

void shell_init(struct shell *s, struct arena *a, const char *text, size_t len);

static inline bool shell_at(const struct shell *s, size_t n, char c)
{
	return (size_t)(s->end - s->p) > n && s->p[n] == c;
}

bool shell_is_name(const char *s, size_t n);
void shell_deeper(struct shell *s);
/* Skips blanks, line continuations and comments; not newlines. */
void shell_blanks(struct shell *s);
/* Reads the next word; NULL at an operator or the end. */
struct shell_word *shell_read_word(struct shell *s);
/* Reads a here-document or the inside of double quotes: only $ ` and \ are special. */
struct shell_word *shell_expandable(struct shell *s, const char *text, size_t len);
struct shell_word *shell_literal(struct shell *s, const char *text, size_t len);

/* A word that is being read: runs of bytes with the same quoting become one part. */
struct making {
	struct shell *s;
	struct shell_word *w;
	char *run;
	size_t n, cap;
	bool quoted;
	unsigned int braces; /* open braces */
};

struct shell_part *word_part(struct making *m, enum shell_part_kind kind, bool quoted);
void word_flush(struct making *m);
void word_put(struct making *m, char c, bool quoted);
void word_empty(struct making *m); /* '' and "" are a word even if empty */
/* shell-dollar.c */
void word_dollar(struct making *m, bool quoted);
void word_backticks(struct making *m, bool quoted);
void shell_skip_pair(struct shell *s, char open, char close); /* skips to the end of the pair */

/* Reads commands up to ')', and consumes it. */
struct shell_list *shell_read_parens(struct shell *s);
/* Reads the whole text. */
struct shell_list *shell_read_all(struct shell *s);

/* True when this reserved word is next; it is consumed only if take is set. */
bool shell_keyword(struct shell *s, const char *word, bool take);
struct shell_list *shell_empty_list(struct shell *s);
/* Reads commands up to the closer, and consumes it; with NULL up to the end. */
struct shell_list *shell_list_until(struct shell *s, const char *closer);
struct shell_cmd *shell_command(struct shell *s);
/* shell-redir.c */
void shell_newline(struct shell *s);  /* with the here-documents of its line */
void shell_newlines(struct shell *s); /* all of them, and blanks */
struct shell_word *shell_need_word(struct shell *s);
/* Returns the bytes of the word as written, and whether a part was quoted. */
const char *shell_plain(struct shell *s, const struct shell_word *w, bool *quoted);
bool shell_redir(struct shell *s, struct shell_cmd *cmd);
/* shell-compound.c */
bool shell_compound(struct shell *s, struct shell_cmd *cmd); /* false: none begins here */
void shell_function(struct shell *s, struct shell_cmd *cmd); /* reads its body */
