#include <string.h>

#include "spec/fields.h"

/* Everything that spec_to_json() wrote comes back. Keys that no row has are not looked at: a spec
 * may have been written by a later version. */

typedef int read_fn(const struct spec_field *f, const json_t *v, void *item, struct err *err);

static int read_str(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	*(char **)field_at(f, item) = xstrdup(json_string_value(v));
	return 0;
}

static int read_strv(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	return json_array_strv(v, f->key, field_at(f, item), err);
}

static void set_number(const struct spec_field *f, void *item, uint64_t value)
{
	void *at = field_at(f, item);

	if (f->size == sizeof(uint8_t))
		*(uint8_t *)at = (uint8_t)value;
	else if (f->size == sizeof(uint16_t))
		*(uint16_t *)at = (uint16_t)value;
	else if (f->size == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)value;
	else
		*(uint64_t *)at = value;
}

static int read_bool(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	set_number(f, item, json_is_true(v));
	return 0;
}

static int read_uint(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	json_int_t value = json_integer_value(v);

	if (value < 0)
		return err_set(err, ERANGE, "'%s' is negative", f->key);
	if ((uint64_t)value > UINT64_MAX >> (64 - 8 * f->size))
		return err_set(err, ERANGE, "'%s' is too large", f->key);
	set_number(f, item, (uint64_t)value);
	return 0;
}

static int read_word(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	const char *word = json_string_value(v);

	for (size_t i = 0; i < f->n; i++) {
		if (streq(word, f->words[i])) {
			set_number(f, item, i);
			return 0;
		}
	}
	return err_set(err, EINVAL, "'%s' has the unknown value '%s'", f->key, word);
}

static int read_section(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	return table_from_json(f->of, v, field_at(f, item), err);
}

/* Makes room for n more items, which are all zero. */
static void grow(const struct spec_field *f, void *item, size_t n)
{
	size_t *count = field_count(f, item);

	if (!f->n && n) {
		char *items = xrealloc(field_items(f, item), *count + n, f->of->size);

		memset(items + *count * f->of->size, 0, n * f->of->size);
		field_set_items(f, item, items);
	}
	*count += n;
}

static const char *name_of(const struct spec_field *f, const void *item, size_t i)
{
	return *(char *const *)((char *)field_item(f, item, i) + f->of->name_at);
}

/* Moves each item over an earlier one of its name, as spec_env_set() would have set it. */
static void drop_same_names(const struct spec_field *f, void *item)
{
	size_t n = 0;

	for (size_t i = 0; i < *field_count(f, item); i++) {
		size_t to = 0;

		while (to < n && !streq(name_of(f, item, to), name_of(f, item, i)))
			to++;
		if (to < n)
			table_done(f->of, field_item(f, item, to));
		else
			n++;
		if (to != i)
			memcpy(field_item(f, item, to), field_item(f, item, i), f->of->size);
	}
	*field_count(f, item) = n;
}

static int read_list(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	size_t first = *field_count(f, item), i;
	json_t *j;

	if (f->n && first + json_array_size(v) > f->n)
		return err_set(err, E2BIG, "'%s' has more than %zu entries", f->key, f->n);
	grow(f, item, json_array_size(v));
	json_array_foreach (v, i, j) {
		int r = table_from_json(f->of, j, field_item(f, item, first + i), err);

		if (r < 0)
			return err_wrap(err, r, "%s[%zu]", f->key, i);
	}
	if (f->of->unique)
		drop_same_names(f, item);
	return 0;
}

static int read_custom(const struct spec_field *f, const json_t *v, void *item, struct err *err)
{
	return f->read(v, field_at(f, item), err);
}

static const struct {
	json_type type;
	const char *what;
	read_fn *read;
} kinds[] = {
	[FIELD_STR] = {JSON_STRING, "a string", read_str},
	[FIELD_STRV] = {JSON_ARRAY, "an array", read_strv},
	[FIELD_BOOL] = {JSON_TRUE, "true or false", read_bool},
	[FIELD_UINT] = {JSON_INTEGER, "an integer", read_uint},
	[FIELD_WORD] = {JSON_STRING, "a string", read_word},
	[FIELD_SECTION] = {JSON_OBJECT, "an object", read_section},
	[FIELD_LIST] = {JSON_ARRAY, "an array", read_list},
	[FIELD_CUSTOM] = {JSON_OBJECT, "an object", read_custom},
};

static int read_field(const struct spec_field *f, const json_t *obj, void *item, struct err *err)
{
	const json_t *v = json_object_get(obj, f->key);
	json_type type;

	if (f->optional && (!v || (f->kind == FIELD_STR && json_is_null(v))))
		return 0;
	if (!v)
		return f->kind == FIELD_BOOL ? 0 : err_set(err, ENOENT, "'%s' is missing", f->key);
	type = json_is_false(v) ? JSON_TRUE : json_typeof(v);
	if (type != kinds[f->kind].type)
		return err_set(err, EINVAL, "'%s' is not %s", f->key, kinds[f->kind].what);
	if (type == JSON_STRING && strlen(json_string_value(v)) != json_string_length(v))
		return err_set(err, EINVAL, "'%s' contains a NUL byte", f->key);
	return kinds[f->kind].read(f, v, item, err);
}

int table_from_json(const struct spec_table *t, const json_t *j, void *item, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n_rows; i++)
		r = read_field(&t->rows[i], j, item, err);
	return r;
}

int spec_from_json(const json_t *j, struct sandbox_spec **ret, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	int r = table_from_json(&spec_table, j, s, err);

	if (r == 0)
		r = spec_check(s, err);
	if (r < 0)
		return r;
	*ret = take_ptr(s);
	return 0;
}
