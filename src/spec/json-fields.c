#include "spec/json-fields.h"

#include <string.h>

void field_put_str(json_t *obj, const char *key, const char *value)
{
	if (value)
		(void)json_object_set_new(obj, key, json_text(value));
}

void field_put_uint(json_t *obj, const char *key, uint64_t value)
{
	(void)json_object_set_new(obj, key, json_integer((json_int_t)value));
}

void field_put_strv(json_t *obj, const char *key, const struct strv *s)
{
	json_t *a;

	if (s->n == 0)
		return;
	a = json_array();
	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, json_text(s->v[i]));
	(void)json_object_set_new(obj, key, a);
}

int field_take_str(const json_t *obj, const char *key, char **ret, struct err *err)
{
	const char *s = NULL;
	int r = json_get_str(obj, key, &s, err);

	if (r == 0)
		*ret = xstrdup(s);
	return r;
}

int field_take_opt(const json_t *obj, const char *key, char **ret, struct err *err)
{
	const char *s = NULL;
	int r = json_opt_str(obj, key, &s, err);

	if (r == 0 && s)
		*ret = xstrdup(s);
	return r;
}

int field_take_u32(const json_t *obj, const char *key, uint32_t *ret, struct err *err)
{
	uint64_t v = 0;
	int r = json_get_uint(obj, key, &v, err);

	if (r == 0 && v > UINT32_MAX)
		r = err_set(err, ERANGE, "'%s' is too large", key);
	if (r == 0)
		*ret = (uint32_t)v;
	return r;
}

int field_take_strv(const json_t *obj, const char *key, struct strv *out, struct err *err)
{
	json_t *a = json_object_get(obj, key), *item;
	size_t i;

	if (!a)
		return 0;
	if (!json_is_array(a))
		return err_set(err, EINVAL, "'%s' is not an array", key);
	json_array_foreach (a, i, item) {
		if (!json_is_string(item))
			return err_set(err, EINVAL, "'%s' has an item that is no string", key);
		strv_push(out, json_string_value(item));
	}
	return 0;
}

int field_take_word(const json_t *obj, const char *key, const char *(*name_of)(unsigned),
		    unsigned n, unsigned *ret, struct err *err)
{
	const char *s = NULL;
	int r = json_get_str(obj, key, &s, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++) {
		if (streq(s, name_of(i))) {
			*ret = i;
			return 0;
		}
	}
	return err_set(err, EINVAL, "'%s' has the unknown value '%s'", key, s);
}
