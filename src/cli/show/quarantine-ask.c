#include "cli/show/quarantine-ask.h"

#include <string.h>

#include "base/json/json.h"
#include "base/log.h"
#include "base/text/term.h"
#include "cli/frame/command.h"
#include "cli/terminal/ask.h"
#include "workspace/quarantine.h"

#define ASK_MAX 50 /* questions at the end of one run; the others stay in quarantine */

/* The questions follow the list of warnings, which leaves out what they are about. */
static void tell_others(const struct strv *warnings, const struct strv *asked)
{
	for (size_t i = 0; i < warnings->n; i++) {
		bool about = false;

		for (size_t k = 0; k < asked->n && !about; k++) {
			cleanup_free char *id = xasprintf("(%s)", asked->v[k]);

			about = strstr(warnings->v[i], id) != NULL;
		}
		if (!about)
			log_warn("workspace", "%s", warnings->v[i]);
	}
}

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

/* Is this what the run of this sandbox has put away? Then its description is *ret. */
static bool is_of(const struct places *p, const char *id, const char *sandbox, json_t **ret)
{
	const char *path = NULL, *why = NULL, *of = NULL;
	cleanup_json json_t *meta = NULL;
	struct err ignored;

	if (quarantine_meta(p, SHELF_QUARANTINE, id, &meta, &ignored) < 0 ||
	    json_get_str(meta, "path", &path, &ignored) < 0 ||
	    json_get_str(meta, "why", &why, &ignored) < 0 ||
	    json_get_str(meta, "sandbox", &of, &ignored) < 0 || !streq(of, sandbox))
		return false;
	*ret = take_ptr(meta);
	return true;
}

/* Each file once: of one that was made again and again, the last one. */
static void choose(const struct places *p, const char *sandbox, const struct strv *before,
		   const struct strv *all, struct strv *ret_ids, json_t *ret)
{
	for (size_t i = 0; i < all->n && ret_ids->n < ASK_MAX; i++) {
		cleanup_json json_t *meta = NULL;

		if (strv_has(before, all->v[i]) || !is_of(p, all->v[i], sandbox, &meta))
			continue;
		strv_push(ret_ids, all->v[i]);
		(void)json_object_set_new(
			ret, json_string_value(json_object_get(meta, "path")),
			json_pack("[s O]", all->v[i], json_object_get(meta, "why")));
	}
}

void quarantine_ask(struct cli *cli, const struct places *p, const char *sandbox,
		    const struct strv *before, const struct strv *warnings)
{
	cleanup_strv struct strv ids = {0}, asked = {0};
	cleanup_json json_t *files = json_object();
	bool can = !cli->yes && ask_possible();
	const char *path;
	struct err ignored;
	json_t *row;

	if (can && quarantine_list(p, SHELF_QUARANTINE, &ids, &ignored) == 0)
		choose(p, sandbox, before, &ids, &asked, files);
	tell_others(warnings, &asked);
	json_object_foreach (files, path, row)
		ask_about(cli, p, json_string_value(json_array_get(row, 0)), path,
			  json_string_value(json_array_get(row, 1)));
}
