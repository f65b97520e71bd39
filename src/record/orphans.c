#include "record/orphans.h"

#include <string.h>
#include <sys/stat.h>

#include "record/name.h"
#include "record/store.h"

static const char prefix[] = "agent-loop-";

/* A path is gone only if the system says that it does not exist; with any other error it may
 * return. */
static bool is_gone(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static bool is_orphan(const struct places *p, const struct engine_entry *e)
{
	cleanup_free char *owner = NULL;

	if (strncmp(e->name, prefix, sizeof(prefix) - 1) != 0 || !name_valid(e->name) ||
	    !e->workspace)
		return false;
	owner = store_owner(p, e->name);
	return !owner && is_gone(e->workspace);
}

static void find_of(const struct places *p, const char *engine, struct orphans *ret,
		    void (*failed)(const char *engine, const char *why))
{
	cleanup_(engine_list_done) struct engine_list list = {0};
	struct err err = {0};

	if (engine_probe(engine, &err) < 0)
		return;
	if (engine_list(engine, &list, &err) < 0) {
		failed(engine, err.msg);
		return;
	}
	for (size_t i = 0; i < list.n; i++) {
		struct engine_entry *e = &list.v[i];

		if (!is_orphan(p, e))
			continue;
		ret->v = xrealloc(ret->v, ret->n + 1, sizeof(*ret->v));
		ret->v[ret->n++] = (struct orphan){
			.engine = engine,
			.name = take_ptr(e->name),
			.workspace = take_ptr(e->workspace),
		};
	}
}

void orphans_find(const struct places *p, struct orphans *ret,
		  void (*failed)(const char *engine, const char *why))
{
	const char *engine;

	*ret = (struct orphans){0};
	for (size_t i = 0; (engine = engine_keeping(i)); i++)
		find_of(p, engine, ret, failed);
}

int orphan_remove(const struct orphan *o, struct err *err)
{
	return engine_remove(o->engine, o->name, err);
}

void orphans_done(struct orphans *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].name);
		free(o->v[i].workspace);
	}
	free(o->v);
	*o = (struct orphans){0};
}
