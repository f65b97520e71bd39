#include "config/project.h"

#include <assert.h>
#include <string.h>

#include "config/merge.h"

#define REMEDY "a project file may only tighten, unless you trust it: ralph trust"

static uint64_t number(const struct config *c, enum key_id id)
{
	return keys[id].type == KEY_CHOICE ? (uint64_t) * (int *)key_at(c, id)
					   : *(uint64_t *)key_at(c, id);
}

static const char *word(const struct config *c, enum key_id id)
{
	const char *s = *(char **)key_at(c, id);

	return s ? s : "";
}

static bool number_widens(const struct config *base, const struct config *project, enum key_id id,
			  uint64_t memory_share)
{
	uint64_t b = number(base, id), p = number(project, id);

	if (b == p)
		return false;
	if (keys[id].project == PROJECT_LOWER0)
		return b != 0 && (p == 0 || p > b);
	if (id == KEY_MEMORY)
		return p == 0 || p > (b ? b : memory_share);
	return p > b;
}

/* Names with commas: what "agent" stands for is not known here. */
static bool names_widen(const char *base, const char *project)
{
	cleanup_strv struct strv has = {0}, wants = {0};

	if (streq(base, project) || streq(base, "all") || streq(project, "none"))
		return false;
	if (streq(base, "agent") || streq(project, "agent") || streq(project, "all"))
		return true;
	strv_split(&has, base, ',');
	strv_split(&wants, project, ',');
	for (size_t i = 0; i < wants.n; i++)
		if (!strv_has(&has, wants.v[i]))
			return true;
	return false;
}

static bool scalar_widens(const struct config *base, const struct config *project, enum key_id id,
			  uint64_t memory_share)
{
	switch (keys[id].project) {
	case PROJECT_LOWER:
	case PROJECT_LOWER0:
		return number_widens(base, project, id, memory_share);
	case PROJECT_AUTO:
		return !streq(word(base, id), "auto") && !streq(word(base, id), word(project, id));
	case PROJECT_SAME:
		if (keys[id].type == KEY_CHOICE)
			return number(base, id) != number(project, id);
		return !streq(word(base, id), word(project, id));
	case PROJECT_FEWER:
		return names_widen(word(base, id), word(project, id));
	case PROJECT_NEVER:
		return true;
	case PROJECT_NEW:
	case PROJECT_ANY:
		break;
	}
	return false;
}

/* env.set: what the user set or passes in stays as the user has it. */
static bool variable_widens(const struct config *base, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (size_t i = 0; i < base->env.set.n; i++)
		if (strncmp(base->env.set.v[i], entry, len + 1) == 0)
			return !streq(base->env.set.v[i], entry);
	for (size_t i = 0; i < base->env.pass.n; i++)
		if (strlen(base->env.pass.v[i]) == len &&
		    memcmp(base->env.pass.v[i], entry, len) == 0)
			return true;
	return false;
}

static bool item_widens(const struct config *base, enum key_id id, const char *text)
{
	if (keys[id].project == PROJECT_ANY)
		return false;
	if (keys[id].project == PROJECT_NEW)
		return variable_widens(base, text);
	return !strv_has(key_at(base, id), text);
}

struct walk {
	const struct config *base;
	const struct config_file *file;
	uint64_t memory_share;
	/* Each thing that widens, at its place; a negative result ends the walk. */
	int (*found)(struct walk *w, enum key_id id, const struct scan_value *at, const char *text);
	struct err *err;
	struct config_widening *list; /* of collect() */
	size_t n;
};

/* A mount is known by its path, a rule by its host, a credential by its name: the first field. */
static int walk_list(struct walk *w, enum key_id id)
{
	const struct scan_value *list = &w->file->values[id];
	int r = 0;

	static_assert(MOUNT_PATH == 0 && RULE_HOST == 0 && CREDENTIAL_NAME == 0, "the first field");
	for (size_t i = 0; i < list->n && r == 0; i++) {
		const struct scan_value *v = &list->v[i];
		/* An entry with a name below the key has it as its text. */
		const char *text = v->text ? v->text : v->v[0].text;

		if (keys[id].type != KEY_LIST || item_widens(w->base, id, text))
			r = w->found(w, id, v, text);
	}
	return r;
}

static const char *provider_text(const struct scan_value *fields)
{
	const char *origin = fields[PROVIDER_ORIGIN].text, *url = fields[PROVIDER_TOKEN_URL].text;
	const char *ca = fields[PROVIDER_CA_FILE].text;

	return origin ? origin : url ? url : ca ? ca : "{}";
}

static int walk(struct walk *w, const struct config *project)
{
	int r = 0;

	for (enum key_id id = 0; id < KEY_N && r == 0; id++) {
		const struct scan_value *v = &w->file->values[id];

		if (key_is_list(id))
			r = walk_list(w, id);
		else if (keys[id].type == KEY_PROVIDER && v->line)
			r = w->found(w, id, v, provider_text(v->v));
		else if (v->text && scalar_widens(w->base, project, id, w->memory_share))
			r = w->found(w, id, v, v->text);
	}
	return r;
}

/* Returns how much of a value a message may show. The part after the '=' of an env.set may be a
 * secret. */
static int shown(enum key_id id, const char *text)
{
	return id == KEY_ENV_SET ? (int)strcspn(text, "=") : 60;
}

static int refuse(struct walk *w, enum key_id id, const struct scan_value *at, const char *text)
{
	struct merge_place place = merge_in_file(w->file, at);
	int r;

	if (key_is_list(id))
		r = err_usage(w->err, "'%.*s' is not in your own settings; " REMEDY,
			      shown(id, text), text);
	else if (keys[id].type == KEY_PROVIDER)
		r = err_usage(w->err, "is not a project's to say; " REMEDY);
	else if (id == KEY_MEMORY && w->base->limits.memory == 0 && w->memory_share == 0)
		r = err_usage(w->err, "you have set no limit to compare with; set limits.memory "
				      "in your own config.yaml");
	else
		r = err_usage(w->err, "'%.60s' is wider than your own setting; " REMEDY, text);
	return merge_fail_at(w->err, r, &place, keys[id].name);
}

int config_project_never(const struct config_file *file, struct err *err)
{
	for (enum key_id id = 0; id < KEY_N; id++) {
		const struct scan_value *v = &file->values[id];
		struct merge_place place = merge_in_file(file, v);

		if (keys[id].project == PROJECT_NEVER && v->line)
			return merge_fail_at(err,
					     err_usage(err,
						       "a project file cannot set this; set it "
						       "in your own config.yaml"),
					     &place, keys[id].name);
	}
	return 0;
}

int config_project_widens(const struct config *base, const struct config *project,
			  const struct config_file *file, uint64_t memory_share, struct err *err)
{
	struct walk w = {
		.base = base,
		.file = file,
		.memory_share = memory_share,
		.found = refuse,
		.err = err,
	};

	return walk(&w, project);
}

static int collect(struct walk *w, enum key_id id, const struct scan_value *at, const char *text)
{
	w->list = xrealloc(w->list, w->n + 1, sizeof(*w->list));
	w->list[w->n++] = (struct config_widening){
		.key = keys[id].name,
		.value = xstrdup(text),
		.line = at->line,
	};
	return 0;
}

void config_project_widenings(const struct config *base, const struct config *project,
			      const struct config_file *file, uint64_t memory_share,
			      struct config_widening **ret, size_t *ret_n)
{
	struct walk w = {
		.base = base,
		.file = file,
		.memory_share = memory_share,
		.found = collect,
	};

	(void)walk(&w, project);
	*ret = w.list;
	*ret_n = w.n;
}
