#include "view/refused-line.h"

#include <string.h>

#include "base/buf.h"
#include "base/text/term.h"

#define LINE_MAX_BYTES (8 * KiB) /* escaping makes up to four bytes of one */

static void put_name(struct buf *b, const char *host, bool first)
{
	bool cut = strlen(host) > REFUSED_NAME_MAX;
	cleanup_free char *part = xstrndup(host, REFUSED_NAME_MAX), *safe = term_escape(part);

	(void)buf_printf(b, "%s%s%s", first ? "" : ", ", safe, cut ? "…" : "");
}

char *refused_line(const struct strv *hosts, bool others)
{
	cleanup_buf struct buf b;

	buf_init(&b, LINE_MAX_BYTES);
	if (hosts->n == 0)
		return others ? xstrdup("hosts were refused") : NULL;
	(void)buf_printf(&b, "%s%zu host%s refused: ", others ? "more than " : "", hosts->n,
			 hosts->n == 1 && !others ? "" : "s");
	for (size_t i = 0; i < hosts->n && i < REFUSED_SHOWN; i++)
		put_name(&b, hosts->v[i], i == 0);
	if (others)
		(void)buf_puts(&b, " and others");
	else if (hosts->n > REFUSED_SHOWN)
		(void)buf_printf(&b, " and %zu more", hosts->n - REFUSED_SHOWN);
	return buf_take(&b);
}
