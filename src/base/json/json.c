#include "base/json/json.h"

#include <string.h>

int json_parse(const char *text, size_t len, json_t **ret, struct err *err)
{
	json_error_t je;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);

	if (!j)
		return err_set(err, EINVAL, "line %d, column %d: %s", je.line, je.column, je.text);
	*ret = j;
	return 0;
}

static int get(const json_t *obj, const char *key, json_type type, const char *what, json_t **ret,
	       struct err *err)
{
	json_t *v = json_object_get(obj, key);

	if (!v)
		return err_set(err, ENOENT, "'%s' is missing", key);
	if (json_typeof(v) != type)
		return err_set(err, EINVAL, "'%s' is not %s", key, what);
	*ret = v;
	return 0;
}

int json_get_str(const json_t *obj, const char *key, const char **ret, struct err *err)
{
	json_t *v = NULL;
	int r = get(obj, key, JSON_STRING, "a string", &v, err);

	if (r < 0)
		return r;
	if (strlen(json_string_value(v)) != json_string_length(v))
		return err_set(err, EINVAL, "'%s' contains a NUL byte", key);
	*ret = json_string_value(v);
	return 0;
}

int json_opt_str(const json_t *obj, const char *key, const char **ret, struct err *err)
{
	json_t *v = json_object_get(obj, key);

	return !v || json_is_null(v) ? 0 : json_get_str(obj, key, ret, err);
}

int json_array_strv(const json_t *array, const char *key, struct strv *ret, struct err *err)
{
	json_t *item;
	size_t i;

	if (!json_is_array(array))
		return err_set(err, EINVAL, "'%s' is not an array", key);
	json_array_foreach (array, i, item) {
		if (!json_is_string(item))
			return err_set(err, EINVAL, "'%s' has an item that is no string", key);
		strv_push(ret, json_string_value(item));
	}
	return 0;
}

int json_opt_strv(const json_t *obj, const char *key, struct strv *ret, struct err *err)
{
	const json_t *a = json_object_get(obj, key);

	return a ? json_array_strv(a, key, ret, err) : 0;
}

int json_get_uint(const json_t *obj, const char *key, uint64_t *ret, struct err *err)
{
	json_t *v = NULL;
	int r = get(obj, key, JSON_INTEGER, "an integer", &v, err);

	if (r < 0)
		return r;
	if (json_integer_value(v) < 0)
		return err_set(err, ERANGE, "'%s' is negative", key);
	*ret = (uint64_t)json_integer_value(v);
	return 0;
}

int json_get_array(const json_t *obj, const char *key, json_t **ret, struct err *err)
{
	return get(obj, key, JSON_ARRAY, "an array", ret, err);
}

int json_get_object(const json_t *obj, const char *key, json_t **ret, struct err *err)
{
	return get(obj, key, JSON_OBJECT, "an object", ret, err);
}

json_t *json_text(const char *s)
{
	json_t *j = json_string(s);
	char *fixed, *out;

	if (j)
		return j;
	/* Each byte that is not ASCII becomes one replacement character: lossy, but printable. */
	out = fixed = xmalloc(strlen(s) * 3 + 1);
	for (; *s; s++) {
		if ((unsigned char)*s < 0x80) {
			*out++ = *s;
			continue;
		}
		memcpy(out, "\xef\xbf\xbd", 3);
		out += 3;
	}
	*out = '\0';
	j = json_string(fixed);
	free(fixed);
	return j;
}
