#include "base/text/quote-word.h"

#include <string.h>

void quote_word(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./:@%+=,";

	if (*word && word[strspn(word, plain)] == '\0') {
		(void)buf_puts(b, word);
		return;
	}
	(void)buf_puts(b, "'");
	for (; *word; word++)
		(void)(*word == '\'' ? buf_puts(b, "'\\''") : buf_append(b, word, 1));
	(void)buf_puts(b, "'");
}
