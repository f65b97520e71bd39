#include "config/merge.h"

#include <string.h>

#include "base/path.h"
#include "base/text/suggest.h"

/* Where a value stands: in a file, or in a variable or flag of that name. */
struct where {
	const struct config_file *file;
	struct mark mark;
	const char *name;
};

static struct where in_file(const struct config_file *f, enum key_id id, int item, int field,
			    int sub)
{
	return (struct where){.file = f,
			      .mark = marks_get(&f->marks, mark_id(id, item, field, sub))};
}

static int fail(struct merge *m, int r, const struct where *w, const char *key)
{
	r = err_wrap(m->err, r, "%s", key);
	if (w->file)
		return err_wrap(m->err, r, "%s:%u:%u", w->file->name, w->mark.line, w->mark.column);
	return err_wrap(m->err, r, "%s", w->name);
}

int merge_fail_at(struct err *err, int r, const struct config_file *f, uint64_t mark,
		  const char *key)
{
	struct where w = {.file = f, .mark = marks_get(&f->marks, mark)};
	struct merge m = {.err = err};

	return fail(&m, r, &w, key);
}

static char *origin_text(const struct where *w)
{
	return w->file ? xasprintf("%s:%u", w->file->name, w->mark.line) : xstrdup(w->name);
}

static void set_origin(struct merge *m, enum key_id id, const struct where *w)
{
	free(m->c->origins->key[id]);
	m->c->origins->key[id] = origin_text(w);
}

/* The entry at i has a new origin; i may be one past the end. */
static void set_item_origin(struct merge *m, enum key_id id, size_t i, const struct where *w)
{
	struct strv *items = &m->c->origins->items[id];

	set_origin(m, id, w);
	if (i == items->n) {
		strv_take(items, origin_text(w));
		return;
	}
	free(items->v[i]);
	items->v[i] = origin_text(w);
}

/* What may be shown of a source: somebody may have put the credential itself there. */
static size_t source_kind(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon ? (size_t)(colon - text) : 0;
}

/* A check's verdict as an error. What follows the '=' of an env.set may be a secret. */
static int check_word(struct merge *m, const char *(*check)(const char *s), const char *text,
		      const struct where *w, const char *key)
{
	const char *wrong = check(text);
	size_t show = check == check_env_entry ? strcspn(text, "=")
		      : check == check_source  ? source_kind(text)
					       : strlen(text);

	if (!wrong)
		return 0;
	return fail(m, err_usage(m->err, "'%.*s' %s", (int)(show < 60 ? show : 60), text, wrong), w,
		    key);
}

int merge_check(struct merge *m, const struct config_file *f, uint64_t mark,
		const char *(*check)(const char *s), const char *text, const char *key)
{
	struct where w = {.file = f, .mark = marks_get(&f->marks, mark)};

	return check_word(m, check, text, &w, key);
}

void merge_origin(struct merge *m, const struct config_file *f, enum key_id id, int item, size_t at)
{
	struct where w = in_file(f, id, item, MARK_NONE, MARK_NONE);

	if (item == MARK_NONE)
		set_origin(m, id, &w);
	else
		set_item_origin(m, id, at, &w);
}

char *merge_home_path(const struct merge *m, const char *path)
{
	return path[0] == '~' ? path_join(m->home ? m->home : "/", path + 2) : xstrdup(path);
}

static int merge_scalar(struct merge *m, enum key_id id, const char *text, const struct where *w)
{
	int r = key_set_scalar(m->c, id, text, m->err);

	if (r < 0)
		return fail(m, r, w, keys[id].name);
	set_origin(m, id, w);
	return 0;
}

static size_t find_item(const struct strv *list, enum key_id id, const char *text)
{
	size_t name = strcspn(text, "="), i = 0;

	for (; i < list->n; i++) {
		if (id == KEY_ENV_SET ? strncmp(list->v[i], text, name + 1) == 0
				      : streq(list->v[i], text))
			break;
	}
	return i;
}

static int merge_item(struct merge *m, enum key_id id, const char *text, const struct where *w)
{
	struct strv *list = key_at(m->c, id);
	int r = check_word(m, keys[id].check, text, w, keys[id].name);
	size_t i;

	if (r < 0)
		return r;
	i = find_item(list, id, text);
	if (i == list->n) {
		strv_push(list, text);
	} else if (!streq(list->v[i], text)) {
		free(list->v[i]);
		list->v[i] = xstrdup(text);
	}
	set_item_origin(m, id, i, w);
	return 0;
}

void config_mount_done(struct config_mount *m)
{
	free(m->path);
	free(m->target);
}

static void put_mount(struct merge *m, struct config_mount mount, const struct where *w)
{
	struct config *c = m->c;
	const char *target = mount.target ? mount.target : mount.path;
	size_t i = 0;

	for (; i < c->n_mounts; i++)
		if (streq(c->mounts[i].target ? c->mounts[i].target : c->mounts[i].path, target))
			break;
	if (i == c->n_mounts)
		c->mounts = xrealloc(c->mounts, ++c->n_mounts, sizeof(*c->mounts));
	else
		config_mount_done(&c->mounts[i]);
	c->mounts[i] = mount;
	set_item_origin(m, KEY_MOUNTS, i, w);
}

/* Where the fields of one mount stand, in the order of mount_fields. */
static int merge_mount(struct merge *m, const struct raw_mount *raw, const struct where *entry,
		       const struct where fields[MOUNT_FIELDS_N])
{
	struct config_mount mount = {0};
	int r = check_word(m, check_mount_path, raw->path, &fields[MOUNT_PATH], "mounts.path");

	if (r == 0 && raw->target)
		r = check_word(m, check_mount_target, raw->target, &fields[MOUNT_TARGET],
			       "mounts.target");
	if (r < 0)
		return r;
	if (raw->mode && !streq(raw->mode, "ro") && !streq(raw->mode, "rw"))
		return fail(m, err_usage(m->err, "'%.60s' is no mode; use ro or rw", raw->mode),
			    &fields[MOUNT_MODE], "mounts.mode");
	if (raw->path[0] == '~' && (!m->home || m->home[0] != '/'))
		return fail(m,
			    err_usage(m->err, "'~' cannot be resolved without a home directory; "
					      "write the path out"),
			    &fields[MOUNT_PATH], "mounts.path");
	mount.path = raw->path[0] == '~' ? path_join(m->home, raw->path + 2) : xstrdup(raw->path);
	mount.target = raw->target ? xstrdup(raw->target) : NULL;
	mount.writable = raw->mode && streq(raw->mode, "rw");
	put_mount(m, mount, entry);
	return 0;
}

/* PATH[:TARGET][:ro|rw], as a flag or variable gives it. */
static int merge_mount_text(struct merge *m, const char *text, const struct where *w)
{
	const struct where fields[MOUNT_FIELDS_N] = {*w, *w, *w};
	cleanup_free char *copy = xstrdup(text);
	struct raw_mount raw = {.path = copy};
	char *colon = strrchr(copy, ':');

	if (colon && (streq(colon, ":ro") || streq(colon, ":rw"))) {
		*colon = '\0';
		raw.mode = colon + 1;
	}
	colon = strchr(copy, ':');
	if (colon) {
		*colon = '\0';
		raw.target = colon + 1;
	}
	return merge_mount(m, &raw, w, fields);
}

static const struct {
	enum rule_field field;
	size_t offset;
	const char *(*check)(const char *s);
	const char *name;
} rule_lists[] = {
	{RULE_METHODS, offsetof(struct net_rule, methods), check_method, "network.rules.methods"},
	{RULE_PATHS, offsetof(struct net_rule, paths), check_url_path, "network.rules.paths"},
	{RULE_GIT, offsetof(struct net_rule, git), check_git, "network.rules.git"},
};

static int rule_words(struct merge *m, const struct config_file *f, int item,
		      const struct raw_rule *raw, struct net_rule *rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(rule_lists); i++) {
		enum rule_field field = rule_lists[i].field;
		const struct raw_list *from =
			(const void *)((const char *)raw + rule_fields[field].offset);
		struct strv *to = (void *)((char *)rule + rule_lists[i].offset);

		for (uint64_t j = 0; j < from->n; j++) {
			struct where w = in_file(f, KEY_RULES, item, (int)field, (int)j);
			int r = check_word(m, rule_lists[i].check, from->v[j], &w,
					   rule_lists[i].name);

			if (r < 0)
				return r;
			strv_push(to, from->v[j]);
		}
	}
	return 0;
}

static int merge_rule(struct merge *m, const struct config_file *f, int item,
		      const struct raw_rule *raw)
{
	cleanup_(net_rule_done) struct net_rule rule = {0};
	struct config *c = m->c;
	struct where w = in_file(f, KEY_RULES, item, RULE_HOST, MARK_NONE);
	int r = check_word(m, check_pattern, raw->host, &w, "network.rules.host");

	if (r < 0)
		return r;
	if (raw->credential) {
		w = in_file(f, KEY_RULES, item, RULE_CREDENTIAL, MARK_NONE);
		r = check_word(m, check_credential, raw->credential, &w,
			       "network.rules.credential");
		if (r < 0)
			return r;
		rule.credential = xstrdup(raw->credential);
	}
	r = rule_words(m, f, item, raw, &rule);
	if (r < 0)
		return r;
	rule.pattern = xstrdup(raw->host);
	c->network.rules = xrealloc(c->network.rules, c->network.n_rules + 1, sizeof(rule));
	c->network.rules[c->network.n_rules] = rule;
	rule = (struct net_rule){0};
	w = in_file(f, KEY_RULES, item, MARK_NONE, MARK_NONE);
	set_item_origin(m, KEY_RULES, c->network.n_rules++, &w);
	return 0;
}

static int merge_entry(struct merge *m, const struct config_file *f, enum key_id id, int i)
{
	struct where w = in_file(f, id, i, MARK_NONE, MARK_NONE);
	const void *items = f->values[id].items;
	struct where fields[MOUNT_FIELDS_N];

	if (keys[id].type == KEY_LIST)
		return merge_item(m, id, ((char *const *)items)[i], &w);
	if (keys[id].type == KEY_RULE)
		return merge_rule(m, f, i, &((const struct raw_rule *)items)[i]);
	if (keys[id].type == KEY_CREDENTIAL)
		return merge_credential(m, f, i);
	for (int k = 0; k < MOUNT_FIELDS_N; k++)
		fields[k] = in_file(f, id, i, k, MARK_NONE);
	return merge_mount(m, &((const struct raw_mount *)items)[i], &w, fields);
}

int merge_file(struct merge *m, const struct config_file *f)
{
	int r = 0;

	for (enum key_id id = 0; f->values && id < KEY_N && r == 0; id++) {
		const struct raw_value *v = &f->values[id];

		if (v->scalar) {
			struct where w = in_file(f, id, MARK_NONE, MARK_NONE, MARK_NONE);

			r = merge_scalar(m, id, v->scalar, &w);
		}
		if (keys[id].type == KEY_PROVIDER && v->items)
			r = merge_provider(m, f, id);
		for (uint64_t i = 0; i < v->n && r == 0; i++)
			r = merge_entry(m, f, id, (int)i);
	}
	return r;
}

/* One value, or one entry of a list, from a variable or a flag. */
static int merge_text(struct merge *m, enum key_id id, const char *text, const char *name)
{
	struct where w = {.name = name};

	if (keys[id].type == KEY_RULE || keys[id].type == KEY_PROVIDER ||
	    keys[id].type == KEY_CREDENTIAL)
		return fail(m,
			    err_usage(m->err, "can only be given in a file; write it to "
					      "config.yaml or to a profile"),
			    &w, keys[id].name);
	if (keys[id].type == KEY_MOUNT)
		return merge_mount_text(m, text, &w);
	if (keys[id].type == KEY_LIST)
		return merge_item(m, id, text, &w);
	return merge_scalar(m, id, text, &w);
}

static int merge_variable(struct merge *m, enum key_id id, const char *name, const char *value)
{
	cleanup_strv struct strv parts = {0};
	int r = 0;

	if (!*value)
		return 0;
	if (!key_is_list(id))
		return merge_text(m, id, value, name);
	strv_split(&parts, value, ',');
	for (size_t i = 0; i < parts.n && r == 0; i++)
		r = merge_text(m, id, parts.v[i], name);
	return r;
}

/* Names by which the published designs call a key. */
static const struct {
	const char *name;
	enum key_id id;
} other_names[] = {
	{"RALPH_DOCKER_ENV", KEY_ENV_PASS},
	{"SANDBOX_REFUSE_PATTERNS", KEY_ENV_REFUSE},
	{"SANDBOX_INBOX_DIR", KEY_INBOX_DIR},
};

static int merge_other_names(struct merge *m, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (size_t i = 0; entry[len] == '=' && i < ARRAY_SIZE(other_names); i++)
		if (strlen(other_names[i].name) == len &&
		    memcmp(other_names[i].name, entry, len) == 0)
			return merge_variable(m, other_names[i].id, other_names[i].name,
					      entry + len + 1);
	return 0;
}

/* Names that begin like a section's are meant for ralph, so a wrong one is a mistake; others, like
 * RALPH_INBOX_DIR, belong to other parts and are none of this layer's. */
static bool looks_like_key(const char *name, size_t len, char names[KEY_N][KEY_ENV_MAX])
{
	for (enum key_id id = 0; id < KEY_N; id++) {
		size_t section = key_section(&keys[id]);
		size_t prefix = strlen("RALPH_") + section + 1;

		if (section && len > prefix && strncmp(name, names[id], prefix) == 0)
			return true;
	}
	return false;
}

static int unknown_variable(struct merge *m, const char *name, char names[KEY_N][KEY_ENV_MAX])
{
	const char *candidates[KEY_N], *near;

	for (enum key_id id = 0; id < KEY_N; id++)
		candidates[id] = names[id];
	near = suggest(name, candidates, KEY_N);
	if (near)
		return err_usage(m->err, "%.80s: unknown setting; did you mean '%s'?", name, near);
	return err_usage(m->err, "%.80s: unknown setting; unset it, or see ralph-config(5)", name);
}

static int merge_one(struct merge *m, const char *entry, char names[KEY_N][KEY_ENV_MAX])
{
	size_t len = strcspn(entry, "=");
	enum key_id id = 0;

	while (id < KEY_N && !(strlen(names[id]) == len && memcmp(names[id], entry, len) == 0))
		id++;
	if (id < KEY_N)
		return merge_variable(m, id, names[id], entry + len + (entry[len] == '='));
	if (looks_like_key(entry, len, names)) {
		cleanup_free char *name = xstrndup(entry, len);

		return unknown_variable(m, name, names);
	}
	return 0;
}

int merge_environ(struct merge *m, char *const *env)
{
	char names[KEY_N][KEY_ENV_MAX];
	bool named = false;
	int r = 0;

	for (; *env && r == 0; env++) {
		r = merge_other_names(m, *env);
		if (r < 0 || strncmp(*env, "RALPH_", strlen("RALPH_")) != 0)
			continue;
		for (enum key_id id = 0; !named && id < KEY_N; id++)
			key_env_name(&keys[id], names[id]);
		named = true;
		r = merge_one(m, *env, names);
	}
	return r;
}

static int unknown_flag(struct merge *m, const char *key)
{
	const char *candidates[KEY_N], *near;

	for (enum key_id id = 0; id < KEY_N; id++)
		candidates[id] = keys[id].name;
	near = suggest(key, candidates, KEY_N);
	if (near)
		return err_usage(m->err, "%.80s: unknown key; did you mean '%s'?", key, near);
	return err_usage(m->err, "%.80s: unknown key; ralph-config(5) lists the keys", key);
}

int merge_flags(struct merge *m, const struct strv *flags)
{
	for (size_t i = 0; i < flags->n; i++) {
		const char *flag = flags->v[i];
		size_t len = strcspn(flag, "=");
		enum key_id id = key_find(flag, len);
		int r;

		if (id == KEY_N) {
			cleanup_free char *key = xstrndup(flag, len);

			return unknown_flag(m, key);
		}
		if (flag[len] != '=')
			return err_usage(m->err, "%s: has no value; write KEY=VALUE",
					 keys[id].name);
		r = merge_text(m, id, flag + len + 1, keys[id].option);
		if (r < 0)
			return r;
	}
	return 0;
}
