#include "loop/loop-request.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define REQUEST_MAX (4 * MiB)
#define PARALLEL_MAX 1000 /* as many as a list has tasks; memory and disk allow fewer */

extern char **environ;

static const char *const modes[] = {
	[LOOP_BUILD] = "build",
	[LOOP_PLAN] = "plan",
	[LOOP_ANY] = "loop",
	[LOOP_RESUME] = "resume",
};
static_assert(ARRAY_SIZE(modes) == LOOP_MODE_N, "one word per mode");

static int read_mode(const json_t *doc, const char *key, enum loop_mode *ret, struct err *err)
{
	const char *word = NULL;
	int r = json_get_str(doc, key, &word, err);

	if (r < 0)
		return r;
	for (*ret = 0; *ret < LOOP_MODE_N; (*ret)++)
		if (streq(modes[*ret], word))
			return 0;
	return err_set(err, EINVAL, "'%s' is no way to run the loop", word);
}

static int read_options(struct loop_request *q, struct err *err)
{
	const struct {
		const char *key;
		const char **at;
	} texts[] = {{"sandbox", &q->sandbox},	   {"parent", &q->parent}, {"tested", &q->tested},
		     {"tasks", &q->tasks},	   {"prompt", &q->prompt}, {"branch", &q->branch},
		     {"cred_line", &q->cred_line}, {"base", &q->base},	   {"limit", &q->limit}};
	const struct {
		const char *key;
		bool *at;
	} flags[] = {{"no_wait", &q->no_wait}, {"stash", &q->stash}, {"worktree", &q->worktree},
		     {"push", &q->push},       {"json", &q->json},   {"direct", &q->direct},
		     {"color", &q->color}};
	int r = json_get_str(q->doc, "workspace", &q->workspace, err);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = json_opt_str(q->doc, texts[i].key, texts[i].at, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(flags); i++)
		r = json_get_bool(q->doc, flags[i].key, flags[i].at, err);
	q->credentials = json_object_get(q->doc, "credentials");
	q->placed = json_is_true(json_object_get(q->doc, "placed"));
	q->home_line = q->placed && json_is_integer(json_object_get(q->doc, "home_line"))
			       ? (int)json_integer_value(json_object_get(q->doc, "home_line"))
			       : -1;
	if (r == 0 && q->cred_line && !json_is_array(q->credentials))
		r = err_set(err, EINVAL, "there is a line for credentials, and none of them");
	if (r == 0)
		r = json_get_uint(q->doc, "parallel", &q->parallel, err);
	if (r == 0 && (q->parallel < 1 || q->parallel > PARALLEL_MAX))
		r = err_usage(err, "--parallel is at least 1 and at most %d", PARALLEL_MAX);
	return r;
}

static int read_list(const json_t *doc, const char *key, struct strv *ret, struct err *err)
{
	json_t *array = NULL, *item;
	size_t i;
	int r = json_get_array(doc, key, &array, err);

	json_array_foreach (array, i, item)
		if (json_is_string(item))
			strv_push(ret, json_string_value(item));
	return r;
}

static int load_config(struct loop_request *q, struct err *err)
{
	cleanup_strv struct strv flags = {0};
	struct config_sources src = {.environ = environ, .flags = &flags};
	json_t *from = NULL;
	int r = json_get_object(q->doc, "settings", &from, err);

	if (r == 0)
		r = read_list(from, "flags", &flags, err);
	if (r == 0)
		r = json_opt_str(from, "user", &src.user_file, err);
	if (r == 0)
		r = json_opt_str(from, "profiles", &src.profile_dir, err);
	if (r == 0)
		r = json_opt_str(from, "shipped", &src.shipped_dir, err);
	if (r == 0)
		r = json_opt_str(from, "project", &src.project_file, err);
	if (r == 0)
		r = json_opt_str(from, "project_text", &src.project_text, err);
	if (r == 0)
		r = json_get_bool(from, "trusted", &src.trusted, err);
	if (r == 0)
		r = json_get_uint(from, "memory_share", &src.memory_share, err);
	if (r < 0)
		return r;
	src.project_len = src.project_text ? strlen(src.project_text) : 0;
	src.home = q->places.home;
	r = config_load(&src, &q->config, err);
	/* No user is watching, so quarantine is on unless the user set it otherwise. */
	if (r == 0 && streq(config_origin(q->config, "workspace.quarantine"), "default"))
		q->config->workspace.quarantine = QUARANTINE_ALL;
	return r;
}

/* Fills the request from the document, which is already parsed. */
static int read_document(struct loop_request *q, struct err *err)
{
	int r = read_mode(q->doc, "mode", &q->mode, err);

	q->kept_mode = q->mode;
	if (r == 0 && json_object_get(q->doc, "kept_mode"))
		r = read_mode(q->doc, "kept_mode", &q->kept_mode, err);
	if (r == 0)
		r = read_options(q, err);
	if (r == 0)
		r = read_list(q->doc, "command", &q->command, err);
	return r < 0 ? r : load_config(q, err);
}

int loop_request_read(int fd, struct loop_request *ret, struct err *err)
{
	struct loop_request *q = ret;
	cleanup_buf struct buf b;
	int r;

	*q = (struct loop_request){0};
	buf_init(&b, REQUEST_MAX);
	r = fd_read_all(fd, &b);
	(void)close(fd);
	if (r < 0)
		return err_sys(err, -r, "cannot read what the command line asks for");
	r = places_find(&q->places, err);
	if (r == 0)
		r = json_parse(buf_str(&b), b.len, &q->doc, err);
	return r < 0 ? r : read_document(q, err);
}

/* New flags come after the kept ones: the last value of a scalar counts. */
static void merge_flags(json_t *now, const json_t *kept)
{
	json_t *flags = json_object_get(json_object_get(now, "settings"), "flags"), *all, *f;
	size_t i;

	all = json_array();
	json_array_foreach (json_object_get(json_object_get(kept, "settings"), "flags"), i, f) {
		const char *text = json_string_value(f), *eq = text ? strchr(text, '=') : NULL;
		bool replaced = false;
		json_t *g;
		size_t k;

		json_array_foreach (flags, k, g)
			replaced = replaced || (eq && strncmp(json_string_value(g), text,
							      (size_t)(eq - text) + 1) == 0);
		if (!replaced)
			(void)json_array_append(all, f);
	}
	(void)json_array_extend(all, flags);
	(void)json_object_set_new(json_object_get(now, "settings"), "flags", all);
}

int loop_request_merge(struct loop_request *q, const json_t *kept, struct err *err)
{
	static const char *const texts[] = {"sandbox", "tasks", "prompt", "branch"};
	static const char *const flags[] = {"stash", "worktree", "push", "direct"};
	json_t *doc = json_incref(q->doc), *mode;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!json_object_get(doc, texts[i]) && json_object_get(kept, texts[i]))
			(void)json_object_set(doc, texts[i], json_object_get(kept, texts[i]));
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (json_is_true(json_object_get(kept, flags[i])))
			(void)json_object_set_new(doc, flags[i], json_true());
	if (json_array_size(json_object_get(doc, "command")) == 0)
		(void)json_object_set(doc, "command", json_object_get(kept, "command"));
	if (json_integer_value(json_object_get(doc, "parallel")) == 1)
		(void)json_object_set(doc, "parallel", json_object_get(kept, "parallel"));
	mode = json_object_get(kept, "kept_mode");
	(void)json_object_set(doc, "kept_mode", mode ? mode : json_object_get(kept, "mode"));
	merge_flags(doc, kept);
	strv_done(&q->command);
	strv_init(&q->command);
	q->config = config_free(q->config);
	json_decref(doc);
	return read_document(q, err);
}

void loop_request_done(struct loop_request *q)
{
	json_decref(q->doc);
	strv_done(&q->command);
	places_done(&q->places);
	(void)config_free(q->config);
	*q = (struct loop_request){0};
}
