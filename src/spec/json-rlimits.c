#include <string.h>
#include <sys/resource.h>

#include "spec/fields.h"

static const struct {
	const char *name;
	int resource;
} rlimit_names[] = {
	{"core", RLIMIT_CORE}, {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},
	{"data", RLIMIT_DATA}, {"as", RLIMIT_AS},	  {"fsize", RLIMIT_FSIZE},
};

json_t *rlimits_to_json(const void *limits)
{
	const struct spec_limits *l = limits;
	json_t *j = json_object();

	for (size_t i = 0; i < l->n_rlimits; i++)
		for (size_t k = 0; k < ARRAY_SIZE(rlimit_names); k++)
			if (rlimit_names[k].resource == l->rlimits[i].resource)
				(void)json_object_set_new(
					j, rlimit_names[k].name,
					json_integer((json_int_t)l->rlimits[i].value));
	return j;
}

int rlimits_from_json(const json_t *j, void *limits, struct err *err)
{
	struct spec_limits *l = limits;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)j, key, value) {
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
