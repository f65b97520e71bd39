#include "config/project.h"

#include <string.h>

#include "config/merge.h"

#define REMEDY "a project file may only tighten: move it to your own config.yaml or a profile"

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

static int list_widens(const struct config *base, const struct config_file *f, enum key_id id,
		       struct err *err)
{
	const struct raw_value *v = &f->values[id];

	for (uint64_t i = 0; i < v->n; i++) {
		const char *text = keys[id].type == KEY_LIST ? ((char **)v->items)[i]
				   : keys[id].type == KEY_MOUNT
					   ? ((struct raw_mount *)v->items)[i].path
				   : keys[id].type == KEY_CREDENTIAL
					   ? ((struct raw_credential *)v->items)[i].name
					   : ((struct raw_rule *)v->items)[i].host;
		int r;

		if (keys[id].type == KEY_LIST && !item_widens(base, id, text))
			continue;
		r = err_usage(err, "'%.*s' is not in your own settings; " REMEDY,
			      id == KEY_ENV_SET ? (int)strcspn(text, "=") : 60, text);
		return merge_fail_at(err, r, f, mark_id(id, (int)i, MARK_NONE, MARK_NONE),
				     keys[id].name);
	}
	return 0;
}

int config_project_widens(const struct config *base, const struct config *project,
			  const struct config_file *file, uint64_t memory_share, struct err *err)
{
	int r = 0;

	for (enum key_id id = 0; file->values && id < KEY_N && r == 0; id++) {
		if (key_is_list(id)) {
			r = list_widens(base, file, id, err);
			continue;
		}
		if (keys[id].type == KEY_PROVIDER && file->values[id].items)
			return merge_fail_at(
				err, err_usage(err, "is not a project's to say; " REMEDY), file,
				mark_id(id, MARK_NONE, MARK_NONE, MARK_NONE), keys[id].name);
		if (!file->values[id].scalar || !scalar_widens(base, project, id, memory_share))
			continue;
		if (id == KEY_MEMORY && base->limits.memory == 0 && memory_share == 0)
			r = err_usage(err,
				      "you have set no limit to compare with; set limits.memory "
				      "in your own config.yaml");
		else
			r = err_usage(err, "'%.60s' is wider than your own setting; " REMEDY,
				      file->values[id].scalar);
		r = merge_fail_at(err, r, file, mark_id(id, MARK_NONE, MARK_NONE, MARK_NONE),
				  keys[id].name);
	}
	return r;
}
