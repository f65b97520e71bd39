#include <assert.h>
#include <string.h>
#include <sys/resource.h>

#include "spec/json-fields.h"

static const struct {
	const char *name;
	int resource;
} rlimit_names[] = {
	{"core", RLIMIT_CORE}, {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},
	{"data", RLIMIT_DATA}, {"as", RLIMIT_AS},	  {"fsize", RLIMIT_FSIZE},
};

static json_t *rlimits_to_json(const struct spec_limits *l)
{
	json_t *j = json_object();

	for (size_t i = 0; i < l->n_rlimits; i++)
		for (size_t k = 0; k < ARRAY_SIZE(rlimit_names); k++)
			if (rlimit_names[k].resource == l->rlimits[i].resource)
				field_put_uint(j, rlimit_names[k].name, l->rlimits[i].value);
	return j;
}

static int read_rlimits(const json_t *obj, struct spec_limits *l, struct err *err)
{
	json_t *j, *value;
	const char *key;
	int r = json_get_object(obj, "rlimits", &j, err);

	if (r < 0)
		return r;
	json_object_foreach (j, key, value) {
		size_t k = 0;

		while (k < ARRAY_SIZE(rlimit_names) && !streq(rlimit_names[k].name, key))
			k++;
		if (k == ARRAY_SIZE(rlimit_names) || !json_is_integer(value) ||
		    json_integer_value(value) < 0 || l->n_rlimits == SPEC_RLIMITS_MAX)
			return err_set(err, EINVAL, "rlimits: '%s' is not known here", key);
		l->rlimits[l->n_rlimits++] = (struct spec_rlimit){
			.resource = rlimit_names[k].resource,
			.value = (uint64_t)json_integer_value(value),
		};
	}
	return 0;
}

static const char *cgroup_name(unsigned i)
{
	static const char *const names[] = {"none", "v1", "v2", "scope"};
	static_assert(ARRAY_SIZE(names) == SPEC_CGROUP_N, "one name per kind");

	return names[i];
}

static json_t *cgroups_to_json(const struct spec_limits *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_cgroups; i++) {
		json_t *j = json_object();

		field_put_str(j, "dir", l->cgroups[i].dir);
		field_put_uint(j, "controllers", l->cgroups[i].controllers);
		(void)json_array_append_new(a, j);
	}
	return a;
}

json_t *limits_to_json(const struct spec_limits *l)
{
	json_t *j = json_object();

	field_put_uint(j, "memory", l->memory);
	field_put_uint(j, "pids", l->pids);
	field_put_uint(j, "cpu", l->cpu);
	field_put_uint(j, "tmp", l->tmp);
	field_put_uint(j, "open_files", l->open_files);
	field_put_uint(j, "timeout_ms", l->timeout_ms);
	field_put_str(j, "method", l->method);
	field_put_uint(j, "controllers", l->controllers);
	field_put_str(j, "cgroup", cgroup_name(l->cgroup));
	(void)json_object_set_new(j, "cgroups", cgroups_to_json(l));
	(void)json_object_set_new(j, "rlimits", rlimits_to_json(l));
	return j;
}

static int read_cgroups(const json_t *obj, struct spec_limits *l, struct err *err)
{
	json_t *a, *item;
	unsigned kind = 0;
	size_t i;
	int r = field_take_word(obj, "cgroup", cgroup_name, SPEC_CGROUP_N, &kind, err);

	if (r == 0)
		r = json_get_array(obj, "cgroups", &a, err);
	if (r < 0)
		return r;
	l->cgroup = (enum spec_cgroup_kind)kind;
	if (json_array_size(a) > SPEC_CGROUPS_MAX)
		return err_set(err, E2BIG, "'cgroups' has more than %d entries", SPEC_CGROUPS_MAX);
	json_array_foreach (a, i, item) {
		struct spec_cgroup *c = &l->cgroups[i];

		r = field_take_str(item, "dir", &c->dir, err);
		l->n_cgroups += c->dir ? 1 : 0;
		if (r == 0)
			r = field_take_u32(item, "controllers", &c->controllers, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int limits_from_json(const json_t *obj, struct spec_limits *l, struct err *err)
{
	struct {
		const char *key;
		uint64_t *to;
	} fields[] = {
		{"memory", &l->memory},
		{"pids", &l->pids},
		{"cpu", &l->cpu},
		{"tmp", &l->tmp},
		{"open_files", &l->open_files},
		{"timeout_ms", &l->timeout_ms},
	};
	json_t *j;
	int r = json_get_object(obj, "limits", &j, err);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fields); i++)
		r = json_get_uint(j, fields[i].key, fields[i].to, err);
	if (r == 0)
		r = field_take_u32(j, "controllers", &l->controllers, err);
	if (r == 0)
		r = read_rlimits(j, l, err);
	if (r == 0)
		r = read_cgroups(j, l, err);
	return r < 0 ? r : field_take_opt(j, "method", &l->method, err);
}
