#include "cred/bearer.h"

#include <string.h>

#include "cred/token.h"

#define LINE_MAX_LEN (16 * KiB)

/* "//HOST[:PORT]/…" of a line, compared with what is asked. */
static bool is_for(const char *line, size_t n, const char *host, uint16_t port)
{
	cleanup_free char *full = NULL;
	size_t len;

	if (n < 3 || line[0] != '/' || line[1] != '/')
		return false;
	if (!host)
		return true;
	line += 2;
	len = strcspn(line, "/");
	full = xasprintf("%s:%u", host, port);
	return (strlen(full) == len && strncasecmp(line, full, len) == 0) ||
	       (port == 443 && strlen(host) == len && strncasecmp(line, host, len) == 0);
}

/* ${NAME}, as npm expands it; what is not set makes the line useless. */
static char *expand(const struct cred_host *h, const char *p, size_t n)
{
	cleanup_(cred_wipe) struct buf b;

	buf_init(&b, TOKEN_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *end = i + 1 < n && p[i] == '$' && p[i + 1] == '{'
					  ? memchr(p + i, '}', n - i)
					  : NULL;
		cleanup_free char *name = NULL;
		const char *value;

		if (!end) {
			(void)buf_putc(&b, p[i]);
			continue;
		}
		name = xstrndup(p + i + 2, (size_t)(end - p) - i - 2);
		value = cred_host_env(h, name);
		if (!value)
			return NULL;
		(void)buf_puts(&b, value);
		i = (size_t)(end - p);
	}
	return b.full || !token_is_sane(buf_str(&b)) ? NULL : xstrdup(buf_str(&b));
}

static char *token_of(const struct cred_host *h, const char *line, size_t n, const char *host,
		      uint16_t port)
{
	static const char key[] = ":_authToken";
	const char *eq = memchr(line, '=', n), *at, *value;
	size_t left, len;

	if (!eq || !is_for(line, n, host, port))
		return NULL;
	left = (size_t)(eq - line);
	while (left && (line[left - 1] == ' ' || line[left - 1] == '\t'))
		left--;
	at = left >= sizeof(key) - 1 ? line + left - (sizeof(key) - 1) : NULL;
	if (!at || memcmp(at, key, sizeof(key) - 1) != 0)
		return NULL;
	value = eq + 1;
	len = n - (size_t)(value - line);
	while (len && strchr(" \t\"", value[0])) {
		value++;
		len--;
	}
	while (len && strchr(" \t\r\"", value[len - 1]))
		len--;
	return expand(h, value, len);
}

char *npmrc_token(const struct cred_host *h, const char *text, const char *host, uint16_t port)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *line = text;
		char *token;

		text += n + (text[n] == '\n');
		while (n && (*line == ' ' || *line == '\t')) {
			line++;
			n--;
		}
		token = n && n < LINE_MAX_LEN ? token_of(h, line, n, host, port) : NULL;
		if (token)
			return token;
	}
	return NULL;
}
