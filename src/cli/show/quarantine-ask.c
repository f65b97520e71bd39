#include "cli/show/quarantine-ask.h"

#include <string.h>

#include "base/json/json.h"
#include "base/log.h"
#include "base/text/term.h"
#include "cli/frame/command.h"
#include "cli/terminal/ask.h"
#include "workspace/quarantine.h"

#define ASK_MAX 50 /* questions at the end of one run; the others stay in quarantine */

static void ask_about(struct cli *cli, const struct places *p, const char *id, const char *path,
		      const char *why)
{
	cleanup_free char *question =
		xasprintf("'%s' is new or changed: %s. [k]eep, [s]how or [Q]uarantine?", path, why);
	char answer;

	while ((answer = ask_choice(question, "qks")) == 's')
		if (quarantine_show(cli, p, id) < 0)
			break;
	if (answer != 'k')
		return;
	if (quarantine_take_back(cli, p, id) < 0)
		log_warn("quarantine", "%s", cli->err.msg);
	else
		term_line(stderr, "kept '%s'", path);
}

void quarantine_ask(struct cli *cli, const struct places *p, const char *sandbox,
		    const struct strv *before)
{
	cleanup_strv struct strv ids = {0};
	unsigned left = ASK_MAX;
	struct err ignored;

	if (cli->yes || !ask_possible() || quarantine_list(p, SHELF_QUARANTINE, &ids, &ignored) < 0)
		return;
	for (size_t i = 0; i < ids.n && left > 0; i++) {
		const char *path = NULL, *why = NULL, *of = NULL;
		cleanup_json json_t *meta = NULL;

		if (strv_has(before, ids.v[i]) ||
		    quarantine_meta(p, SHELF_QUARANTINE, ids.v[i], &meta, &ignored) < 0 ||
		    json_get_str(meta, "path", &path, &ignored) < 0 ||
		    json_get_str(meta, "why", &why, &ignored) < 0 ||
		    json_get_str(meta, "sandbox", &of, &ignored) < 0 || !streq(of, sandbox))
			continue;
		left--;
		ask_about(cli, p, ids.v[i], path, why);
	}
}
