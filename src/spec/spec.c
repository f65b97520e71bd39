#include "spec/spec.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "policy/protect.h"
#include "spec/fields.h"

struct sandbox_spec *spec_new(void)
{
	return xcalloc(1, sizeof(struct sandbox_spec));
}

uint64_t field_number(const struct spec_field *f, const void *item)
{
	const void *at = field_at(f, item);

	if (f->size == sizeof(uint8_t))
		return *(const uint8_t *)at;
	if (f->size == sizeof(uint16_t))
		return *(const uint16_t *)at;
	if (f->size == sizeof(uint32_t))
		return *(const uint32_t *)at;
	return *(const uint64_t *)at;
}

void *field_items(const struct spec_field *f, const void *item)
{
	void *items = field_at(f, item);

	if (!f->n)
		memcpy(&items, field_at(f, item), sizeof(items));
	return items;
}

void field_set_items(const struct spec_field *f, void *item, void *items)
{
	memcpy(field_at(f, item), &items, sizeof(items));
}

static void list_done(const struct spec_field *f, void *item)
{
	for (size_t i = 0; i < *field_count(f, item); i++)
		table_done(f->of, field_item(f, item, i));
	if (!f->n)
		free(field_items(f, item));
}

void table_done(const struct spec_table *t, void *item)
{
	for (const struct spec_field *f = t->rows; f < t->rows + t->n_rows; f++) {
		void *at = field_at(f, item);

		if (f->kind == FIELD_STR)
			free(*(char **)at);
		else if (f->kind == FIELD_STRV)
			strv_done(at);
		else if (f->kind == FIELD_SECTION)
			table_done(f->of, at);
		else if (f->kind == FIELD_LIST)
			list_done(f, item);
		else if (f->done)
			f->done(at);
	}
}

struct sandbox_spec *spec_free(struct sandbox_spec *s)
{
	if (s)
		table_done(&spec_table, s);
	free(s);
	return NULL;
}

void spec_mount_done(struct spec_mount *m)
{
	table_done(&spec_mount_table, m);
}

static int table_check(const struct spec_table *t, const void *item,
		       const struct sandbox_spec *whole, struct err *err)
{
	int r = 0;

	for (const struct spec_field *f = t->rows; r == 0 && f < t->rows + t->n_rows; f++) {
		size_t n = f->kind == FIELD_LIST ? *field_count(f, item) : 0;

		if (f->kind == FIELD_SECTION)
			r = table_check(f->of, field_at(f, item), whole, err);
		else if (f->check && (!f->optional || field_str(f, item)))
			r = f->check(f->key, field_str(f, item), err);
		for (size_t i = 0; r == 0 && i < n; i++)
			r = table_check(f->of, field_item(f, item, i), whole, err);
	}
	return r == 0 && t->check ? t->check(item, whole, err) : r;
}

int spec_check(const struct sandbox_spec *s, struct err *err)
{
	return table_check(&spec_table, s, s, err);
}

bool spec_git_covers(const struct sandbox_spec *s, const char *path)
{
	return s->git.covers && path_under(path, s->git.covers);
}

const struct spec_env *spec_env_find(const struct sandbox_spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_env; i++)
		if (streq(s->env[i].name, name))
			return &s->env[i];
	return NULL;
}

void spec_env_set(struct sandbox_spec *s, const char *name, const char *value,
		  enum spec_origin origin, const char *source)
{
	struct spec_env *e = (struct spec_env *)spec_env_find(s, name);

	if (e) {
		table_done(&spec_env_table, e);
	} else {
		s->env = xrealloc(s->env, s->n_env + 1, sizeof(*e));
		e = &s->env[s->n_env++];
	}
	*e = (struct spec_env){
		.name = xstrdup(name),
		.value = xstrdup(value),
		.origin = origin,
		.source = xstrdup_or_null(source),
	};
}

struct spec_mount *spec_mount_add(struct sandbox_spec *s, enum spec_mount_kind kind,
				  const char *source, const char *target, const char *reason)
{
	struct spec_mount *m;

	s->mounts = xrealloc(s->mounts, s->n_mounts + 1, sizeof(*m));
	m = &s->mounts[s->n_mounts++];
	*m = (struct spec_mount){
		.kind = kind,
		.source = xstrdup_or_null(source),
		.target = xstrdup(target),
		.reason = xstrdup(reason),
	};
	return m;
}

void spec_watch_add(struct sandbox_spec *s, enum spec_watch_kind kind, const char *dir)
{
	s->watches = xrealloc(s->watches, s->n_watches + 1, sizeof(*s->watches));
	s->watches[s->n_watches++] = (struct spec_watch){.kind = kind, .dir = xstrdup(dir)};
}

struct spec_credential *spec_credential_add(struct sandbox_spec *s, const char *name,
					    const char *provider)
{
	struct spec_credential *c;

	s->credentials = xrealloc(s->credentials, s->n_credentials + 1, sizeof(*c));
	c = &s->credentials[s->n_credentials++];
	*c = (struct spec_credential){.name = xstrdup(name), .provider = xstrdup(provider)};
	strv_init(&c->requests);
	strv_init(&c->options);
	return c;
}

const struct spec_credential *spec_credential_find(const struct sandbox_spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_credentials; i++)
		if (streq(s->credentials[i].name, name))
			return &s->credentials[i];
	return NULL;
}

void spec_env_phantom(struct sandbox_spec *s, const char *name, const char *value,
		      const char *credential)
{
	spec_env_set(s, name, value, SPEC_SET, "ralph");
	((struct spec_env *)spec_env_find(s, name))->credential = xstrdup(credential);
}

void spec_environ(const struct sandbox_spec *s, struct strv *out)
{
	for (size_t i = 0; i < s->n_env; i++)
		if (!s->env[i].credential)
			strv_pushf(out, "%s=%s", s->env[i].name, s->env[i].value);
}

void spec_values(const struct sandbox_spec *s, struct strv *out)
{
	for (size_t i = 0; i < s->n_env; i++)
		if (s->env[i].origin != SPEC_SET)
			strv_pushf(out, "%s=%s", s->env[i].name, s->env[i].value);
}

int spec_take_values(struct sandbox_spec *s, const struct strv *values, struct err *err)
{
	for (size_t i = 0; i < s->n_env; i++) {
		struct spec_env *e = &s->env[i];
		const char *value =
			e->origin == SPEC_SET ? e->value : strv_env_get(values, e->name);

		if (!value)
			return err_set(err, EPROTO, "the value of %s is missing", e->name);
		if (value != e->value) {
			free(e->value);
			e->value = xstrdup(value);
		}
	}
	return 0;
}

const char *spec_origin_mark(enum spec_origin o)
{
	static const char *const marks[] = {
		[SPEC_SET] = "[~]",
		[SPEC_PASSED] = "[>]",
		[SPEC_USER] = "[+]",
	};
	static_assert(ARRAY_SIZE(marks) == SPEC_ORIGIN_N, "one mark per origin");

	return marks[o];
}

char *spec_tools_text(const struct sandbox_spec *s)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64 * KiB);
	for (size_t i = 0; i < s->provider_tools.n; i++)
		(void)buf_printf(&b, "%s%s", i ? ", " : "", s->provider_tools.v[i]);
	return xstrdup(b.len ? buf_str(&b) : "none");
}

char *spec_agents_text(const struct sandbox_spec *s)
{
	cleanup_buf struct buf b;

	buf_init(&b, KiB);
	for (size_t i = 0; i < s->agents.n; i++)
		(void)buf_printf(&b, "%s%s", i ? ", " : "", s->agents.v[i]);
	return xstrdup(b.len ? buf_str(&b) : s->agent);
}

bool spec_may_change_below(const struct sandbox_spec *s, const char *dir)
{
	size_t n = strlen(s->workspace);

	return s->may_change.n && path_under(dir, s->workspace) && dir[n] == '/' &&
	       protect_may_change_below(dir + n + 1, s->may_change.v, s->may_change.n);
}

bool spec_may_change(const struct sandbox_spec *s, const char *path)
{
	size_t n = strlen(s->workspace);

	return s->may_change.n && path_under(path, s->workspace) && path[n] == '/' &&
	       protect_may_change(path + n + 1, s->may_change.v, s->may_change.n);
}
