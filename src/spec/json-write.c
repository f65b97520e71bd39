#include "spec/fields.h"

static json_t *list_to_json(const struct spec_field *f, const void *item)
{
	json_t *a = json_array();

	for (size_t i = 0; i < *field_count(f, item); i++)
		(void)json_array_append_new(a, table_to_json(f->of, field_item(f, item, i)));
	return a;
}

static bool is_left_out(const struct spec_field *f, const void *item)
{
	const void *at = field_at(f, item);

	switch (f->kind) {
	case FIELD_STR:
		return !field_str(f, item);
	case FIELD_STRV:
		return ((const struct strv *)at)->n == 0;
	case FIELD_BOOL:
	case FIELD_UINT:
		return f->optional && field_number(f, item) == 0;
	case FIELD_SECTION:
		return f->optional && !field_str(&f->of->rows[0], at);
	case FIELD_WORD:
	case FIELD_LIST:
	case FIELD_CUSTOM:
		break;
	}
	return false;
}

static json_t *field_to_json(const struct spec_field *f, const void *item)
{
	switch (f->kind) {
	case FIELD_STR:
		return json_text(f->shown_as ? f->shown_as(item) : field_str(f, item));
	case FIELD_STRV:
		return json_strv(field_at(f, item));
	case FIELD_BOOL:
		return json_boolean(field_number(f, item));
	case FIELD_UINT:
		return json_integer((json_int_t)field_number(f, item));
	case FIELD_WORD:
		return json_string(f->words[field_number(f, item)]);
	case FIELD_SECTION:
		return table_to_json(f->of, field_at(f, item));
	case FIELD_LIST:
		return list_to_json(f, item);
	case FIELD_CUSTOM:
		return f->write(field_at(f, item));
	}
	return NULL;
}

/* jansson keeps the order of insertion. */
json_t *table_to_json(const struct spec_table *t, const void *item)
{
	json_t *j = json_object();

	for (const struct spec_field *f = t->rows; f < t->rows + t->n_rows; f++)
		if (!is_left_out(f, item))
			(void)json_object_set_new_nocheck(j, f->key, field_to_json(f, item));
	return j;
}

json_t *spec_to_json(const struct sandbox_spec *s)
{
	return table_to_json(&spec_table, s);
}

json_t *spec_credentials_to_json(const struct sandbox_spec *s)
{
	return table_to_json(&spec_credentials_table, s);
}
