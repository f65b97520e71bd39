#include "config/merge.h"

#include <string.h>

#include "base/path.h"
#include "base/text/mask.h"
#include "base/text/suggest.h"
#include "policy/refused-env.h"

int merge_fail_at(struct err *err, int r, const struct merge_place *at, const char *key)
{
	r = err_wrap(err, r, "%s", key);
	if (at->line)
		return err_wrap(err, r, "%s:%u:%u", at->name, at->line, at->column);
	return err_wrap(err, r, "%s", at->name);
}

static int fail(struct merge *m, int r, const struct merge_place *at, const char *key)
{
	return merge_fail_at(m->err, r, at, key);
}

static char *origin_text(const struct merge_place *at)
{
	return at->line ? xasprintf("%s:%u", at->name, at->line) : xstrdup(at->name);
}

void merge_origin(struct merge *m, enum key_id id, const struct merge_place *at)
{
	free(m->c->origins->key[id]);
	m->c->origins->key[id] = origin_text(at);
}

void merge_item_origin(struct merge *m, enum key_id id, size_t i, const struct merge_place *at)
{
	struct strv *items = &m->c->origins->items[id];

	merge_origin(m, id, at);
	if (i == items->n) {
		strv_take(items, origin_text(at));
		return;
	}
	free(items->v[i]);
	items->v[i] = origin_text(at);
}

/* Returns the length of a source's kind. Messages show nothing else of it: the user may have
 * written the credential itself there. */
static size_t source_kind(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon ? (size_t)(colon - text) : 0;
}

/* Returns how much of an env.set a message may show. The part after the '=' may be a secret, and
 * so may a text without one. */
static size_t entry_shown(const char *text)
{
	return strchr(text, '=') || !mask_is_secret("", text) ? strcspn(text, "=") : 0;
}

/* Turns a check's verdict into an error. */
int merge_check(struct merge *m, const char *(*check)(const char *s), const char *text,
		const struct merge_place *at, const char *key)
{
	const char *wrong = check(text);
	size_t show = check == check_env_entry ? entry_shown(text)
		      : check == check_source  ? source_kind(text)
					       : strlen(text);

	if (!wrong)
		return 0;
	return fail(m, err_usage(m->err, "'%.*s' %s", (int)(show < 60 ? show : 60), text, wrong),
		    at, key);
}

char *merge_home_path(const struct merge *m, const char *path)
{
	return path[0] == '~' ? path_join(m->home ? m->home : "/", path + 2) : xstrdup(path);
}

static int merge_scalar(struct merge *m, enum key_id id, const char *text,
			const struct merge_place *at)
{
	int r = key_set_scalar(m->c, id, text, m->err);

	if (r < 0)
		return fail(m, r, at, keys[id].name);
	merge_origin(m, id, at);
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

static int merge_item(struct merge *m, enum key_id id, const char *text,
		      const struct merge_place *at)
{
	struct strv *list = key_at(m->c, id);
	int r = merge_check(m, keys[id].check, text, at, keys[id].name);
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
	merge_item_origin(m, id, i, at);
	return 0;
}

void config_mount_done(struct config_mount *m)
{
	free(m->path);
	free(m->target);
}

static void put_mount(struct merge *m, struct config_mount mount, const struct merge_place *at)
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
	merge_item_origin(m, KEY_MOUNTS, i, at);
}

/* fields in the order of mount_fields, places their places. */
static int merge_mount(struct merge *m, const struct scan_value *fields,
		       const struct merge_place *places, const struct merge_place *entry)
{
	const char *path = fields[MOUNT_PATH].text, *mode = fields[MOUNT_MODE].text;
	const char *target = fields[MOUNT_TARGET].text;
	struct config_mount mount = {0};
	int r = merge_check(m, check_mount_path, path, &places[MOUNT_PATH], "mounts.path");

	if (r == 0 && target)
		r = merge_check(m, check_mount_target, target, &places[MOUNT_TARGET],
				"mounts.target");
	if (r < 0)
		return r;
	if (mode && !streq(mode, "ro") && !streq(mode, "rw"))
		return fail(m, err_usage(m->err, "'%.60s' is no mode; use ro or rw", mode),
			    &places[MOUNT_MODE], "mounts.mode");
	if (path[0] == '~' && (!m->home || m->home[0] != '/'))
		return fail(m,
			    err_usage(m->err, "'~' cannot be resolved without a home directory; "
					      "write the path out"),
			    &places[MOUNT_PATH], "mounts.path");
	mount.path = merge_home_path(m, path);
	mount.target = target ? xstrdup(target) : NULL;
	mount.writable = mode && streq(mode, "rw");
	put_mount(m, mount, entry);
	return 0;
}

/* PATH[:TARGET][:ro|rw], as a flag or variable gives it. */
static int merge_mount_text(struct merge *m, const char *text, const struct merge_place *at)
{
	const struct merge_place places[MOUNT_FIELDS_N] = {*at, *at, *at};
	struct scan_value fields[MOUNT_FIELDS_N] = {0};
	cleanup_free char *copy = xstrdup(text);
	char *colon = strrchr(copy, ':');

	fields[MOUNT_PATH].text = copy;
	if (colon && (streq(colon, ":ro") || streq(colon, ":rw"))) {
		*colon = '\0';
		fields[MOUNT_MODE].text = colon + 1;
	}
	colon = strchr(copy, ':');
	if (colon) {
		*colon = '\0';
		fields[MOUNT_TARGET].text = colon + 1;
	}
	return merge_mount(m, fields, places, at);
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

static int rule_words(struct merge *m, const struct config_file *f, const struct scan_value *fields,
		      struct net_rule *rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(rule_lists); i++) {
		const struct scan_value *from = &fields[rule_lists[i].field];
		struct strv *to = (void *)((char *)rule + rule_lists[i].offset);

		for (size_t j = 0; j < from->n; j++) {
			struct merge_place at = merge_in_file(f, &from->v[j]);
			int r = merge_check(m, rule_lists[i].check, from->v[j].text, &at,
					    rule_lists[i].name);

			if (r < 0)
				return r;
			strv_push(to, from->v[j].text);
		}
	}
	return 0;
}

static int merge_rule(struct merge *m, const struct config_file *f, const struct scan_value *entry)
{
	const struct scan_value *host = &entry->v[RULE_HOST];
	const struct scan_value *credential = &entry->v[RULE_CREDENTIAL];
	cleanup_(net_rule_done) struct net_rule rule = {0};
	struct config *c = m->c;
	struct merge_place at = merge_in_file(f, host);
	int r = merge_check(m, check_pattern, host->text, &at, "network.rules.host");

	if (r < 0)
		return r;
	if (credential->text) {
		at = merge_in_file(f, credential);
		r = merge_check(m, check_credential, credential->text, &at,
				"network.rules.credential");
		if (r < 0)
			return r;
		rule.credential = xstrdup(credential->text);
	}
	r = rule_words(m, f, entry->v, &rule);
	if (r < 0)
		return r;
	rule.pattern = xstrdup(host->text);
	c->network.rules = xrealloc(c->network.rules, c->network.n_rules + 1, sizeof(rule));
	c->network.rules[c->network.n_rules] = rule;
	rule = (struct net_rule){0};
	at = merge_in_file(f, entry);
	merge_item_origin(m, KEY_RULES, c->network.n_rules++, &at);
	return 0;
}

static int merge_entry(struct merge *m, const struct config_file *f, enum key_id id,
		       const struct scan_value *entry)
{
	struct merge_place at = merge_in_file(f, entry), places[MOUNT_FIELDS_N];

	if (keys[id].type == KEY_LIST)
		return merge_item(m, id, entry->text, &at);
	if (keys[id].type == KEY_RULE)
		return merge_rule(m, f, entry);
	if (keys[id].type == KEY_CREDENTIAL)
		return merge_credential(m, f, entry);
	if (keys[id].type == KEY_PLACE)
		return merge_config_place(m, f, entry);
	for (size_t i = 0; i < MOUNT_FIELDS_N; i++)
		places[i] = merge_in_file(f, &entry->v[i]);
	return merge_mount(m, entry->v, places, &at);
}

int merge_file(struct merge *m, const struct config_file *f)
{
	int r = 0;

	strv_extend(&m->c->notices, &f->notices);
	for (enum key_id id = 0; id < KEY_N && r == 0; id++) {
		const struct scan_value *v = &f->values[id];
		struct merge_place at = merge_in_file(f, v);

		if (v->text && !key_is_list(id))
			r = merge_scalar(m, id, v->text, &at);
		else if (keys[id].type == KEY_PROVIDER && v->line)
			r = merge_provider(m, f, id);
		for (size_t i = 0; key_is_list(id) && i < v->n && r == 0; i++)
			r = merge_entry(m, f, id, &v->v[i]);
	}
	return r;
}

/* One value, or one entry of a list, from a variable or a flag. */
static int merge_text(struct merge *m, enum key_id id, const char *text, const char *name)
{
	struct merge_place at = {.name = name};

	if (keys[id].type == KEY_RULE || keys[id].type == KEY_PROVIDER ||
	    keys[id].type == KEY_CREDENTIAL || keys[id].type == KEY_PLACE)
		return fail(m,
			    err_usage(m->err, "can only be given in a file; write it to "
					      "config.yaml or to a profile"),
			    &at, keys[id].name);
	if (keys[id].type == KEY_MOUNT)
		return merge_mount_text(m, text, &at);
	if (keys[id].type == KEY_LIST)
		return merge_item(m, id, text, &at);
	return merge_scalar(m, id, text, &at);
}

#define REFUSE_PATTERNS "SANDBOX_REFUSE_PATTERNS"

/*
 * SANDBOX_REFUSE_PATTERNS is an extended regular expression in the system that it comes from, and
 * a list of globs here. It is read as both. In parentheses the whole text is an expression to
 * refused_env_check(), whatever characters it has.
 */
static int merge_refuse(struct merge *m, const char *name, const char *text)
{
	cleanup_free char *whole = xasprintf("(%s)", text);
	const struct merge_place at = {.name = name};
	cleanup_strv struct strv parts = {0};
	int r;

	r = merge_check(m, refused_env_wrong, text, &at, keys[KEY_ENV_REFUSE].name);
	strv_split(&parts, text, ',');
	/* A comma may stand inside of an expression: a part of one is not a pattern. */
	for (size_t i = 0; r == 0 && i < parts.n; i++)
		if (!refused_env_wrong(parts.v[i]))
			r = merge_item(m, KEY_ENV_REFUSE, parts.v[i], &at);
	/* A glob need not be an expression. */
	return r < 0 || refused_env_wrong(whole) ? r : merge_item(m, KEY_ENV_REFUSE, whole, &at);
}

static int merge_variable(struct merge *m, enum key_id id, const char *name, const char *value)
{
	cleanup_strv struct strv parts = {0};
	int r = 0;

	if (!*value)
		return 0;
	if (streq(name, REFUSE_PATTERNS))
		return merge_refuse(m, name, value);
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
	{REFUSE_PATTERNS, KEY_ENV_REFUSE},
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

/* True for a variable that begins like those of the section of this key. */
static bool in_section_of(const char *key, const char *name, size_t len)
{
	size_t section = key ? key_name_section(key) : 0, prefix = strlen("RALPH_") + section + 1;
	char env[KEY_ENV_MAX];

	if (!section || len <= prefix)
		return false;
	key_env_name(key, env);
	return strncmp(name, env, prefix) == 0;
}

/* Names that begin like a section's, an old one's too, are meant for ralph, so a wrong one is a
 * mistake; others, like RALPH_INBOX_DIR, belong to other parts and are none of this layer's. */
static bool looks_like_key(const struct merge *m, const char *name, size_t len)
{
	for (enum key_id id = 0; id < KEY_N; id++)
		if (in_section_of(keys[id].name, name, len) ||
		    in_section_of(m->rows[id].was, name, len))
			return true;
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

/* The key whose variable had this name in the last release, or KEY_N. */
static enum key_id find_was(const struct merge *m, const char *entry, size_t len,
			    char ret[KEY_ENV_MAX])
{
	enum key_id id = 0;

	for (; id < KEY_N; id++) {
		if (!m->rows[id].was)
			continue;
		key_env_name(m->rows[id].was, ret);
		if (strlen(ret) == len && memcmp(ret, entry, len) == 0)
			break;
	}
	return id;
}

static bool is_set(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=' && (*env)[len + 1])
			return true;
	return false;
}

/* A variable was given by its old name; now: its name today. */
static int notice_was(struct merge *m, const char *was, const char *now, char *const *env)
{
	if (is_set(env, was) && is_set(env, now))
		return err_usage(m->err, "%s: given twice, also as '%s'; unset one of them", was,
				 now);
	strv_pushf(&m->c->notices, KEY_RENAMED, was, now);
	return 0;
}

static int merge_one(struct merge *m, const char *entry, char names[KEY_N][KEY_ENV_MAX],
		     char *const *env)
{
	size_t len = strcspn(entry, "=");
	char was[KEY_ENV_MAX];
	const char *value = entry + len + (entry[len] == '=');
	enum key_id id = 0;

	while (id < KEY_N && !(strlen(names[id]) == len && memcmp(names[id], entry, len) == 0))
		id++;
	if (id < KEY_N)
		return merge_variable(m, id, names[id], value);
	id = find_was(m, entry, len, was);
	if (id < KEY_N) {
		int r = notice_was(m, was, names[id], env);

		return r < 0 ? r : merge_variable(m, id, was, value);
	}
	if (looks_like_key(m, entry, len)) {
		cleanup_free char *name = xstrndup(entry, len);

		return unknown_variable(m, name, names);
	}
	return 0;
}

int merge_environ(struct merge *m, char *const *env)
{
	char names[KEY_N][KEY_ENV_MAX];
	char *const *all = env;
	bool named = false;
	int r = 0;

	for (; *env && r == 0; env++) {
		r = merge_other_names(m, *env);
		if (r < 0 || strncmp(*env, "RALPH_", strlen("RALPH_")) != 0)
			continue;
		for (enum key_id id = 0; !named && id < KEY_N; id++)
			key_env_name(keys[id].name, names[id]);
		named = true;
		r = merge_one(m, *env, names, all);
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
			id = key_find_was(m->rows, flag, len);
			if (id < KEY_N)
				strv_pushf(&m->c->notices, KEY_RENAMED, m->rows[id].was,
					   keys[id].name);
		}
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
