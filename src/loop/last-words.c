#include "loop/last-words.h"

#include <string.h>

#include "base/mem.h"

#define OPEN "<promise>"
#define CLOSE "</promise>"

static void trim(const char **p, size_t *n)
{
	while (*n > 0 && strchr(" \t\r", **p)) {
		(*p)++;
		(*n)--;
	}
	while (*n > 0 && strchr(" \t\r", (*p)[*n - 1]))
		(*n)--;
}

static bool take_word(const char **p, size_t *n, const char *word)
{
	size_t len = strlen(word);

	if (*n < len || memcmp(*p, word, len) != 0)
		return false;
	*p += len;
	*n -= len;
	return true;
}

static void set(struct last_words *ret, enum last_words_kind kind, const char *p, size_t n)
{
	trim(&p, &n);
	last_words_done(ret);
	ret->kind = kind;
	if (n > 0)
		ret->text = xstrndup(p, n < LAST_WORDS_TEXT_MAX ? n : LAST_WORDS_TEXT_MAX);
}

static void on_line(const char *p, size_t n, struct last_words *ret)
{
	const size_t close = strlen(CLOSE);

	trim(&p, &n);
	if (!take_word(&p, &n, OPEN) || n < close || memcmp(p + n - close, CLOSE, close) != 0)
		return;
	n -= close;
	trim(&p, &n);
	if (n == strlen("COMPLETE") && memcmp(p, "COMPLETE", n) == 0)
		set(ret, LAST_WORDS_COMPLETE, p, 0);
	else if (take_word(&p, &n, "BLOCKED:"))
		set(ret, LAST_WORDS_BLOCKED, p, n);
	else if (take_word(&p, &n, "DECIDE:"))
		set(ret, LAST_WORDS_DECIDE, p, n);
}

void last_words_find(const char *text, struct last_words *ret)
{
	*ret = (struct last_words){0};
	while (text && *text) {
		size_t n = strcspn(text, "\n");

		on_line(text, n, ret);
		text += n + (text[n] == '\n');
	}
}

void last_words_done(struct last_words *p)
{
	free(p->text);
	*p = (struct last_words){0};
}
