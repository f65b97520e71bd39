#include "config/config.h"

#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "config/merge.h"
#include "config/profile.h"
#include "config/project.h"

struct config *config_new(void)
{
	struct config *c = xcalloc(1, sizeof(*c));
	struct err err = {0};

	c->origins = xcalloc(1, sizeof(*c->origins));
	strv_init(&c->notices);
	for (enum key_id id = 0; id < KEY_N; id++) {
		if (keys[id].type == KEY_LIST)
			strv_init(key_at(c, id));
		else if (keys[id].def && key_set_scalar(c, id, keys[id].def, &err) < 0)
			assert(!"a default in the table of keys is wrong");
	}
	return c;
}

struct config *config_free(struct config *c)
{
	if (!c)
		return NULL;
	for (enum key_id id = 0; id < KEY_N; id++) {
		if (keys[id].type == KEY_LIST)
			strv_done(key_at(c, id));
		else if (keys[id].type == KEY_WORD)
			free(*(char **)key_at(c, id));
		else if (keys[id].type == KEY_PROVIDER)
			config_provider_done(key_at(c, id));
		free(c->origins->key[id]);
		strv_done(&c->origins->items[id]);
	}
	for (size_t i = 0; i < c->n_mounts; i++)
		config_mount_done(&c->mounts[i]);
	free(c->mounts);
	for (size_t i = 0; i < c->network.n_rules; i++)
		net_rule_done(&c->network.rules[i]);
	free(c->network.rules);
	for (size_t i = 0; i < c->n_credentials; i++)
		config_credential_done(&c->credentials[i]);
	free(c->credentials);
	for (size_t i = 0; i < c->fleet.n_places; i++)
		config_place_done(&c->fleet.places[i]);
	free(c->fleet.places);
	strv_done(&c->notices);
	free(c->origins);
	free(c);
	return NULL;
}

const struct config_provider *config_provider(const struct config *c, const char *service)
{
	for (enum key_id id = 0; id < KEY_N; id++)
		if (keys[id].type == KEY_PROVIDER && streq(key_leaf(&keys[id]), service))
			return key_at(c, id);
	return NULL;
}

const struct config_credential *config_credential(const struct config *c, const char *name)
{
	for (size_t i = c->n_credentials; i > 0; i--)
		if (streq(c->credentials[i - 1].name, name))
			return &c->credentials[i - 1];
	return NULL;
}

const struct config_place *config_place(const struct config *c, const char *name)
{
	for (size_t i = c->fleet.n_places; i > 0; i--)
		if (streq(c->fleet.places[i - 1].name, name))
			return &c->fleet.places[i - 1];
	return NULL;
}

int config_check(const char *name, const char *text, size_t len, struct err *err)
{
	cleanup_(config_file_freep) struct config_file *f = NULL;
	cleanup_(config_freep) struct config *c = config_new();
	struct merge m = {c, "/nonexistent", keys, err};
	int r = config_file_parse(name, text, len, keys, &f, err);

	return r < 0 ? r : merge_file(&m, f);
}

static const struct key *rows_of(const struct config_sources *src)
{
	return src->renamed ? src->renamed : keys;
}

static const char *file_profile(const struct config_file *f)
{
	return f ? f->values[KEY_PROFILE].text : NULL;
}

/* The profile has to be known before anything is merged, as the files around it are weaker and
 * stronger than it is. Its origin is recorded when its source is merged. */
static const char *choose_profile(const struct config_sources *src, const struct config_file *user,
				  const struct config_file *project)
{
	static const char flag[] = "profile=", var[] = "RALPH_PROFILE=";
	const char *name = file_profile(user);

	if (file_profile(project))
		name = file_profile(project);
	for (char *const *e = src->environ; e && *e; e++)
		if (strncmp(*e, var, sizeof(var) - 1) == 0 && (*e)[sizeof(var) - 1])
			name = *e + sizeof(var) - 1;
	for (size_t i = 0; src->flags && i < src->flags->n; i++)
		if (strncmp(src->flags->v[i], flag, sizeof(flag) - 1) == 0)
			name = src->flags->v[i] + sizeof(flag) - 1;
	return name && *name ? name : NULL;
}

static int read_profile(const struct config_sources *src, const char *name,
			struct config_file **ret, struct err *err)
{
	const struct profile_dirs dirs = {src->profile_dir, src->shipped_dir};
	cleanup_free char *path = profile_path(&dirs, name);
	struct merge_place at;
	int r = path ? config_file_read(path, 0, rows_of(src), ret, err) : 0;

	if (r < 0)
		return r;
	if (!*ret)
		return err_wrap(err, profile_unknown(&dirs, name, err), "profile");
	if (!file_profile(*ret))
		return 0;
	at = merge_in_file(*ret, &(*ret)->values[KEY_PROFILE]);
	return merge_fail_at(err, err_usage(err, "a profile cannot name a profile; remove it"), &at,
			     "profile");
}

static int read_project(const struct config_sources *src, struct config_file **ret, struct err *err)
{
	const char *name = src->project_file ? src->project_file : "project file";

	if (src->project_text && src->project_len > CONFIG_FILE_MAX)
		return err_usage(err, "%s: is larger than 256 KiB; shorten it", name);
	if (src->project_text)
		return config_file_parse(name, src->project_text, src->project_len, rows_of(src),
					 ret, err);
	if (!src->project_file)
		return 0;
	return config_file_read(src->project_file, CONFIG_FILE_HOSTILE, rows_of(src), ret, err);
}

static bool is_webhook(const struct config *c)
{
	return c->loop.notify &&
	       strncmp(c->loop.notify, NOTIFY_WEBHOOK, strlen(NOTIFY_WEBHOOK)) == 0;
}

/* A webhook's address often holds a token, which arguments show to others; and what a loop says
 * does not go where a project asks for it, trusted or not. */
static int own_webhook(const struct config *c, struct err *err)
{
	return is_webhook(c) ? err_usage(err,
					 "%s: loop.notify: a webhook is taken from your own "
					 "configuration only; write it there",
					 config_origin(c, "loop.notify"))
			     : 0;
}

/* m->c is what the user allows so far: user file and profile. */
static int merge_project(struct merge *m, const struct config_sources *src,
			 const struct config_file *f)
{
	cleanup_(config_freep) struct config *alone = config_new();
	struct merge probe = {alone, src->home, m->rows, m->err};
	int r = config_project_never(f, m->err);

	if (r == 0)
		r = merge_file(&probe, f);
	if (r == 0)
		r = own_webhook(alone, m->err);
	if (r == 0 && !src->trusted)
		r = config_project_widens(m->c, alone, f, src->memory_share, m->err);
	return r < 0 ? r : merge_file(m, f);
}

static int merge_all(struct merge *m, const struct config_sources *src,
		     const struct config_file *user, const struct config_file *profile,
		     const struct config_file *project)
{
	int r = user ? merge_file(m, user) : 0;

	if (r == 0 && profile)
		r = merge_file(m, profile);
	if (r == 0 && project)
		r = merge_project(m, src, project);
	if (r == 0 && src->environ)
		r = merge_environ(m, src->environ);
	if (r == 0 && src->flags)
		r = merge_flags(m, src->flags);
	if (r == 0 && streq(config_origin(m->c, "loop.notify"), "--notify"))
		r = own_webhook(m->c, m->err);
	return r;
}

int config_load(const struct config_sources *src, struct config **ret, struct err *err)
{
	cleanup_(config_file_freep) struct config_file *user = NULL;
	cleanup_(config_file_freep) struct config_file *profile = NULL;
	cleanup_(config_file_freep) struct config_file *project = NULL;
	cleanup_(config_freep) struct config *c = config_new();
	struct merge m = {c, src->home, rows_of(src), err};
	const char *name;
	int r = 0;

	if (src->user_file)
		r = config_file_read(src->user_file, 0, rows_of(src), &user, err);
	if (r == 0)
		r = read_project(src, &project, err);
	if (r < 0)
		return r;
	name = choose_profile(src, user, project);
	/* A bad name is reported, with its place, when its source is merged. */
	if (name && !check_profile(name))
		r = read_profile(src, name, &profile, err);
	if (r == 0)
		r = merge_all(&m, src, user, profile, project);
	if (r < 0)
		return r;
	*ret = take_ptr(c);
	return 0;
}

int config_widenings(const struct config_sources *src, struct config_widening **ret, size_t *ret_n,
		     struct err *err)
{
	cleanup_(config_file_freep) struct config_file *user = NULL;
	cleanup_(config_file_freep) struct config_file *profile = NULL;
	cleanup_(config_file_freep) struct config_file *project = NULL;
	cleanup_(config_freep) struct config *base = config_new();
	cleanup_(config_freep) struct config *alone = config_new();
	struct merge m = {base, src->home, rows_of(src), err};
	struct merge probe = {alone, src->home, rows_of(src), err};
	const char *name;
	int r = src->user_file ? config_file_read(src->user_file, 0, rows_of(src), &user, err) : 0;

	*ret = NULL;
	*ret_n = 0;
	if (r == 0)
		r = read_project(src, &project, err);
	if (r < 0 || !project)
		return r;
	/* The user's own choice: what the project's profile would bring is part of what it asks. */
	name = choose_profile(src, user, NULL);
	if (name && !check_profile(name))
		r = read_profile(src, name, &profile, err);
	if (r == 0 && user)
		r = merge_file(&m, user);
	if (r == 0 && profile)
		r = merge_file(&m, profile);
	if (r == 0)
		r = config_project_never(project, err);
	if (r == 0)
		r = merge_file(&probe, project);
	if (r == 0)
		config_project_widenings(base, alone, project, src->memory_share, ret, ret_n);
	return r;
}

void config_widenings_free(struct config_widening *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(w[i].value);
	free(w);
}
