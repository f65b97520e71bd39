#include "image/image-store.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "image/image-cmd.h"
#include "image/image-memo.h"

#define KIND "used"

static char *about(const char *engine, const char *agent, const char *project)
{
	return xasprintf("%s %s %s", engine, agent, project ? project : "");
}

void image_store_used(const struct places *p, const char *engine, const char *agent,
		      const char *project, const char *ref)
{
	cleanup_free char *key = about(engine, agent, project);
	cleanup_json json_t *old = image_memo_get(p, KIND, key), *memo = NULL;
	const char *before = json_string_value(json_object_get(old, "image"));
	struct err ignored;

	if (before && streq(before, ref))
		return;
	memo = json_pack("{ss ss ss ss sI}", "engine", engine, "agent", agent, "project",
			 project ? project : "", "image", ref, "time", (json_int_t)time(NULL));
	(void)image_memo_set(p, KIND, key, memo, &ignored);
}

static const char *text_of(const json_t *memo, const char *key)
{
	const char *s = json_string_value(json_object_get(memo, key));

	return s ? s : "";
}

/* True while the project of this memo still has a Dockerfile. */
static bool is_alive(const json_t *memo)
{
	const char *project = text_of(memo, "project");
	cleanup_free char *file = path_join(project, ".ralph/Dockerfile");
	struct stat st;

	return !*project || lstat(file, &st) == 0;
}

static char *why_not(const json_t *memos, const char *engine, const char *ref)
{
	const json_t *memo;
	size_t i;

	json_array_foreach (memos, i, memo) {
		if (!streq(text_of(memo, "engine"), engine) || !streq(text_of(memo, "image"), ref))
			continue;
		if (is_alive(memo))
			return NULL;
		return xasprintf("%s/.ralph/Dockerfile is gone", text_of(memo, "project"));
	}
	return xstrdup("a newer one took its place");
}

/* Images derived from ralph's carry its labels too, but not its names. */
static bool is_our_name(const char *ref)
{
	const char *tag = strrchr(ref, ':');

	return strncmp(ref, IMAGE_REPOSITORY, strlen(IMAGE_REPOSITORY)) == 0 && tag &&
	       tag[1] == 'v' && tag[2] && strspn(tag + 2, "0123456789abcdef") == strlen(tag + 2);
}

static void add_row(struct image_rows *rows, const struct image_tool *t, const json_t *memos,
		    const struct image_facts *f, const char *ref)
{
	char uid[16];

	(void)snprintf(uid, sizeof(uid), "%u", geteuid());
	rows->v = xrealloc(rows->v, rows->n + 1, sizeof(*rows->v));
	rows->v[rows->n++] = (struct image_row){
		.engine = t->engine,
		.ref = xstrdup(ref),
		.agent = f->agent ? xstrdup(f->agent) : NULL,
		.project = f->source && *f->source ? xstrdup(f->source) : NULL,
		.bases = f->bases ? xstrdup(f->bases) : NULL,
		.id = xstrdup(f->id),
		.created = f->created,
		.size = f->size,
		.ours = f->builder && streq(f->builder, uid),
		.why = why_not(memos, t->engine, ref),
	};
}

int image_store_list(const struct places *p, const struct image_tool *t, struct image_rows *ret,
		     struct err *err)
{
	cleanup_json json_t *memos = image_memos(p, KIND);
	struct image_facts *facts = NULL;
	size_t n = 0;
	int r = image_tool_list(t, &facts, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t k = 0; k < facts[i].names.n; k++)
			if (is_our_name(facts[i].names.v[k]))
				add_row(ret, t, memos, &facts[i], facts[i].names.v[k]);
	image_facts_free(facts, n);
	return r;
}

void image_rows_done(struct image_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct image_row *row = &rows->v[i];

		free(row->ref);
		free(row->agent);
		free(row->project);
		free(row->bases);
		free(row->id);
		free(row->why);
	}
	free(rows->v);
	*rows = (struct image_rows){0};
}

int image_store_remove(const struct image_tool *t, const char *ref, struct err *err)
{
	int r = image_tool_remove(t, ref, err);

	/* Every engine refuses to remove an image that a container uses, with its own message. */
	if (r == -EREMOTEIO && (strstr(err->msg, "is using") || strstr(err->msg, "being used") ||
				strstr(err->msg, "in use")))
		return -EBUSY;
	return r;
}
