/*
 * Reads what `ls --json` prints. It is another program's word, and anybody may have chosen the
 * names and paths in it: a row that does not look like a sandbox of that name is left out, and
 * nothing reaches an argument list without that look.
 */
#include "engine/sbx/sbx.h"

#include <string.h>

#include "base/json/json.h"
#include "base/path.h"

#define NAME_MAX_LEN 128

/* As both command lines allow it, and nothing that could be an option. */
static bool is_name(const char *s)
{
	size_t n = strlen(s);

	return n >= 1 && n <= NAME_MAX_LEN && s[0] != '-' && s[0] != '.' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+") == n;
}

static bool is_clean_path(const char *s)
{
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	return path_is_normal(s);
}

/* Lines about the daemon, an update or a login may stand before the document: it begins at the
 * first line from which on everything is one object. */
static json_t *find_document(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	struct err ignored;

	while (p < end) {
		const char *line = memchr(p, '\n', (size_t)(end - p));
		json_t *j = NULL;

		if (*p == '{' && json_parse(p, (size_t)(end - p), &j, &ignored) == 0 &&
		    json_is_object(j))
			return j;
		json_decref(j);
		p = line ? line + 1 : end;
	}
	return NULL;
}

/* "vms" where there are some, "sandboxes" where there are none, or always, by version. */
static const json_t *rows_of(const json_t *document)
{
	static const char *const keys[] = {"vms", "sandboxes"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_is_array(json_object_get(document, keys[i])))
			return json_object_get(document, keys[i]);
	return NULL;
}

static int parse(const char *text, size_t len, json_t **ret, const json_t **ret_rows,
		 struct err *err)
{
	*ret = find_document(text, len);
	*ret_rows = *ret ? rows_of(*ret) : NULL;
	if (*ret_rows && json_array_size(*ret_rows) <= ENGINE_LIST_MAX)
		return 0;
	if (*ret_rows)
		return err_set(err, EPROTO, "the list of sandboxes is too long");
	return err_set(err, EBADMSG, "the list of sandboxes is not what it should be");
}

static const char *text_of(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

/* The first one is the sandbox's own; a mode may stand behind it. NULL: none, or no path. */
static char *workspace_of(const json_t *row)
{
	const char *s = json_string_value(json_array_get(json_object_get(row, "workspaces"), 0));
	size_t n = s ? strlen(s) : 0;
	char *path;

	if (n > 3 && streq(s + n - 3, ":ro"))
		n -= 3;
	path = s ? xstrndup(s, n) : NULL;
	if (path && !is_clean_path(path)) {
		free(path);
		return NULL;
	}
	return path;
}

static enum sbx_state state_of(const json_t *row)
{
	const char *s = text_of(row, "status");

	if (s && streq(s, "running"))
		return SBX_RUNNING;
	return s && streq(s, "stopped") ? SBX_STOPPED : SBX_BROKEN;
}

int sbx_list_parse(const char *text, size_t len, struct engine_list *ret, struct err *err)
{
	cleanup_json json_t *j = NULL;
	const json_t *rows, *row;
	int r = parse(text, len, &j, &rows, err);
	size_t i;

	*ret = (struct engine_list){0};
	if (r < 0)
		return r;
	ret->v = xcalloc(json_array_size(rows), sizeof(*ret->v));
	json_array_foreach (rows, i, row) {
		const char *name = text_of(row, "name");

		if (!name || !is_name(name))
			continue;
		ret->v[ret->n++] = (struct engine_entry){
			.name = xstrdup(name),
			.workspace = workspace_of(row),
			.running = state_of(row) == SBX_RUNNING,
		};
	}
	return 0;
}

int sbx_list_find(const char *text, size_t len, const char *name, struct sbx_found *ret,
		  struct err *err)
{
	cleanup_json json_t *j = NULL;
	const json_t *rows, *row;
	int r = parse(text, len, &j, &rows, err);
	size_t i;

	*ret = (struct sbx_found){.state = SBX_ABSENT};
	if (r < 0)
		return r;
	json_array_foreach (rows, i, row) {
		const char *other = text_of(row, "name");

		if (!other || !streq(other, name))
			continue;
		if (ret->state != SBX_ABSENT)
			return err_set(err, EPROTO, "there are two sandboxes '%s'", name);
		ret->state = state_of(row);
		ret->workspace = workspace_of(row);
		ret->workspace_gone = json_is_true(json_object_get(row, "workspace_missing"));
	}
	return 0;
}
