#pragma once

/*
 * ROOM: config
 *
 * Settings: YAML in, struct config out, with the place of each value. Nothing here looks at the
 * machine or acts on a setting.
 */

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/strv.h"
#include "policy/rule.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The user's settings: every key has one row in the table of keys.c (name, type, place in struct
 * config, default, check, one line of help), and from that row come the YAML schema, the RALPH_*
 * variable, `ralph config show`, and the key list of ralph-config(5).
 *
 * Sources, strongest first: flag, RALPH_* environment, project file, profile, user file, default.
 */
/* The strictest first, so that a project file can only become stricter. */
enum config_quarantine {
	QUARANTINE_ALL,
	QUARANTINE_ASK,
	QUARANTINE_GIT,
	QUARANTINE_NONE,
	QUARANTINE_N
};
/* What is shown before an interactive start: cli/show/audit.h. */
enum config_audit { AUDIT_CHANGES, AUDIT_FULL, AUDIT_OFF, AUDIT_N };
#define CONFIG_FILE_MAX (256 * KiB)

struct config_mount {
	char *path;   /* on the host; absolute after loading, ~ expanded */
	char *target; /* inside; NULL: the same path */
	bool writable;
};

/* The address of a provider in place of its public one: a company's gateway. */
struct config_provider {
	char *origin;	 /* https://HOST[:PORT][/PATH] */
	char *ca_file;	 /* CA certificates to trust for this origin only */
	char *token_url; /* URL that renews its logins */
};

/* Kinds of loop.notify, before the text of each; any other text is a command for the end alone. */
#define NOTIFY_COMMAND "command:"
#define NOTIFY_WEBHOOK "webhook:"
#define NOTIFY_DESKTOP "desktop:"

/* The user's settings for one credential. */
struct config_credential {
	char *name;   /* of a service ("anthropic"), or a name of the user's own */
	char *way;    /* "phantom", "mount", "pipe", "env", "off"; NULL: phantom */
	char *source; /* "env:NAME", "file:PATH", "command:LINE"; NULL: as the service has it */
};

/*
 * A placement: a command that gives a byte stream to `ralph worker` on some machine. Its words may have
 * {loop}, {task}, {name} and {host}.
 */
struct config_place {
	char *name;
	struct strv command;
	struct strv reap;  /* ends what is left of a killed loop's workers; empty: nothing does */
	struct strv hosts; /* values of {host}, in turn */
	struct strv pass;  /* as fleet.pass, for this one */
	char *egress;	   /* "node": it dials itself; NULL: node */
	char *dial;	   /* "home" or "relay": where keys that never end are used; NULL: home */
	uint64_t slots;	   /* tasks of one command; 0: one */
};

struct config {
	char *agent;   /* "command", "claude", … */
	char *engine;  /* "auto", "native", … */
	char *profile; /* NULL: none */
	struct {
		char *base; /* value for ARG BASE of a Dockerfile; NULL: the Dockerfile's own */
		char *name; /* of a container's image; NULL: ralph's own */
	} image;
	struct {
		struct strv set;    /* NAME=VALUE */
		struct strv pass;   /* names taken from the host's environment */
		struct strv refuse; /* patterns of names and values that are not taken */
	} env;
	struct strv identity; /* patterns of e-mail addresses: whose logins; empty: anyone's */
	struct config_mount *mounts;
	size_t n_mounts;
	struct strv packages; /* programs that must be found inside */
	struct {
		struct strv mask; /* patterns of names that cannot be read inside */
		enum config_quarantine quarantine;
	} workspace;
	struct {
		enum policy_tier tier;
		struct strv allow, deny;
		struct net_rule *rules; /* inspected hosts; their patterns are as in allow */
		size_t n_rules;
		char *provider_tools;  /* "agent", "all", "none", or names with commas */
		uint64_t keepalive_ms; /* of silence before a tunnel is probed; 0: never */
	} network;
	struct {
		uint64_t memory;     /* bytes; 0: a share of the machine's memory */
		uint64_t pids;	     /* processes and threads */
		uint64_t cpu;	     /* percent of one core; 0: all cores */
		uint64_t tmp;	     /* bytes of each tmpfs */
		uint64_t open_files; /* RLIMIT_NOFILE */
		uint64_t timeout_ms; /* wall clock of a command; 0: none */
	} limits;
	struct {
		uint64_t micro_usd, tokens; /* 0: no limit */
	} budget;
	struct {
		uint64_t max_iterations; /* 0: no limit */
		uint64_t micro_usd, duration_ms, outage_ms, iteration_micro_usd, iteration_ms,
			idle_ms;
		uint64_t max_stuck, max_attempts, grace_ms, verify_ms;
		int submodules;		/* 1: an agent's commits may move a submodule */
		uint64_t reserve;	/* percent of the provider's weekly limit */
		struct strv verify;	/* commands for sh -c, inside */
		struct strv setup;	/* likewise, to prepare a sandbox */
		struct strv may_change; /* protected paths whose change counts */
		char *model;		/* of the agent; NULL: its own choice */
		char *fallback;		/* other agents, with commas between; NULL: none */
		uint64_t fallback_ms;
		char *notify;	     /* kind and its text, see NOTIFY_COMMAND; NULL: none */
		char *review;	     /* the agent that reviews; NULL: none */
		char *review_model;  /* its model; NULL: its own choice */
		uint64_t review_cap; /* how often it may ask for changes to a task */
	} loop;
	struct {
		char *place; /* name of a placement; NULL: this machine */
		uint64_t lease_ms;
		struct strv pass;
		struct config_place *places;
		size_t n_places;
	} fleet;
	struct strv prices; /* MODEL=INPUT/OUTPUT[/READ/WRITE] */
	struct {
		char *dir; /* directory for saved conversations, or "off"; NULL: ralph's own */
		uint64_t every_ms; /* while a sandbox runs; 0: only at its end */
	} inbox;
	struct {
		int shared; /* 1: ports are published on 127.0.0.1 too */
	} ports;
	struct {
#define ENDPOINT(x, title) struct config_provider x;
#include "config/providers.def"
	} providers;
	struct config_credential *credentials;
	size_t n_credentials;
	enum config_audit audit;
	struct {
		int clipboard; /* 1: programs inside may write the user's clipboard */
		int notify;    /* 1: they may show notifications and progress */
	} terminal;
	struct {
		enum log_level level;
		enum log_format format;
	} log;
	struct config_origins *origins; /* the source of each key's value */
	struct strv notices;		/* for the user: a line per name that was renamed */
};

/* Returns the settings of a service; NULL when there is no such service. */
const struct config_provider *config_provider(const struct config *c, const char *service);
/* Returns the strongest setting for a credential; NULL when there is none. */
const struct config_credential *config_credential(const struct config *c, const char *name);

/* Returns the strongest placement of that name; NULL when there is none. */
const struct config_place *config_place(const struct config *c, const char *name);

struct config *config_new(void); /* all defaults */
struct config *config_free(struct config *c);

static inline void config_freep(struct config **c)
{
	(void)config_free(*c);
}

/*
 * The sources to read. NULL paths are skipped; a file that is named but absent is skipped as well.
 *
 * Scalars: the strongest source wins. Lists (env.set, env.pass, env.refuse, identity, mounts,
 * packages, network.allow, .deny, .rules): every source appends to the weaker ones, in the order
 * user file, profile, project file, environment, flags. An entry that is there already is not
 * repeated; an env.set of the same name and a mount on the same target replace the weaker one.
 */
struct config_sources {
	const char *user_file;	  /* $XDG_CONFIG_HOME/ralph/config.yaml */
	const char *profile_dir;  /* $XDG_CONFIG_HOME/ralph/profiles */
	const char *shipped_dir;  /* profiles that come with ralph; searched after profile_dir */
	const char *project_file; /* <project>/.ralph/config.yaml; no symbolic link is followed */
	/*
	 * The project file's content when the caller has read it already, to compare it with what
	 * the user trusted: what was compared is what is loaded. project_file then only names it.
	 */
	const char *project_text;
	size_t project_len;
	/* The user trusts exactly this content: a project file may widen as well. */
	bool trusted;
	/* The value of limits.memory 0 on this machine, for judging a project's own limit. 0: not
	 * known; then a project file may not set limits.memory. */
	uint64_t memory_share;
	char *const *environ; /* RALPH_* is taken from here */
	/*
	 * "limits.memory=4G": what options of the command line said. Lists: one entry each; mounts
	 * as PATH[:TARGET][:ro|rw]. (RALPH_* lists are split at commas; an empty one is not set.)
	 */
	const struct strv *flags;
	const char *home; /* for ~ in paths */
	/* The table of keys with other old names, for tests; NULL: the table of this release. */
	const struct key *renamed;
};

/* Merges all sources by precedence. Errors carry file:line:column, the key, the remedy; exit 2. */
int config_load(const struct config_sources *src, struct config **ret, struct err *err);

/*
 * A setting of the project file that goes beyond the user's own (user file and the profile that the
 * user chose), whether the file is trusted or not. There is none when the file only tightens, or is
 * absent.
 */
struct config_widening {
	const char *key;
	char *value;   /* as the file has it; of a mount its path, of a rule its host */
	unsigned line; /* in the file */
};
int config_widenings(const struct config_sources *src, struct config_widening **ret, size_t *ret_n,
		     struct err *err);
void config_widenings_free(struct config_widening *w, size_t n);

/* The bytes of a project file, for project_text; *ret_there is false where there is none. No link
 * is followed, and what is larger than a file may be, or none, is refused; exit 2. */
int config_project_read(const char *path, struct buf *ret, bool *ret_there, struct err *err);

/* Every key with its effective value, as it would be written in a file. */
struct config_entry {
	const char *key;
	char *value;	    /* lists: "[a, b]" */
	const char *origin; /* "default", "user file …:3", "RALPH_ENGINE", "--engine" */
	const char *help;
};
int config_entries(const struct config *c, struct config_entry **ret, size_t *ret_n);
void config_entries_free(struct config_entry *e, size_t n);

/* Return the source of a key's value, or of the i-th entry of a list: "default", "FILE:LINE",
 * "RALPH_ENGINE", "--engine". NULL for an unknown key or entry. */
const char *config_origin(const struct config *c, const char *key);
const char *config_item_origin(const struct config *c, const char *key, size_t i);

/* The table itself, for options, completion and the manual: NULL when there is no i-th key. */
struct config_key {
	const char *name;   /* "limits.memory" */
	const char *option; /* "--memory": what origins and messages call a flag of this key */
	const char *help;
	const char *default_value;  /* "[]" for lists */
	const char *const *choices; /* NULL-terminated, or NULL */
	bool is_list;
	char env[40]; /* "RALPH_LIMITS_MEMORY" */
};
bool config_key(size_t i, struct config_key *ret);

/* Parses one file by itself: 0, or the error config_load() would give. For checks and fuzzing. */
int config_check(const char *name, const char *text, size_t len, struct err *err);
