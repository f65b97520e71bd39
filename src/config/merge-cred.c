#include "config/merge.h"

#include <string.h>

void config_provider_done(struct config_provider *p)
{
	free(p->origin);
	free(p->ca_file);
	free(p->token_url);
	*p = (struct config_provider){0};
}

void config_credential_done(struct config_credential *c)
{
	free(c->name);
	free(c->way);
	free(c->source);
	*c = (struct config_credential){0};
}

/* A member that a source gives replaces the value of a weaker source. */
static int take(struct merge *m, const struct config_file *f, enum key_id id,
		enum provider_field field, const char *(*check)(const char *s), char **at)
{
	const struct scan_value *v = &f->values[id].v[field];
	struct merge_place place = merge_in_file(f, v);
	cleanup_free char *name = xasprintf("%s.%s", keys[id].name, provider_fields[field].name);
	int r;

	if (!v->text)
		return 0;
	r = merge_check(m, check, v->text, &place, name);
	if (r < 0)
		return r;
	free(*at);
	*at = merge_home_path(m, v->text);
	return 0;
}

int merge_provider(struct merge *m, const struct config_file *f, enum key_id id)
{
	struct merge_place at = merge_in_file(f, &f->values[id]);
	struct config_provider *p = key_at(m->c, id);
	int r = take(m, f, id, PROVIDER_ORIGIN, check_origin, &p->origin);

	if (r == 0)
		r = take(m, f, id, PROVIDER_CA_FILE, check_mount_path, &p->ca_file);
	if (r == 0)
		r = take(m, f, id, PROVIDER_TOKEN_URL, check_token_url, &p->token_url);
	if (r == 0)
		merge_origin(m, id, &at);
	return r;
}

/* "file:~/x" as "file:/home/x". */
static char *expand_source(const struct merge *m, const char *source)
{
	static const char file[] = "file:";
	cleanup_free char *path = NULL;

	if (strncmp(source, file, sizeof(file) - 1) != 0)
		return xstrdup(source);
	path = merge_home_path(m, source + sizeof(file) - 1);
	return xasprintf("%s%s", file, path);
}

int merge_credential(struct merge *m, const struct config_file *f, const struct scan_value *entry)
{
	static const struct {
		const char *key;
		const char *(*check)(const char *s);
	} members[CREDENTIAL_FIELDS_N] = {
		[CREDENTIAL_NAME] = {"credentials.name", check_credential},
		[CREDENTIAL_WAY] = {"credentials.way", check_way},
		[CREDENTIAL_SOURCE] = {"credentials.source", check_source},
	};
	const char *name = entry->v[CREDENTIAL_NAME].text, *way = entry->v[CREDENTIAL_WAY].text;
	const char *source = entry->v[CREDENTIAL_SOURCE].text;
	struct merge_place at;
	struct config *c = m->c;
	size_t i = 0;

	for (size_t k = 0; k < CREDENTIAL_FIELDS_N; k++) {
		const char *text = entry->v[k].text;
		int r;

		at = merge_in_file(f, &entry->v[k]);
		r = text ? merge_check(m, members[k].check, text, &at, members[k].key) : 0;
		if (r < 0)
			return r;
	}
	while (i < c->n_credentials && !streq(c->credentials[i].name, name))
		i++;
	if (i == c->n_credentials)
		c->credentials =
			xrealloc(c->credentials, ++c->n_credentials, sizeof(*c->credentials));
	else
		config_credential_done(&c->credentials[i]);
	c->credentials[i] = (struct config_credential){
		.name = xstrdup(name),
		.way = way ? xstrdup(way) : NULL,
		.source = source ? expand_source(m, source) : NULL,
	};
	at = merge_in_file(f, entry);
	merge_item_origin(m, KEY_CREDENTIALS, i, &at);
	return 0;
}
