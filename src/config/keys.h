#pragma once

#include "config/config.h"

/*
 * The table of keys, in key-table.h: one row per key, everything else is derived from it: the shape
 * of a file, the RALPH_* names, the parsing of flags, defaults, `ralph config show`, and the test
 * that holds ralph-config(5) to it.
 */
enum key_id {
#define KEY(id, ...) id,
#include "config/key-table.h"
#undef KEY
	KEY_N
};

enum key_type {
	KEY_WORD,	/* char *; an empty one is NULL */
	KEY_CHOICE,	/* an int-sized enum, the index into key.choices */
	KEY_UINT,	/* uint64_t */
	KEY_SIZE,	/* uint64_t, bytes */
	KEY_MONEY,	/* uint64_t, millionths */
	KEY_DURATION,	/* uint64_t, milliseconds */
	KEY_PROVIDER,	/* struct config_provider: keys of its own, one below the other */
	KEY_LIST,	/* struct strv */
	KEY_MOUNT,	/* struct config_mount *, size_t behind it */
	KEY_RULE,	/* struct net_rule *, size_t behind it */
	KEY_CREDENTIAL, /* struct config_credential *, size_t behind it */
	KEY_PLACE,	/* struct config_place *, size_t behind it; entries are named */
};

/* The values that a project file may give a key while the user has not trusted the file. */
enum key_project {
	PROJECT_LOWER,	/* a number or tier not above the user's */
	PROJECT_LOWER0, /* the same where 0 means "no limit", the largest of all */
	PROJECT_SAME,	/* nothing the user has not said already */
	PROJECT_AUTO,	/* a choice of its own only while the user left it at "auto" */
	PROJECT_FEWER,	/* network.provider_tools: none, or some of what the user allows */
	PROJECT_NEW,	/* env.set: names the user does not set */
	PROJECT_ANY,	/* every value tightens */
	PROJECT_NEVER,	/* none, not even one that the user trusts: what the user is shown */
};

struct key {
	const char *name; /* "limits.memory" */
	enum key_type type;
	enum key_project project;
	size_t offset; /* in struct config */
	const char *def;
	const char *option; /* the flag of the command line that sets it */
	const char *const *choices;
	uint64_t min, max;     /* of numbers */
	const char *zero_word; /* how 0 is written, where a bare 0 would be too easily typed */
	const char *unit;      /* may be written behind a number: "%" */
	bool zero; /* 0 is allowed although it is below min: it means "automatic" or "none" */
	/* NULL: anything goes. Returns what is wrong with the text, with the remedy, or NULL. */
	const char *(*check)(const char *s);
	bool joined; /* a word that may be written as a list: its entries, with commas */
	const char *help;
	const char *was; /* its name in the last release, which still works, with a notice */
};

extern const struct key keys[KEY_N];
#define KEY_ENV_MAX sizeof(((struct config_key *)0)->env)

/* The members of one entry of a list, in the order of their enum. */
struct key_field {
	const char *name;
	bool list, required;
};

extern const struct key_field mount_fields[], rule_fields[], provider_fields[], credential_fields[],
	place_fields[];
#define MOUNT_FIELDS_N 3
#define RULE_FIELDS_N 5
#define PROVIDER_FIELDS_N 3
#define CREDENTIAL_FIELDS_N 3
#define PLACE_FIELDS_N 7
#define FIELDS_MAX 7 /* of any of them */

enum mount_field { MOUNT_PATH, MOUNT_MODE, MOUNT_TARGET };
enum rule_field { RULE_HOST, RULE_METHODS, RULE_PATHS, RULE_GIT, RULE_CREDENTIAL };
enum provider_field { PROVIDER_ORIGIN, PROVIDER_CA_FILE, PROVIDER_TOKEN_URL };
enum credential_field { CREDENTIAL_NAME, CREDENTIAL_WAY, CREDENTIAL_SOURCE };
enum place_field {
	PLACE_COMMAND,
	PLACE_REAP,
	PLACE_HOSTS,
	PLACE_PASS,
	PLACE_EGRESS,
	PLACE_DIAL,
	PLACE_SLOTS
};

const struct key_field *key_fields(enum key_type type, size_t *ret_n);

static inline bool key_is_list(enum key_id id)
{
	return keys[id].type >= KEY_LIST;
}

static inline bool key_is_number(enum key_id id)
{
	return keys[id].type >= KEY_UINT && keys[id].type <= KEY_DURATION;
}

static inline void *key_at(const struct config *c, enum key_id id)
{
	return (char *)c + keys[id].offset;
}

/* The length of "limits" in "limits.memory"; 0 for a name without a section. */
size_t key_name_section(const char *name);
size_t key_section(const struct key *k);
const char *key_leaf(const struct key *k);
/* KEY_N when there is none. */
enum key_id key_find(const char *name, size_t len);
/* Finds a key by its name in the last release, rows[id].was; KEY_N when there is none. */
enum key_id key_find_was(const struct key *rows, const char *name, size_t len);
/* The notice about it, for the old and the new name. */
#define KEY_RENAMED "'%s' is now '%s'; the old name works until the next release"
/* "RALPH_LIMITS_MEMORY" for "limits.memory". */
void key_env_name(const char *name, char ret[KEY_ENV_MAX]);
/*
 * "; did you mean 'x'?" for an unknown word in a section ("" for the top), or what else helps;
 * within buf.
 */
const char *key_hint(const char *section, size_t section_len, const char *word, char *buf,
		     size_t size);

/* Parses text into its place in c. On failure the error says what is wrong, without the place. */
int key_set_scalar(struct config *c, enum key_id id, const char *text, struct err *err);

/* Checks of single values (config-check.c); each returns what is wrong and the remedy, or NULL. */
const char *check_agent(const char *s);
const char *check_model(const char *s);
const char *check_fallback(const char *s);
const char *check_image(const char *s);
const char *check_reviewer(const char *s);
const char *check_model(const char *s);
const char *check_profile(const char *s);
const char *check_env_name(const char *s);
const char *check_env_entry(const char *s);
const char *check_refuse(const char *s);
const char *check_identity(const char *s);
const char *check_pattern(const char *s);
const char *check_inbox(const char *s);
const char *check_mask(const char *s);
const char *check_may_change(const char *s);
const char *check_program(const char *s);
const char *check_mount_path(const char *s);
const char *check_mount_target(const char *s);
const char *check_method(const char *s);
const char *check_url_path(const char *s);
const char *check_git(const char *s);
const char *check_credential(const char *s);
const char *check_origin(const char *s);
const char *check_token_url(const char *s);
const char *check_way(const char *s);
const char *check_source(const char *s);
const char *check_price(const char *s);
#define PROVIDER_TOOL_MAX 63 /* of a name */
const char *check_provider_tools(const char *s);
const char *check_command(const char *s);
const char *check_place(const char *s);
const char *check_place_word(const char *s);
const char *check_place_host(const char *s);
const char *check_place_slots(const char *s);
const char *check_egress(const char *s);
const char *check_dial(const char *s);
const char *check_notify(const char *s);
