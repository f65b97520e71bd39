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
 * engine_free. The functions below check it once; callers never reach through ops.
 *
 * An engine without a guest (ENGINE_HOSTED) has set_up() and exec() in place of start(): each
 * command is run by a program of the host, whose 0, 1, 2 and exit code are the command's.
 */
struct engine;

enum engine_caps {
	ENGINE_NET_NONE = 1 << 0,   /* no network but the sockets the guest hands out */
	ENGINE_RO_ROOT = 1 << 1,    /* the root file system is read-only */
	ENGINE_REUSE = 1 << 2,	    /* files are the host's files: nothing to copy back */
	ENGINE_OWN_KERNEL = 1 << 3, /* a VM */
	ENGINE_IMAGE = 1 << 4,	    /* the root is an image's: nothing of the host's system */
	ENGINE_HOSTED = 1 << 5,	    /* no guest: commands are run by a program of the host */
	ENGINE_NO_WALL = 1 << 6,    /* nothing is kept from anything; never chosen by itself */
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

struct engine_ops {
	const char *name;
	const char *summary;
	enum engine_caps caps;
	size_t instance_size;
	void (*init)(struct engine *e); /* the struct comes zeroed */
	/* Usable here? No side effects; the error says what to do, exit code 125. */
	int (*probe)(struct err *err);
	/* Optional: probably so, by a look of microseconds. "auto" takes its word for it. */
	bool (*likely)(void);
	/* Optional: adds to a spec that is being made what depends on this engine as it is here.
	 */
	int (*ask)(struct sandbox_spec *spec, struct err *err);
	/* Pure: no fork, mount or write. After 0, start() fails only for runtime reasons. */
	int (*plan)(struct engine *e, const struct sandbox_spec *spec, struct err *err);
	void (*dump)(const struct engine *e, FILE *out);
	int (*start)(struct engine *e, struct engine_proc *ret, struct err *err);
	/* Optional: takes what was launched before there was a spec; start() goes on from there. */
	void (*adopt)(struct engine *e, struct engine_launch *l);
	/* The guest's pid as the host sees it; 0 when it is not known (yet). */
	pid_t (*init_pid)(struct engine *e);
	/* Why a sandbox ended before its guest said a word, in the engine's own words; may be "".
	 */
	void (*complaint)(struct engine *e, char *ret, size_t size);
	/* Optional: begins what stop() waits for, and does not block. Everything inside is doomed.
	 */
	void (*kill)(struct engine *e);
	/* What is at this path inside by now becomes read-only. */
	int (*protect)(struct engine *e, const char *path, struct err *err);
	/* Ends everything inside; idempotent, also after a failed start. Blocks until it is so. */
	int (*stop)(struct engine *e, struct err *err);
	void (*done)(struct engine *e); /* memory and descriptors only */
	/* Removes what a killed supervisor could not: cgroups, containers. Optional. */
	void (*clean)(const struct sandbox_spec *spec);

	/* ---- ENGINE_HOSTED ---- */
	/* Until commands can be run. Blocks, for minutes where an image is fetched: it is called in
	 * a process of its own, whose end ends it; what it learns is lost with that process. */
	int (*set_up)(struct engine *e, struct err *err);
	/* Optional: a program that runs as long as the sandbox does, and whose end is its end. */
	void (*keeper)(const struct engine *e, struct engine_call *ret);
	/* Pure. */
	int (*exec)(const struct engine *e, const struct engine_command *c, struct engine_call *ret,
		    struct err *err);
	/* Optional: a signal for all processes of a command that exec()'s program does not have
	 * below itself. SIGKILL returns 0 only when none of them is left. Blocks, as set_up(). */
	int (*signal)(const struct engine *e, const char *id, int sig, struct err *err);

	/* ---- engines that keep sandboxes of their own ---- */
	/* Optional. What is listed is other programs' word: names and paths are checked. */
	int (*list)(struct engine_list *ret, struct err *err);
	/* Optional: removes that sandbox with all it holds; one that is not there is no error. */
	int (*remove)(const char *name, struct err *err);
};

enum engine_state { ENGINE_NEW, ENGINE_PLANNED, ENGINE_STARTED, ENGINE_STOPPED };

struct engine {
	const struct engine_ops *ops; /* first member of every engine's own struct */
	enum engine_state state;
};

extern const struct engine_ops engine_native, engine_docker, engine_podman;
extern const struct engine_ops engine_sbx, engine_docker_sandbox, engine_direct;

/* As the user names it: "auto" is the first usable one, never one without a wall; "sbx" either of
 * its dialects. Unknown names are usage errors. */
int engine_find(const char *name, const struct engine_ops **ret, struct err *err);
/* As a spec names it. */
const struct engine_ops *engine_by_name(const char *name); /* NULL: there is none */
int engine_new(const char *name, struct engine **ret, struct err *err);
void engine_free(struct engine *e);
DEFINE_FREEP(struct engine, engine_free)
/* What of this spec its engine knows. */
int engine_ask(const struct engine_ops *ops, struct sandbox_spec *spec, struct err *err);
int engine_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void engine_dump(const struct engine *e, FILE *out);
int engine_start(struct engine *e, struct engine_proc *ret, struct err *err);
/* Between plan and start. What the engine has no use for is ended. */
void engine_adopt(struct engine *e, struct engine_launch *l);
void engine_kill(struct engine *e);
int engine_stop(struct engine *e, struct err *err);
pid_t engine_init_pid(struct engine *e);
int engine_protect(struct engine *e, const char *path, struct err *err);
void engine_complaint(struct engine *e, char *ret, size_t size);
/* What a killed supervisor of this sandbox may have left. */
void engine_clean(const struct sandbox_spec *spec);

int engine_set_up(struct engine *e, struct err *err);
bool engine_keeper(const struct engine *e, struct engine_call *ret); /* false: it has none */
int engine_exec(const struct engine *e, const struct engine_command *c, struct engine_call *ret,
		struct err *err);
int engine_signal(const struct engine *e, const char *id, int sig, struct err *err);
bool engine_can_signal(const struct engine *e);
/* What the engine keeps of a sandbox besides its record. */
int engine_remove(const struct sandbox_spec *spec, struct err *err);
/* The i-th engine that keeps sandboxes of its own; NULL: there are no more. */
const struct engine_ops *engine_keeping(size_t i);
