#include "cred/anthropic.h"

#include <string.h>

#include "base/json/json.h"

int anthropic_key_helper(const struct cred_host *h, const char *settings, char **ret,
			 struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	const char *command = NULL;
	struct err torn = {0};
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(h, settings, &b, NULL, err);
	if (r < 0)
		return r;
	/* Torn settings are Claude Code's to complain about; they name no helper. */
	if (json_parse(buf_str(&b), b.len, &j, &torn) < 0 ||
	    json_opt_str(j, "apiKeyHelper", &command, &torn) < 0 || !command || !*command)
		return -ENOENT;
	*ret = xstrdup(command);
	return 0;
}
