#include "repo/repo-secret.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/text/mask.h"
#include "base/mem.h"

#define WORD_MAX 4096 /* longer words are data, not keys */

static size_t line_of(const char *p, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += p[i] == '\n';
	return line;
}

static bool stands_in(const char *text, size_t text_n, const char *p, size_t n)
{
	return text_n && memmem(text, text_n, p, n);
}

static bool says_example(const char *p, size_t n)
{
	static const char *const words[] = {"example", "xxxx",	"0000", "1234567", "placeholder",
					    "your",    "dummy", "test", "fake"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t at = 0; at + strlen(words[i]) <= n; at++)
			if (strncasecmp(p + at, words[i], strlen(words[i])) == 0)
				return true;
	return false;
}

/* Keys are random. A word without any digit, or with few different characters, was written by
 * people, such as sk-loading-indicator. */
static bool looks_random(const char *p, size_t n)
{
	bool seen[256] = {0};
	size_t kinds = 0;
	bool digit = false;

	for (size_t i = 0; i < n; i++) {
		digit = digit || isdigit((unsigned char)p[i]);
		kinds += !seen[(unsigned char)p[i]];
		seen[(unsigned char)p[i]] = true;
	}
	return digit && kinds >= 10;
}

static enum repo_secret judge_word(const char *p, size_t n)
{
	if (n > WORD_MAX || !mask_is_key_word(p, n))
		return REPO_SECRET_NONE;
	return looks_random(p, n) && !says_example(p, n) ? REPO_SECRET_KEY : REPO_SECRET_UNSURE;
}

static enum repo_secret find_words(const char *p, size_t n, const char *old, size_t old_n,
				   size_t *ret_at)
{
	enum repo_secret worst = REPO_SECRET_NONE;

	for (size_t i = 0; i < n && worst < REPO_SECRET_KEY;) {
		enum repo_secret found;
		size_t len = mask_word_len(p + i, n - i);

		found = len ? judge_word(p + i, len) : REPO_SECRET_NONE;
		if (found > worst && !stands_in(old, old_n, p + i, len)) {
			worst = found;
			*ret_at = i;
		}
		i += len + 1;
	}
	return worst;
}

/* Finds the body of a private key. The header alone does not count: sources and tests contain
 * it. */
static bool find_private_key(const char *p, size_t n, const char *old, size_t old_n, size_t *ret_at)
{
	static const char mark[] = "PRIVATE KEY-----";
	const char *at = p;

	while ((at = memmem(at, n - (size_t)(at - p), mark, strlen(mark)))) {
		const char *body = at + strlen(mark);
		size_t left = n - (size_t)(body - p), len;

		at = body;
		while (left && (*body == '\n' || *body == '\r')) {
			body++;
			left--;
		}
		/* In a JSON or C string, the line ends with a literal \n. */
		if (left > 2 && body[0] == '\\' && body[1] == 'n') {
			body += 2;
			left -= 2;
		}
		len = mask_word_len(body, left);
		if (len >= 32 && !stands_in(old, old_n, body, len)) {
			*ret_at = (size_t)(at - p);
			return true;
		}
	}
	return false;
}

static bool find_value(const struct needles *known, const char *p, size_t n, const char *old,
		       size_t old_n, size_t *ret_at)
{
	for (size_t i = 0; known && i < n;) {
		size_t len = 0, at = needles_find(known, p + i, n - i, &len);

		if (at == n - i)
			return false;
		if (!stands_in(old, old_n, p + i + at, len)) {
			*ret_at = i + at;
			return true;
		}
		i += at + len;
	}
	return false;
}

enum repo_secret repo_secret_find(const struct needles *known, const char *p, size_t n,
				  const char *old, size_t old_n, size_t *ret_line)
{
	enum repo_secret found;
	size_t at = 0;

	if (find_value(known, p, n, old, old_n, &at))
		found = REPO_SECRET_VALUE;
	else if (find_private_key(p, n, old, old_n, &at))
		found = REPO_SECRET_KEY;
	else
		found = find_words(p, n, old, old_n, &at);
	if (found)
		*ret_line = line_of(p, at);
	return found;
}
