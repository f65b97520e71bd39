#include "cred/requests.h"

#include <string.h>

#define ROW_MAX (4 * KiB)

static const char *option(const struct strv *options, const char *name, size_t n)
{
	for (size_t i = 0; i < options->n; i++)
		if (strncmp(options->v[i], name, n) == 0 && options->v[i][n] == '=')
			return options->v[i] + n + 1;
	return NULL;
}

char *cred_expand(const char *text, const struct strv *options)
{
	cleanup_buf struct buf b;

	buf_init(&b, ROW_MAX);
	while (*text) {
		size_t n = strcspn(text, "{");
		const char *value, *name = text + n + 1;

		(void)buf_append(&b, text, n);
		text += n;
		if (!*text)
			break;
		n = strcspn(name, "}");
		value = option(options, name, n);
		if (!value || name[n] != '}')
			return NULL;
		(void)buf_puts(&b, value);
		text = name + n + 1;
	}
	return b.full ? NULL : xstrdup(buf_str(&b));
}

void cred_requests(const struct cred_ref *r, bool own_origin, struct strv *ret)
{
	for (const char *const *row = r->provider->requests; row && *row; row++) {
		cleanup_free char *text = cred_expand(*row, &r->options);
		char *url = text ? strstr(text, " https://") : NULL;

		if (url && own_origin)
			*url = '\0';
		if (text)
			strv_push(ret, text);
	}
}
