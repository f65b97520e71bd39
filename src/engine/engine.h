#pragma once

/*
 * ROOM: engine
 *
 * A spec becomes a running guest, by one of several engines. Policy, credentials, audit and
 * lifecycle do not enter.
 */

#include "base/err.h"
#include "base/proc.h"
#include "engine/launch.h"
#include "spec/spec.h"

#include <stdio.h>

/*
 * An engine turns a spec into a running guest and nothing else. Policy, credentials, audit and
 * lifecycle are the same for all of them and live elsewhere.
 *
 * Order of calls: engine_new, engine_plan, then engine_dump or engine_start, engine_stop,
 * engine_free. The functions below check it once; struct engine_ops is the engines' own (ops.h).
 *
 * An engine without a guest (ENGINE_NO_GUEST) has set_up() and exec() in place of start(): each
 * command is run by a program of the host, whose 0, 1, 2 and exit code are the command's.
 */
struct engine;

enum engine_caps {
	ENGINE_IMAGE = 1 << 0,	  /* the root is an image's: nothing of the host's system */
	ENGINE_NO_GUEST = 1 << 1, /* commands are run by a program of the host */
	ENGINE_NO_WALL = 1 << 2,  /* nothing is kept from anything; never chosen by itself */
	/* A spec may need these; engine_plan() refuses one that its engine cannot hold. */
	ENGINE_READ_ONLY = 1 << 3,  /* single paths of a writable tree are read-only */
	ENGINE_HIDE = 1 << 4,	    /* or cannot be read */
	ENGINE_LIMITS = 1 << 5,	    /* on processes, open files, temporary files */
	ENGINE_NET = 1 << 6,	    /* rules about the network */
	ENGINE_CLONE = 1 << 7,	    /* the agent may work in a clone of its own */
	ENGINE_OWN_KERNEL = 1 << 8, /* commands run on another kernel than the host's */
	ENGINE_MACHINE =
		1 << 9, /* its machine bounds memory and processes, whatever the host can */
};

/* A started sandbox: the process that stands for it and the line to its guest. */
struct engine_proc {
	int pidfd; /* readable when it has ended; the engine's own */
	int guest; /* wire socket; the caller's */
};

/* A command, for an engine without a guest. */
struct engine_command {
	const char *id; /* random: it marks the command's processes */
	const char *cwd;
	const struct strv *argv, *env; /* env: all of it, NAME=VALUE */
	const struct strv *secrets;    /* names in env whose values no argument list may show */
	bool tty;
};

/* The program of the host that runs it. */
struct engine_call {
	struct strv argv, env; /* env: the program's whole environment */
	const char *dir;       /* NULL: anywhere; not owned */
};

void engine_call_done(struct engine_call *c);
#define cleanup_engine_call cleanup_(engine_call_done)

/* Sandboxes that an engine keeps by itself, whoever made them. */
#define ENGINE_LIST_MAX 1024
struct engine_entry {
	char *name, *workspace; /* workspace: NULL where it is not told */
	bool running;
};

struct engine_list {
	struct engine_entry *v;
	size_t n;
};

void engine_list_done(struct engine_list *l);

/* The engine's name. wish: as the user names it; "auto" is the first usable one. Unknown names are
 * usage errors. */
int engine_find(const char *wish, const char **ret, struct err *err);
/* The name of the one without a wall, which no wish and no setting leads to. */
const char *engine_no_sandbox(void);
/* Functions with a name take what engine_find() gave, or a spec has. An unknown one has nothing. */
bool engine_has(const char *name, enum engine_caps cap);
const char *engine_images(const char *name); /* whose images it runs: a program; NULL: none */
const char *engine_host(const char *name);   /* this machine, as seen inside; NULL: not at all */
/* Each program whose images the wish may lead to; of "auto", or an engine without any: all. */
void engine_image_programs(const char *wish, struct strv *ret);
/* The words of `ralph engine ls` about the i-th engine; false: there are no more. */
struct engine_about {
	const char *name, *wall, *holds, *costs;
};
bool engine_about(size_t i, struct engine_about *ret);
const char *engine_wall(const char *name); /* "your kernel", … */
/* Usable here? No side effects; the error says what to do, exit code 125. */
int engine_probe(const char *name, struct err *err);

/* Prepares an engine that has to be, with the memory that a sandbox may have; say: each step. */
int engine_prepare(const char *name, uint64_t memory, void (*say)(const char *text),
		   struct err *err);

int engine_new(const char *name, struct engine **ret, struct err *err);
void engine_free(struct engine *e);
DEFINE_FREEP(struct engine, engine_free)
/* Adds to a spec that is being made what its engine knows. */
int engine_ask(struct sandbox_spec *spec, struct err *err);
/* An error also where the spec needs something that the engine does not have, see enum engine_caps.
 */
int engine_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void engine_dump(const struct engine *e, FILE *out);
int engine_start(struct engine *e, struct engine_proc *ret, struct err *err);
/* Between plan and start. What the engine has no use for is ended. */
void engine_adopt(struct engine *e, struct engine_launch *l);
void engine_kill(struct engine *e);
int engine_stop(struct engine *e, struct err *err);
pid_t engine_init_pid(struct engine *e);
/* See `cover` in ops.h. */
int engine_cover(struct engine *e, const char *from, const char *path, enum spec_mount_kind kind,
		 struct err *err);
/* Nothing inside runs until engine_thaw(); an error: it cannot be had, and everything runs. */
int engine_freeze(struct engine *e, struct err *err);
void engine_thaw(struct engine *e);
void engine_complaint(struct engine *e, char *ret, size_t size);
/* Removes what a killed supervisor of this sandbox may have left. */
void engine_clean(const struct sandbox_spec *spec);

int engine_set_up(struct engine *e, struct err *err);
bool engine_keeper(const struct engine *e, struct engine_call *ret); /* false: it has none */
int engine_exec(const struct engine *e, const struct engine_command *c, struct engine_call *ret,
		struct err *err);
int engine_signal(const struct engine *e, const char *id, int sig, struct err *err);
bool engine_can_signal(const struct engine *e);
/* Engines that keep sandboxes of their own: the name of the i-th; NULL: there are no more. */
const char *engine_keeping(size_t i);
int engine_list(const char *name, struct engine_list *ret, struct err *err);
/* Removes what the engine keeps of a sandbox; one that is not there is no error. */
int engine_remove(const char *name, const char *sandbox, struct err *err);

/* Sentences about a sandbox of this spec, one line each, for the audit. */
struct engine_notes {
	struct strv mounts, network, credentials;
};

void engine_notes(const struct sandbox_spec *spec, struct engine_notes *ret);
void engine_notes_done(struct engine_notes *n);

/* The rows of all engines, in the order of the list. *ret_usable: the engine called name would do
 * with what was found. */
struct doctor_rows;
int engine_doctor(const char *name, struct doctor_rows *ret, bool *ret_usable, struct err *err);
