/* The files of this loop's sandboxes that ralph moved to quarantine, for the records and the summary. */
#include "loop/report/report.h"

#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "workspace/quarantine.h"

#define QUARANTINED_MAX 20 /* of one iteration; the agent chooses how many there are */
#define PATH_SHOWN_MAX 300

static int64_t last_record(const struct loop *l)
{
	const json_t *last =
		json_array_get(l->state.records, json_array_size(l->state.records) - 1);

	return last ? (int64_t)json_integer_value(json_object_get(last, "time"))
		    : (int64_t)l->state.started;
}

/* Returns the path below the agent's working directory, if it is there. */
static const char *below(const struct loop *l, const char *path)
{
	const char *rest = path_under(path, l->root) ? path + strlen(l->root) : path;

	return rest + (rest != path && *rest == '/');
}

/* Adds the file if it is of this loop's sandbox; false: it is older than `since`. */
static bool add(const struct loop *l, const char *id, int64_t since, json_t *to)
{
	cleanup_json json_t *meta = NULL;
	cleanup_free char *path = NULL;
	struct err ignored = {0};

	if (quarantine_meta(&l->q.places, SHELF_QUARANTINE, id, &meta, &ignored) < 0)
		return true; /* the user dropped it meanwhile */
	if (json_integer_value(json_object_get(meta, "time")) < since)
		return false;
	if (!streq(json_string_value(json_object_get(meta, "sandbox")), l->build.spec->name))
		return true;
	path = xstrndup(below(l, json_string_value(json_object_get(meta, "path"))), PATH_SHOWN_MAX);
	(void)json_array_insert_new(to, 0, json_pack("{ss so}", "id", id, "path", json_text(path)));
	return true;
}

void quarantined_note(struct loop *l)
{
	cleanup_strv struct strv ids = {0};
	const int64_t since = last_record(l);
	struct err err = {0};
	json_t *found;

	if (!l->build.spec || l->q.direct)
		return;
	if (quarantine_list(&l->q.places, SHELF_QUARANTINE, &ids, &err) < 0)
		log_warn("loop", "%s", err.msg);
	found = json_array();
	for (size_t i = ids.n; i-- > 0 && json_array_size(found) < QUARANTINED_MAX;)
		if (!add(l, ids.v[i], since, found))
			break;
	json_decref(l->quarantined);
	l->quarantined = json_array_size(found) ? json_incref(found) : NULL;
	json_decref(found);
}

/* Two iterations of one second may have noted the same file. */
static void merge(json_t *all, const json_t *files)
{
	const json_t *file, *known;
	size_t i, k;

	json_array_foreach (files, i, file) {
		bool seen = false;

		json_array_foreach (all, k, known)
			seen = seen || json_equal(known, file);
		if (!seen)
			(void)json_array_append(all, (json_t *)file);
	}
}

json_t *quarantined_all(const struct loop *l)
{
	json_t *all = json_array(), *record;
	size_t i;

	json_array_foreach (l->state.records, i, record)
		merge(all, json_object_get(record, "quarantined"));
	return all;
}
