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

/* One member that a source gives replaces what a weaker one gave. */
static int take(struct merge *m, const struct config_file *f, enum key_id id, int field,
		const char *(*check)(const char *s), const char *text, char **at)
{
	size_t n;
	const struct key_field *fields = key_fields(keys[id].type, &n);
	cleanup_free char *name = xasprintf("%s.%s", keys[id].name, fields[field].name);
	int r;

	if (!text)
		return 0;
	r = merge_check(m, f, mark_id(id, 0, field, MARK_NONE), check, text, name);
	if (r < 0)
		return r;
	free(*at);
	*at = merge_home_path(m, text);
	return 0;
}

int merge_provider(struct merge *m, const struct config_file *f, enum key_id id)
{
	const struct raw_provider *raw = f->values[id].items;
	struct config_provider *p = key_at(m->c, id);
	int r = take(m, f, id, PROVIDER_ORIGIN, check_origin, raw->origin, &p->origin);

	if (r == 0)
		r = take(m, f, id, PROVIDER_CA_FILE, check_mount_path, raw->ca_file, &p->ca_file);
	if (r == 0)
		r = take(m, f, id, PROVIDER_TOKEN_URL, check_token_url, raw->token_url,
			 &p->token_url);
	if (r == 0)
		merge_origin(m, f, id, MARK_NONE, 0);
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

int merge_credential(struct merge *m, const struct config_file *f, int item)
{
	const struct raw_credential *raw =
		&((const struct raw_credential *)f->values[KEY_CREDENTIALS].items)[item];
	const struct {
		int field;
		const char *text, *key;
		const char *(*check)(const char *s);
	} members[] = {
		{CREDENTIAL_NAME, raw->name, "credentials.name", check_credential},
		{CREDENTIAL_WAY, raw->way, "credentials.way", check_way},
		{CREDENTIAL_SOURCE, raw->source, "credentials.source", check_source},
	};
	struct config *c = m->c;
	size_t i = 0;

	for (size_t k = 0; k < ARRAY_SIZE(members); k++) {
		uint64_t mark = mark_id(KEY_CREDENTIALS, item, members[k].field, MARK_NONE);
		int r = members[k].text ? merge_check(m, f, mark, members[k].check, members[k].text,
						      members[k].key)
					: 0;

		if (r < 0)
			return r;
	}
	while (i < c->n_credentials && !streq(c->credentials[i].name, raw->name))
		i++;
	if (i == c->n_credentials)
		c->credentials =
			xrealloc(c->credentials, ++c->n_credentials, sizeof(*c->credentials));
	else
		config_credential_done(&c->credentials[i]);
	c->credentials[i] = (struct config_credential){
		.name = xstrdup(raw->name),
		.way = raw->way ? xstrdup(raw->way) : NULL,
		.source = raw->source ? expand_source(m, raw->source) : NULL,
	};
	merge_origin(m, f, KEY_CREDENTIALS, item, i);
	return 0;
}
