#include "work/text.h"

#include <ctype.h>
#include <string.h>

#include "base/json/json.h"

bool text_is_utf8(const char *text, size_t len)
{
	cleanup_json json_t *j = json_stringn(text, len);

	return j && !memchr(text, '\0', len);
}

int text_check(const char *name, const char *text, size_t len, size_t max, struct err *err)
{
	const char *nul = memchr(text, '\0', len), *p = text, *end = text + len;

	if (len > max)
		return err_usage(err, "%s: is larger than %zu KiB; split it", name, max / KiB);
	if (nul)
		return err_usage(err, "%s:%u: there is a NUL byte; save it as UTF-8 text", name,
				 text_line(text, nul));
	if (text_is_utf8(text, len))
		return 0;
	for (unsigned line = 1; p < end; line++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;

		if (!text_is_utf8(p, (size_t)(stop - p)))
			return err_usage(err, "%s:%u: is not UTF-8; save the file as UTF-8", name,
					 line);
		p = nl ? nl + 1 : end;
	}
	return err_usage(err, "%s: is not UTF-8; save the file as UTF-8", name);
}

unsigned text_line(const char *text, const char *at)
{
	unsigned line = 1;

	for (const char *p = text; p < at && (p = memchr(p, '\n', (size_t)(at - p))); p++)
		line++;
	return line;
}

char *text_short(const char *s, size_t len, size_t max)
{
	bool cut = len > max;
	char *ret;

	if (cut)
		for (len = max; len && ((unsigned char)s[len] & 0xc0) == 0x80;)
			len--;
	ret = xmalloc(len + sizeof("…"));
	for (size_t i = 0; i < len; i++)
		ret[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? ' ' : s[i];
	memcpy(ret + len, "…", sizeof("…"));
	if (!cut)
		ret[len] = '\0';
	return ret;
}

char *text_slug(const char *s, size_t max)
{
	char *ret = xmalloc(max + 1);
	size_t n = 0;

	for (; *s && n < max; s++) {
		if (isascii((unsigned char)*s) && isalnum((unsigned char)*s))
			ret[n++] = (char)tolower((unsigned char)*s);
		else if (n && ret[n - 1] != '-')
			ret[n++] = '-';
	}
	while (n && ret[n - 1] == '-')
		n--;
	ret[n] = '\0';
	return ret;
}
