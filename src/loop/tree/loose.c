#include "loop/tree/loose.h"

#include <string.h>

#include "base/path.h"
#include "loop/loop.h"

#define SHOWN_MAX 5
#define TOLD_MAX 50

static bool has(const json_t *list, const char *path)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (streq(json_string_value(item), path))
			return true;
	return false;
}

/* Returns the path in a line of repo_dirty(). */
static const char *path_of(const char *line)
{
	const char *blank = *line ? strchr(line + 1, ' ') : NULL;

	return blank ? blank + 1 : line;
}

/* Lists the untracked files that are not ignored. */
static int unknown_files(struct loop *l, json_t **ret, struct err *err)
{
	cleanup_strv struct strv dirty = {0};
	int r = repo_dirty(l->repo, &dirty, err);

	if (r < 0)
		return r;
	*ret = json_array();
	for (size_t i = 0; i < dirty.n; i++)
		if (dirty.v[i][0] == '?')
			(void)json_array_append_new(*ret, json_text(path_of(dirty.v[i])));
	return 0;
}

int loose_before(struct loop *l, struct err *err)
{
	json_t *left = NULL, *made;
	int r;

	if (!l->repo || json_is_true(json_object_get(l->state.loose, "open")))
		return 0;
	r = unknown_files(l, &left, err);
	if (r < 0)
		return r;
	made = json_object_get(l->state.loose, "made");
	made = made ? json_incref(made) : json_array();
	json_decref(l->state.loose);
	l->state.loose = json_pack("{so so sb}", "left", left, "made", made, "open", 1);
	return state_save(&l->state, err);
}

int loose_after(struct loop *l, struct err *err)
{
	json_t *left = json_object_get(l->state.loose, "left"), *item;
	json_t *made = json_object_get(l->state.loose, "made");
	cleanup_json json_t *now = NULL;
	size_t i;
	int r;

	if (!l->repo)
		return 0;
	r = unknown_files(l, &now, err);
	if (r < 0)
		return r;
	/* Files that were deleted or added to git are dropped, so that the list does not grow. */
	for (i = json_array_size(made); i-- > 0;)
		if (!has(now, json_string_value(json_array_get(made, i))))
			(void)json_array_remove(made, i);
	json_array_foreach (now, i, item)
		if (!has(left, json_string_value(item)) && !has(made, json_string_value(item)))
			(void)json_array_append(made, item);
	(void)json_object_set_new(l->state.loose, "open", json_false());
	return 0;
}

static bool is_under(const struct strv *dirs, const char *path)
{
	for (size_t i = 0; i < dirs->n; i++)
		if (path_under(path, dirs->v[i]))
			return true;
	return false;
}

/* True when a line of repo_dirty() is uncommitted and was not created by verification. */
static bool is_loose(const struct loop *l, const char *line)
{
	const char *path = path_of(line);

	if (line[0] != '?')
		return true;
	return has(json_object_get(l->state.loose, "left"), path) &&
	       !has(json_object_get(l->state.loose, "made"), path);
}

/* Lists the uncommitted files that are neither ralph's own nor made by verification. */
static int find(struct loop *l, struct strv *ret, struct err *err)
{
	cleanup_strv struct strv dirty = {0}, own = {0};
	int r = repo_dirty(l->repo, &dirty, err);

	if (l->work)
		work_own_paths(l->work, &own);
	for (size_t i = 0; r == 0 && i < dirty.n; i++)
		if (is_loose(l, dirty.v[i]) && !is_under(&own, path_of(dirty.v[i])))
			strv_push(ret, dirty.v[i]);
	return r;
}

bool loose_any(struct loop *l)
{
	cleanup_strv struct strv files = {0};
	struct err ignored = {0};

	return l->repo && (find(l, &files, &ignored) < 0 || files.n > 0);
}

bool loose_none(struct loop *l, struct buf *why)
{
	cleanup_strv struct strv files = {0};
	struct err err = {0};

	if (!l->repo)
		return true;
	if (find(l, &files, &err) < 0) {
		(void)buf_printf(why, "It cannot be told whether all is committed: %s\n", err.msg);
		show_line(&l->show, STYLE_RED, "%s", err.msg);
		return false;
	}
	for (size_t i = 0; i < files.n; i++) {
		if (i < TOLD_MAX)
			(void)buf_printf(why, "Not committed: %s\n", files.v[i]);
		if (i < SHOWN_MAX)
			show_line(&l->show, STYLE_YELLOW, "not committed: %s", files.v[i]);
	}
	if (files.n > SHOWN_MAX)
		show_line(&l->show, STYLE_YELLOW, "not committed: %zu more", files.n - SHOWN_MAX);
	if (files.n > 0)
		(void)buf_puts(why, "The checks ran with these files, and nobody else has them. "
				    "Commit them, remove them, or list in .gitignore\nwhat is made "
				    "anew by the build.\n");
	return files.n == 0;
}
