#pragma once

/*
 * ROOM: agent
 *
 * The coding agents ralph knows, one row each. How to start one and to read what it says; no
 * sandbox and no loop enters.
 */

#include "base/buf.h"
#include "base/json/jpick.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The coding agents ralph knows, one row each: row-NAME.c, listed in agents.def. A row holds what
 * compose/ puts into a spec, what cli/ runs and what loop/ reads back. The reader of its
 * conversations is transcript/read-NAME.c.
 *
 * Texts of a row may hold markers, which agent_expand() replaces:
 *
 *	{workspace} {home}  paths inside
 *	{endpoint}          where the gateway takes requests for the credential, without a last '/'
 *	{option:NAME}       an option of the credential; a text whose option is missing is left out
 *	{phantom}           stays: the supervisor puts the credential's phantom there
 */

/* A variable the agent needs. */
struct agent_env {
	const char *provider; /* row of cred/ that must have been found; NULL: always */
	const char *name, *value;
};

/* A file of the sandbox's home, so that a first start asks nothing. Of several rows with the same
 * path the first whose provider was found counts. */
struct agent_seed {
	const char *provider; /* NULL: whatever was found */
	const char *path;     /* below HOME */
	const char *content;
	bool always; /* written anew at each start: it is ralph's, not the agent's */
};

/* A file of the sandbox's root, read-only: what must hold whatever the agent writes. */
struct agent_managed {
	const char *path;    /* NULL: none */
	const char *content; /* a JSON object; hooks are added to it */
};

/* The file that names the account of the host's login to a provider. */
struct agent_identity {
	const char *provider;
	const char *path; /* below the host's HOME */
	const char *keys; /* of the JSON object: "oauthAccount.emailAddress" */
	bool token;	  /* the value is a signed token, and "email" is one of its claims */
};

struct agent_result; /* result.h */

/* What a line says besides the result: the agent's own words, a call of a tool, a call that failed. */
enum agent_part_kind { AGENT_WORDS, AGENT_CALL, AGENT_FAILED };

struct agent_part {
	enum agent_part_kind kind;
	struct jtext id;	 /* of the call; a failure has that of the call that failed */
	struct jtext name, args; /* AGENT_CALL: of the tool, and its arguments as an object */
	struct jtext text;	 /* the words, or why the call failed */
	bool more;		 /* a piece of words: the next one belongs to it */
};

#define AGENT_PARTS_MAX 16 /* of one line; more are left out */

/* How to read the lines of a headless run. Each is a JSON object with a "type", and hostile. */
struct agent_stream {
	/* Types of records that tell it; where two agents share one, the first row counts. */
	const char *const *marks;
	void (*line)(struct agent_result *r, struct jtext type, struct jtext line);
	/* How many parts the line has, in their order; ret has room for AGENT_PARTS_MAX. */
	size_t (*parts)(struct jtext line, struct agent_part *ret);
	/* true: the line says something to be shown besides, which is in ret. NULL: none does. */
	bool (*notice)(struct jtext line, struct buf *ret);
};

#define AGENT_ASKS "{asks}" /* in the content of a seed */

struct agent {
	const char *name;		/* "claude" */
	const char *title;		/* "Claude Code" */
	const char *program;		/* found on PATH; NULL: the user names the command */
	const char *install;		/* command to type when the program is not found */
	const char *const *interactive; /* arguments; the user's follow */
	const char *const *headless; /* arguments of an unattended run; the prompt comes on stdin */
	/* How it gets ralph-ask's tools, beside the user's own servers: by an argument of an unattended
	 * run, by a variable, or by words that take the place of AGENT_ASKS in its seeds. */
	const char *mcp;
	struct agent_env mcp_env;
	const char *mcp_seed;
	const char *const *services;	/* of cred/: "anthropic" … */
	const struct agent_env *env;	/* ends with a NULL name */
	const struct agent_seed *seeds; /* ends with a NULL path */
	struct agent_managed managed;
	const char *settings; /* option for settings on the command line, hooks among them; NULL */
	const struct agent_identity *identity; /* ends with a NULL path */
	const char *const *state;  /* directories below HOME that are the agent's memory */
	const char *conversations; /* path of the conversations below HOME; NULL: none */
	/* Patterns of its conversations' files below HOME: all that ralph takes from one home to
	 * another. NAME-wal goes with NAME. */
	const char *const *sessions;
	const char *const *hosts;	/* patterns it needs besides its providers */
	const char *const *login_hosts; /* allowed only where no credential was found */
	const char *const *private;	/* below HOME: its logins and memory, never handed out */
	const char *const *logins;	/* files below HOME that hold a login */
	const char *const *installed;	/* below HOME: where its own installer puts the program */
	const char *template;		/* Docker Sandboxes' image with the program; NULL: none */
	const char *const *provider_tools; /* that providers run for it, and it needs to work */
	const char *budget; /* its option for the cost of a run in dollars; NULL: none */
	const struct agent_stream *stream; /* format of the headless run's output; NULL: text */
};

/* All names, NULL-terminated, in the order of the rows: constants, for tables of commands. */
extern const char *const agent_words[];
extern const char *const agent_programs[]; /* only those that are programs */
size_t agent_count(void);
const struct agent *agent_at(size_t i);
const struct agent *agent_find(const char *name); /* NULL: no such agent */
/* The first row, a program: taken where a program is needed and the user named none. */
const struct agent *agent_default(void);
/* "claude, codex, …", for messages. */
char *agent_names(void);

/* The content of a seed, its markers not replaced yet; asks: with ralph-ask's tools. */
char *agent_seed_text(const struct agent *a, const struct agent_seed *seed, bool asks);

/* Values for the markers of a text; NULL: this marker has none. */
struct agent_values {
	const char *workspace, *home, *endpoint;
	const struct strv *options; /* NAME=VALUE */
};

/*
 * The text with its markers replaced; NULL when one has no value. `quoted` is for texts in which
 * markers stand within the quotes of JSON or TOML.
 */
char *agent_expand(const char *text, const struct agent_values *v, bool quoted);
