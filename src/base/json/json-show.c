#include "base/json/json.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/text/escape.h"

static void show_text(const char *text, FILE *out)
{
	char escape[ESCAPE_LONGEST];

	for (size_t len; *text; text += len) {
		len = escape_json_next(text, escape);
		if (escape[0] && *text != '\n')
			(void)fputs(escape, out);
		else
			(void)fwrite(text, 1, len, out);
	}
}

int json_show(const json_t *j, FILE *out, size_t flags)
{
	cleanup_free char *text = json_dumps(j, flags);

	if (!text)
		return -1;
	show_text(text, out);
	return 0;
}

void json_show_line(const char *text, FILE *out)
{
	show_text(text, out);
	(void)fputc('\n', out);
}
