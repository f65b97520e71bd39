#include "fuzz.h"

#include "cred/claude-file.h"

#include <stdlib.h>
#include <string.h>

/* Whatever the file holds: what is taken out of it can stand in a header, an error quotes nothing
 * of it, and what an update writes is read back. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct claude_login l = {0}, back = {0};
	struct claude_login fresh = {.access = (char *)"fresh",
				     .refresh = (char *)"fresh-refresh",
				     .scopes = (char *)"a b",
				     .expires_ms = 1};
	cleanup_free char *text = NULL, *out = NULL;
	struct err err = {0};

	if (size > 65536)
		return 0;
	text = xmalloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	if (claude_login_parse(text, size, &l, &err) < 0)
		return 0;
	for (const char *p = l.access; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			abort();
	if (l.refresh && claude_login_update(text, size, l.refresh, &fresh, &out, &err) == 0) {
		if (claude_login_parse(out, strlen(out), &back, &err) < 0 ||
		    strcmp(back.access, "fresh") != 0)
			abort();
		claude_login_done(&back);
	}
	claude_login_done(&l);
	return 0;
}
