#include "config/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/text/suggest.h"

/* clang-format off */
static const char *const engines[] = {
	"auto",
#define ENGINE(symbol, name) name,
#include "config/engines.def"
#undef ENGINE
	NULL,
};
/* clang-format on */
static const char *const submodules[] = {"refuse", "take", NULL};
static const char *const quarantines[] = {
	[QUARANTINE_ALL] = "all",   [QUARANTINE_ASK] = "ask", [QUARANTINE_GIT] = "git",
	[QUARANTINE_NONE] = "none", [QUARANTINE_N] = NULL,
};
static const char *const audits[] = {
	[AUDIT_CHANGES] = "changes",
	[AUDIT_FULL] = "full",
	[AUDIT_OFF] = "off",
	[AUDIT_N] = NULL,
};
static const char *const clipboards[] = {"off", "write", NULL};
static const char *const off_on[] = {"off", "on", NULL};
static const char *const levels[] = {
	[LOG_ERROR] = "error", [LOG_WARN] = "warning", [LOG_INFO] = "info",
	[LOG_DEBUG] = "debug", [LOG_LEVEL_N] = NULL,
};
static const char *const formats[] = {[LOG_TEXT] = "text", [LOG_JSON] = "json", NULL};

#define AT(member) .offset = offsetof(struct config, member)
#define DAY_MS (86400ULL * 1000)

const struct key keys[KEY_N] = {
#define KEY(id, ...) [id] = {__VA_ARGS__},
#include "config/key-table.h"
#undef KEY
};

/* clang-format off */
const struct key_field mount_fields[MOUNT_FIELDS_N] = {
	[MOUNT_PATH]   = { "path", .required = true },
	[MOUNT_MODE]   = { "mode" },
	[MOUNT_TARGET] = { "target" },
};

const struct key_field rule_fields[RULE_FIELDS_N] = {
	[RULE_HOST]       = { "host", .required = true },
	[RULE_METHODS]    = { "methods", .list = true },
	[RULE_PATHS]      = { "paths", .list = true },
	[RULE_GIT]        = { "git", .list = true },
	[RULE_CREDENTIAL] = { "credential" },
};

const struct key_field provider_fields[PROVIDER_FIELDS_N] = {
	[PROVIDER_ORIGIN]    = { "origin" },
	[PROVIDER_CA_FILE]   = { "ca_file" },
	[PROVIDER_TOKEN_URL] = { "token_url" },
};

const struct key_field credential_fields[CREDENTIAL_FIELDS_N] = {
	[CREDENTIAL_NAME]   = { "name", .required = true },
	[CREDENTIAL_WAY]    = { "way" },
	[CREDENTIAL_SOURCE] = { "source" },
};

/* Entries stand below their names. */
const struct key_field place_fields[PLACE_FIELDS_N] = {
	[PLACE_COMMAND] = { "command", .list = true, .required = true },
	[PLACE_REAP]    = { "reap", .list = true },
	[PLACE_HOSTS]   = { "hosts", .list = true },
	[PLACE_PASS]    = { "pass", .list = true },
	[PLACE_EGRESS]  = { "egress" },
	[PLACE_DIAL]    = { "dial" },
	[PLACE_SLOTS]   = { "slots" },
};
/* clang-format on */

const struct key_field *key_fields(enum key_type type, size_t *ret_n)
{
	switch ((unsigned)type) {
	case KEY_MOUNT:
		*ret_n = MOUNT_FIELDS_N;
		return mount_fields;
	case KEY_RULE:
		*ret_n = RULE_FIELDS_N;
		return rule_fields;
	case KEY_PROVIDER:
		*ret_n = PROVIDER_FIELDS_N;
		return provider_fields;
	case KEY_CREDENTIAL:
		*ret_n = CREDENTIAL_FIELDS_N;
		return credential_fields;
	case KEY_PLACE:
		*ret_n = PLACE_FIELDS_N;
		return place_fields;
	default:
		*ret_n = 0;
		return NULL;
	}
}

size_t key_name_section(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

size_t key_section(const struct key *k)
{
	return key_name_section(k->name);
}

const char *key_leaf(const struct key *k)
{
	const char *dot = strchr(k->name, '.');

	return dot ? dot + 1 : k->name;
}

static bool is_name(const char *name, const char *word, size_t len)
{
	return name && strlen(name) == len && memcmp(name, word, len) == 0;
}

enum key_id key_find(const char *name, size_t len)
{
	enum key_id id = 0;

	while (id < KEY_N && !is_name(keys[id].name, name, len))
		id++;
	return id;
}

enum key_id key_find_was(const struct key *rows, const char *name, size_t len)
{
	enum key_id id = 0;

	while (id < KEY_N && !is_name(rows[id].was, name, len))
		id++;
	return id;
}

void key_env_name(const char *name, char ret[KEY_ENV_MAX])
{
	(void)snprintf(ret, KEY_ENV_MAX, "RALPH_%s", name);
	for (char *p = ret; *p; p++)
		*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
}

bool config_key(size_t i, struct config_key *ret)
{
	const struct key *k = &keys[i];

	if (i >= KEY_N)
		return false;
	*ret = (struct config_key){
		.name = k->name,
		.option = k->option,
		.help = k->help,
		.default_value = k->def						   ? k->def
				 : k->type == KEY_PROVIDER || k->type == KEY_PLACE ? "{}"
										   : "[]",
		.choices = k->choices,
		.is_list = key_is_list((enum key_id)i),
	};
	key_env_name(k->name, ret->env);
	return true;
}

const char *key_hint(const char *section, size_t section_len, const char *word, char *buf,
		     size_t size)
{
	char names[KEY_N][32];
	const char *candidates[KEY_N], *near;
	enum key_id dotted = key_find(word, strlen(word));
	size_t n = 0;

	if (dotted < KEY_N && key_section(&keys[dotted])) {
		(void)snprintf(buf, size, "; write it as '%.*s: {%s: …}'",
			       (int)key_section(&keys[dotted]), word, key_leaf(&keys[dotted]));
		return buf;
	}
	for (enum key_id id = 0; id < KEY_N; id++) {
		const struct key *k = &keys[id];
		size_t len = key_section(k);
		bool here = len == section_len && memcmp(k->name, section, len) == 0;

		/* The right word in the wrong place is the surest hint of all. */
		if (!here && streq(key_leaf(k), word)) {
			(void)snprintf(buf, size, "; did you mean '%s'?", k->name);
			return buf;
		}
		if (here)
			(void)snprintf(names[n], sizeof(names[n]), "%s", key_leaf(k));
		else if (section_len == 0)
			(void)snprintf(names[n], sizeof(names[n]), "%.*s", (int)len, k->name);
		else
			continue;
		candidates[n] = names[n];
		n++;
	}
	near = suggest(word, candidates, n);
	if (near && section_len)
		(void)snprintf(buf, size, "; did you mean '%.*s.%s'?", (int)section_len, section,
			       near);
	else if (near)
		(void)snprintf(buf, size, "; did you mean '%s'?", near);
	else
		(void)snprintf(buf, size, "; ralph-config(5) lists the keys");
	return buf;
}

static int choice_index(const struct key *k, const char *text, struct err *err)
{
	char list[128] = "";
	const char *near;
	size_t n = 0, len = 0;

	for (; k->choices[n]; n++) {
		if (streq(k->choices[n], text))
			return (int)n;
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", n ? ", " : "",
					k->choices[n]);
	}
	near = suggest(text, k->choices, n);
	if (near)
		return err_usage(err, "'%.60s' is not known; did you mean '%s'?", text, near);
	return err_usage(err, "'%.60s' is not known; use one of %s", text, list);
}

static const char *const number_kinds[] = {
	[KEY_UINT] = "a whole number; write it in base 10 without sign or leading zero",
	[KEY_SIZE] = "a size; write it like 512, 64M or 8G",
	[KEY_MONEY] = "an amount; write it like 20 or 0.5",
	[KEY_DURATION] = "a duration; write it like 90, 500ms, 5m or 2h",
};

static int set_number(uint64_t *at, const struct key *k, const char *text, struct err *err)
{
	size_t len = strlen(text), unit = k->unit ? strlen(k->unit) : 0;
	cleanup_free char *bare = NULL;
	uint64_t v = 0;
	int r;

	if (k->zero_word && streq(text, k->zero_word)) {
		*at = 0;
		return 0;
	}
	if (k->zero_word && streq(text, "0"))
		return err_usage(err, "'0' would mean no limit; write '%s' for that", k->zero_word);
	if (unit && len > unit && streq(text + len - unit, k->unit))
		bare = xstrndup(text, len - unit);
	text = bare ? bare : text;
	if (k->type == KEY_SIZE)
		r = parse_size(text, &v);
	else if (k->type == KEY_DURATION)
		r = parse_duration(text, &v);
	else if (k->type == KEY_MONEY)
		r = parse_micro(text, &v);
	else
		r = parse_uint(text, 0, UINT64_MAX, &v);
	if (r == -EINVAL)
		return err_usage(err, "'%.60s' is not %s", text, number_kinds[k->type]);
	if (r < 0 || (v > k->max))
		return err_usage(err, "'%.60s' is too large; use a smaller value", text);
	if (v < k->min && !(v == 0 && k->zero)) {
		if (k->type == KEY_SIZE)
			return err_usage(err, "'%.60s' is too small; use at least %lluM", text,
					 (unsigned long long)(k->min / MiB));
		return err_usage(err, "'%.60s' is too small; use at least %llu", text,
				 (unsigned long long)k->min);
	}
	*at = v;
	return 0;
}

int key_set_scalar(struct config *c, enum key_id id, const char *text, struct err *err)
{
	const struct key *k = &keys[id];
	void *at = key_at(c, id);
	const char *wrong;
	int index;

	if (key_is_number(id))
		return set_number(at, k, text, err);
	if (k->choices) {
		index = choice_index(k, text, err);
		if (index < 0)
			return index;
		if (k->type == KEY_CHOICE) {
			*(int *)at = index;
			return 0;
		}
	}
	wrong = k->check ? k->check(text) : NULL;
	if (wrong)
		return err_usage(err, "'%.*s' %s",
				 k->check == check_notify ? (int)strcspn(text, "/") : 60, text,
				 wrong);
	free(*(char **)at);
	*(char **)at = *text ? xstrdup(text) : NULL;
	return 0;
}
