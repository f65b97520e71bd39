#pragma once

#include "engine/ops.h"

/*
 * Docker Sandboxes: sandboxes in a machine of their own, each by a command line of the host.
 *
 * There are two, of one family: `sbx`, and before it `docker sandbox`, a plugin of Docker Desktop
 * (0.7 to 0.12; removed with Desktop 4.80). What differs between them is a row of builders here;
 * what is done with them, and in which order, is sbx.c's.
 */
struct sbx_words {
	struct strv *v; /* argument lists */
	size_t n;
};

void sbx_words_done(struct sbx_words *w);
struct strv *sbx_words_add(struct sbx_words *w);

/* The parts of a sandbox as both command lines want them. */
struct sbx_plan {
	const struct sandbox_spec *spec;
	const char *template;	 /* image; NULL: the command line's own */
	struct strv workspaces;	 /* PATH or PATH:ro; the workspace itself first */
	struct strv allow, deny; /* hosts, as the dialect writes them */
	struct strv deny_ranges; /* address ranges, where they are told apart */
	bool open;		 /* every public host, but for what is denied */
};

struct sbx_dialect {
	const char *engine;	/* name of the engine */
	const char *title;	/* for people */
	const char *program[3]; /* what each argument list begins with */
	const char *agent; /* kind of sandbox that runs nothing by itself; NULL: there is none */
	const char *local_image; /* flag for an image of this machine; NULL: found by itself */
	bool load_image;	 /* it has images of its own: see sbx-image.c */
	const char *below;	 /* what stands for any depth below a domain */
	bool one_workspace;	 /* it takes no further ones */
	bool ranges_apart;   /* ranges are denied by an option of their own, and never allowed */
	bool limits;	     /* it takes memory and processors */
	bool force_remove;   /* it would ask otherwise */
	const char *net_log; /* command that shows what its proxy denied */
	const char *net_notes[3]; /* further sentences about its network, for the audit */
	/* Right after the creation, and again at each start. */
	void (*restrict_net)(const struct sbx_plan *p, const struct sbx_dialect *d,
			     struct sbx_words *ret);
	/* Optional: exits with 1 where a host that nobody allowed is denied. */
	void (*check_net)(const struct sbx_plan *p, const struct sbx_dialect *d, struct strv *ret);
	/* Optional: takes back what restrict_net() said. */
	void (*release_net)(const struct sbx_plan *p, const struct sbx_dialect *d,
			    struct sbx_words *ret);
};

extern const struct sbx_dialect sbx_new_dialect;    /* sbx */
extern const struct sbx_dialect sbx_plugin_dialect; /* docker sandbox 0.11, 0.12 */
extern const struct sbx_dialect sbx_early_dialect;  /* docker sandbox 0.7 to 0.10 */

/* The plugin's dialect by what `docker sandbox version` prints; NULL: one that is not known. */
const struct sbx_dialect *sbx_dialect_of(const char *version_text);

/* Argument lists that are the same in all dialects but for how they begin. */
void sbx_begin(const struct sbx_dialect *d, const char *verb, struct strv *ret);
void sbx_create(const struct sbx_plan *p, const struct sbx_dialect *d, struct strv *ret);
void sbx_remove(const struct sbx_dialect *d, const char *name, struct strv *ret);
void sbx_exec(const struct sbx_dialect *d, const char *name, const struct engine_command *c,
	      struct strv *ret);
/* A shell inside, as root where the command itself may be of another user. */
void sbx_shell(const struct sbx_dialect *d, const char *name, bool root, const char *script,
	       struct strv *ret);
/* Is this variable one that the command line of the host would take for its own? */
bool sbx_is_client_env(const char *name);

/* sbx-net.c: a rule of the spec in the dialect's words; an error names what it cannot say. */
int sbx_net_add(struct sbx_plan *p, const struct sbx_dialect *d, struct err *err);

/* sbx-image.c: an image of this machine is there before it is named. */
bool sbx_is_local_image(const char *image);
bool sbx_must_load(const struct sbx_plan *p, const struct sbx_dialect *d);
void sbx_load_words(const struct sbx_plan *p, const struct sbx_dialect *d, const char *file,
		    struct sbx_words *ret);

/* sbx-list.c: the text of `ls --json`, with whatever stands before it. */
#define SBX_LIST_MAX (1 * MiB)

enum sbx_state { SBX_ABSENT, SBX_STOPPED, SBX_RUNNING, SBX_BROKEN };

struct sbx_found {
	enum sbx_state state;
	char *workspace; /* NULL: not told */
	bool workspace_gone;
};

int sbx_list_parse(const char *text, size_t len, struct engine_list *ret, struct err *err);
/* One of them; *ret is SBX_ABSENT when it is not there. */
int sbx_list_find(const char *text, size_t len, const char *name, struct sbx_found *ret,
		  struct err *err);

/* sbx-call.c: running the command line. */
struct sbx_said {
	int code;
	char *out, *err; /* both are cut at their maximum */
};

void sbx_said_done(struct sbx_said *s);
/* stdin: a descriptor, -1: none. */
int sbx_call(const struct strv *argv, int input, int timeout_ms, struct sbx_said *ret,
	     struct err *err);
/* A sentence about a call that failed: what is known of its words, else the words. */
int sbx_explain(const struct sbx_dialect *d, const char *what, const struct sbx_said *s,
		struct err *err);
/* The same of a call of which nothing but success is expected. */
int sbx_must(const struct sbx_dialect *d, const char *what, const struct strv *argv, int timeout_ms,
	     struct err *err);
/* The environment of the command line. */
void sbx_environ(struct strv *ret);

/* The engine's parts. */
struct sbx {
	struct engine base;
	const struct sbx_dialect *dialect;
	struct sbx_plan plan;
};

static inline struct sbx *sbx_of(struct engine *e)
{
	return (struct sbx *)e;
}

static inline const struct sbx *sbx_const(const struct engine *e)
{
	return (const struct sbx *)e;
}

#define SBX_HOST "host.docker.internal" /* this machine, as seen inside */
#define SBX_MEMORY_MIN (1 * GiB)
#define SBX_PROBE_MS (20 * 1000)
#define SBX_STOP_MS (120 * 1000)

/* sbx-plan.c */
int sbx_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void sbx_dump(const struct engine *e, FILE *out);

/* sbx-notes.c, sbx-doctor.c */
void sbx_notes(const struct sbx_dialect *d, const struct sandbox_spec *s, struct engine_notes *ret);
int sbx_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err);

int sbx_load_image(const struct sbx *x, struct err *err); /* sbx-image.c */

/* sbx-setup.c */
int sbx_set_up(struct engine *e, struct err *err);
int sbx_version(const struct sbx_dialect *d, int timeout_ms, struct sbx_said *ret, struct err *err);
int sbx_call_list(const struct sbx_dialect *d, struct sbx_said *ret, struct err *err);
/* Is the sandbox there? */
int sbx_look(const struct sbx *x, struct sbx_found *ret, struct err *err);
/* Not ours to use, or broken: an error that says so. */
int sbx_check_found(const struct sbx *x, const struct sbx_found *f, struct err *err);
int sbx_by_name(const struct sbx_dialect *d, const char *verb, const char *name, int timeout_ms,
		struct err *err);
int sbx_remove_now(const struct sbx_dialect *d, const char *name, struct err *err);
