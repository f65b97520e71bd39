#pragma once

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
 */
struct engine;

enum engine_caps {
	ENGINE_NET_NONE = 1 << 0,   /* no network but the sockets the guest hands out */
	ENGINE_RO_ROOT = 1 << 1,    /* the root file system is read-only */
	ENGINE_REUSE = 1 << 2,	    /* files are the host's files: nothing to copy back */
	ENGINE_OWN_KERNEL = 1 << 3, /* a VM */
	ENGINE_IMAGE = 1 << 4,	    /* the root is an image's: nothing of the host's system */
};

/* A started sandbox: the process that stands for it and the line to its guest. */
struct engine_proc {
	int pidfd; /* readable when it has ended; the engine's own */
	int guest; /* wire socket; the caller's */
};

struct engine_ops {
	const char *name;
	const char *summary;
	enum engine_caps caps;
	size_t instance_size;
	void (*init)(struct engine *e); /* the struct comes zeroed */
	/* Usable here? No side effects; the error says what to do, exit code 125. */
	int (*probe)(struct err *err);
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
};

enum engine_state { ENGINE_NEW, ENGINE_PLANNED, ENGINE_STARTED, ENGINE_STOPPED };

struct engine {
	const struct engine_ops *ops; /* first member of every engine's own struct */
	enum engine_state state;
};

extern const struct engine_ops engine_native, engine_docker, engine_podman;

/* By name; "auto" is the first usable one. Unknown names are usage errors. */
int engine_find(const char *name, const struct engine_ops **ret, struct err *err);
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
