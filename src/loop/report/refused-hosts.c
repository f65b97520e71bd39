/* The hosts that sandboxes of this loop were refused: a line at the end of each iteration, and one in
 * the summary. */
#include "loop/report/report.h"

#include <string.h>

#include "events/refused.h"
#include "live/live.h"
#include "view/refused-line.h"

static void show(struct loop *l, const struct strv *hosts, bool others)
{
	cleanup_free char *line = refused_line(hosts, others);

	if (line)
		show_line(&l->show, STYLE_YELLOW, "%s", line);
}

static bool has_name(const json_t *names, const char *name)
{
	const json_t *known;
	size_t i;

	json_array_foreach (names, i, known)
		if (streq(json_string_value(known), name))
			return true;
	return false;
}

/* A record keeps as many names as a line shows, of the agent's sandbox and of that of the checks. The
 * names are the agent's to choose, and a loop has many records. */
static void keep(struct loop *l, const struct strv *hosts, bool others)
{
	json_t *names;

	if (!l->refused)
		l->refused = json_pack("{s[] sb}", "hosts", "others", 0);
	names = json_object_get(l->refused, "hosts");
	for (size_t i = 0; i < hosts->n; i++) {
		cleanup_free char *part = xstrndup(hosts->v[i], REFUSED_NAME_MAX);

		if (has_name(names, part))
			continue;
		if (json_array_size(names) < REFUSED_SHOWN)
			(void)json_array_append_new(names, json_text(part));
		else
			others = true;
	}
	if (others)
		(void)json_object_set_new(l->refused, "others", json_true());
}

void refused_hosts_tell(struct loop *l)
{
	cleanup_json json_t *live = NULL;
	cleanup_strv struct strv hosts = {0};
	struct err ignored = {0};
	const json_t *host;
	bool others;
	size_t i;

	if (live_inspect(&l->q.places, l->build.spec->name, &live, &ignored) < 0 || !live)
		return;
	json_array_foreach (json_object_get(live, "refused"), i, host)
		strv_push(&hosts, json_string_value(host) ? json_string_value(host) : "");
	others = json_is_true(json_object_get(live, "refused_others"));
	show(l, &hosts, others);
	if (hosts.n || others)
		keep(l, &hosts, others);
}

static bool add_record(const json_t *record, struct refused *all)
{
	const json_t *refused = json_object_get(record, "refused"), *host;
	size_t i;

	json_array_foreach (json_object_get(refused, "hosts"), i, host)
		refused_add(all, json_string_value(host) ? json_string_value(host) : "");
	return json_is_true(json_object_get(refused, "others"));
}

bool refused_hosts_all(const struct loop *l, struct strv *ret)
{
	cleanup_free struct refused *all = xcalloc(1, sizeof(*all));
	const json_t *record;
	bool others = false;
	size_t i;

	json_array_foreach (l->state.records, i, record)
		others = add_record(record, all) || others;
	return refused_since(all, 0, ret) || others;
}
