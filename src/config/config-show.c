#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/mask.h"
#include "config/merge.h"

/* Values as a file would have them: config_load() reads back what is written here. */

#define VALUE_MAX (64 * MiB) /* far above what files within their limits can hold */

static bool is_plain(const char *s)
{
	static const char inner[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./-=+";

	if (streq(s, "null") || streq(s, "Null") || streq(s, "NULL"))
		return false;
	return s[0] && !strchr("-=+.", s[0]) && strspn(s, inner) == strlen(s);
}

static void put_text(struct buf *b, const char *s)
{
	(void)(is_plain(s) ? buf_puts(b, s) : buf_put_quoted(b, s));
}

static void put_list(struct buf *b, const struct strv *list)
{
	(void)buf_putc(b, '[');
	for (size_t i = 0; i < list->n; i++) {
		(void)buf_puts(b, i ? ", " : "");
		put_text(b, list->v[i]);
	}
	(void)buf_putc(b, ']');
}

/* A value that looks like a secret is masked, wherever it was set. */
static void put_env(struct buf *b, const struct strv *list)
{
	cleanup_strv struct strv shown = {0};

	for (size_t i = 0; i < list->n; i++) {
		const char *entry = list->v[i], *eq = strchrnul(entry, '=');
		cleanup_free char *name = xstrndup(entry, (size_t)(eq - entry)), *masked = NULL;

		if (*eq && mask_is_secret(name, eq + 1)) {
			masked = mask_text(eq + 1);
			strv_pushf(&shown, "%s=%s", name, masked);
		} else {
			strv_push(&shown, entry);
		}
	}
	put_list(b, &shown);
}

struct unit {
	const char *name;
	uint64_t factor;
};

static void put_units(struct buf *b, uint64_t v, const struct unit *units)
{
	while (units->factor > 1 && (v == 0 || v % units->factor))
		units++;
	(void)buf_printf(b, "%llu%s", (unsigned long long)(v / units->factor),
			 v ? units->name : "");
}

static void put_number(struct buf *b, const struct key *k, uint64_t v)
{
	static const struct unit sizes[] = {
		{"T", 1024 * GiB}, {"G", GiB}, {"M", MiB}, {"K", KiB}, {"", 1},
	};
	static const struct unit durations[] = {
		{"d", 86400UL * 1000},
		{"h", 3600UL * 1000},
		{"m", 60UL * 1000},
		{"s", 1000},
		{"ms", 1},
	};
	static const struct unit plain[] = {{"", 1}};

	if (v == 0 && k->zero_word) {
		put_text(b, k->zero_word);
		return;
	}
	put_units(b, v, k->type == KEY_SIZE ? sizes : k->type == KEY_DURATION ? durations : plain);
	if (k->unit)
		(void)buf_puts(b, k->unit);
}

/* Writes an amount as parse_micro() reads it. */
static void put_money(struct buf *b, uint64_t v)
{
	char part[8];
	int n = snprintf(part, sizeof(part), "%06u", (unsigned int)(v % 1000000));

	while (n > 0 && part[n - 1] == '0')
		part[--n] = '\0';
	(void)buf_printf(b, "%llu%s%s", (unsigned long long)(v / 1000000), n ? "." : "", part);
}

static void put_mounts(struct buf *b, const struct config *c)
{
	(void)buf_putc(b, '[');
	for (size_t i = 0; i < c->n_mounts; i++) {
		const struct config_mount *m = &c->mounts[i];

		(void)buf_puts(b, i ? ", {path: " : "{path: ");
		put_text(b, m->path);
		(void)buf_printf(b, ", mode: %s", m->writable ? "rw" : "ro");
		if (m->target) {
			(void)buf_puts(b, ", target: ");
			put_text(b, m->target);
		}
		(void)buf_putc(b, '}');
	}
	(void)buf_putc(b, ']');
}

static void put_rule_field(struct buf *b, const struct net_rule *r, const struct net_rule_field *f)
{
	const void *at = net_rule_at(r, f);

	if (f->kind == NET_RULE_LIST && ((const struct strv *)at)->n) {
		(void)buf_printf(b, ", %s: ", f->name);
		put_list(b, at);
	} else if (f->kind == NET_RULE_NAME && *(char *const *)at) {
		(void)buf_printf(b, ", %s: ", f->name);
		put_text(b, *(char *const *)at);
	}
}

static void put_rules(struct buf *b, const struct config *c)
{
	(void)buf_putc(b, '[');
	for (size_t i = 0; i < c->network.n_rules; i++) {
		const struct net_rule *r = &c->network.rules[i];

		(void)buf_puts(b, i ? ", {host: " : "{host: ");
		put_text(b, r->pattern);
		for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
			put_rule_field(b, r, f);
		(void)buf_putc(b, '}');
	}
	(void)buf_putc(b, ']');
}

static void put_member(struct buf *b, bool *first, const char *name, const char *value)
{
	if (!value)
		return;
	(void)buf_printf(b, "%s%s: ", *first ? "" : ", ", name);
	put_text(b, value);
	*first = false;
}

static void put_provider(struct buf *b, const struct config_provider *p)
{
	bool first = true;

	(void)buf_putc(b, '{');
	put_member(b, &first, "origin", p->origin);
	put_member(b, &first, "ca_file", p->ca_file);
	put_member(b, &first, "token_url", p->token_url);
	(void)buf_putc(b, '}');
}

static void put_credentials(struct buf *b, const struct config *c)
{
	(void)buf_putc(b, '[');
	for (size_t i = 0; i < c->n_credentials; i++) {
		bool first = true;

		(void)buf_puts(b, i ? ", {" : "{");
		put_member(b, &first, "name", c->credentials[i].name);
		put_member(b, &first, "way", c->credentials[i].way);
		put_member(b, &first, "source", c->credentials[i].source);
		(void)buf_putc(b, '}');
	}
	(void)buf_putc(b, ']');
}

static void put_place_list(struct buf *b, const char *name, const struct strv *list)
{
	if (!list->n)
		return;
	(void)buf_printf(b, ", %s: ", name);
	put_list(b, list);
}

static void put_places(struct buf *b, const struct config *c)
{
	bool more = false; /* the command is there already */

	(void)buf_putc(b, '{');
	for (size_t i = 0; i < c->fleet.n_places; i++) {
		const struct config_place *p = &c->fleet.places[i];

		(void)buf_puts(b, i ? ", " : "");
		put_text(b, p->name);
		(void)buf_puts(b, ": {command: ");
		put_list(b, &p->command);
		put_place_list(b, "reap", &p->reap);
		put_place_list(b, "hosts", &p->hosts);
		put_place_list(b, "pass", &p->pass);
		put_member(b, &more, "egress", p->egress);
		put_member(b, &more, "dial", p->dial);
		if (p->slots)
			(void)buf_printf(b, ", slots: %llu", (unsigned long long)p->slots);
		(void)buf_putc(b, '}');
	}
	(void)buf_putc(b, '}');
}

static char *value_text(const struct config *c, enum key_id id)
{
	const struct key *k = &keys[id];
	const void *at = key_at(c, id);
	const char *word;
	struct buf b;

	buf_init(&b, VALUE_MAX);
	switch (k->type) {
	case KEY_WORD:
		word = *(char *const *)at;
		put_text(&b, word ? word : "");
		break;
	case KEY_CHOICE:
		put_text(&b, k->choices[*(const int *)at]);
		break;
	case KEY_UINT:
	case KEY_SIZE:
	case KEY_DURATION:
		put_number(&b, k, *(const uint64_t *)at);
		break;
	case KEY_MONEY:
		put_money(&b, *(const uint64_t *)at);
		break;
	case KEY_LIST:
		(id == KEY_ENV_SET ? put_env : put_list)(&b, at);
		break;
	case KEY_MOUNT:
		put_mounts(&b, c);
		break;
	case KEY_RULE:
		put_rules(&b, c);
		break;
	case KEY_PROVIDER:
		put_provider(&b, at);
		break;
	case KEY_CREDENTIAL:
		put_credentials(&b, c);
		break;
	case KEY_PLACE:
		put_places(&b, c);
		break;
	}
	return buf_take(&b);
}

static const char *origin(const struct config *c, enum key_id id)
{
	return c->origins->key[id] ? c->origins->key[id] : "default";
}

const char *config_origin(const struct config *c, const char *key)
{
	enum key_id id = key_find(key, strlen(key));

	return id < KEY_N ? origin(c, id) : NULL;
}

const char *config_item_origin(const struct config *c, const char *key, size_t i)
{
	enum key_id id = key_find(key, strlen(key));

	return id < KEY_N && i < c->origins->items[id].n ? c->origins->items[id].v[i] : NULL;
}

int config_entries(const struct config *c, struct config_entry **ret, size_t *ret_n)
{
	struct config_entry *e = xcalloc(KEY_N, sizeof(*e));

	for (enum key_id id = 0; id < KEY_N; id++)
		e[id] = (struct config_entry){
			.key = keys[id].name,
			.value = value_text(c, id),
			.origin = origin(c, id),
			.help = keys[id].help,
		};
	*ret = e;
	*ret_n = KEY_N;
	return 0;
}

void config_entries_free(struct config_entry *e, size_t n)
{
	for (size_t i = 0; e && i < n; i++)
		free(e[i].value);
	free(e);
}
