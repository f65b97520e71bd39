#include "base/json/json.h"

int json_get_bool(const json_t *obj, const char *key, bool *ret, struct err *err)
{
	json_t *v = json_object_get(obj, key);

	if (!v)
		return err_set(err, ENOENT, "'%s' is missing", key);
	if (!json_is_boolean(v))
		return err_set(err, EINVAL, "'%s' is not true or false", key);
	*ret = json_is_true(v);
	return 0;
}

json_t *json_strv(const struct strv *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, json_text(s->v[i]));
	return a;
}
