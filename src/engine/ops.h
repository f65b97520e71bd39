#pragma once

#include "engine/doctor-rows.h"
#include "engine/engine.h"

/*
 * An engine, as engine.c sees it. No file outside of this room includes this header: callers use
 * the functions of engine.h, which check the order of calls and what an engine does not have.
 */
/* Every engine that runs ralph's guest has these by it. */
#define ENGINE_GUEST_CAPS                                                                          \
	(ENGINE_READ_ONLY | ENGINE_HIDE | ENGINE_LIMITS | ENGINE_NET | ENGINE_CLONE)

struct engine_ops {
	const char *name; /* as in config/engines.def */
	enum engine_caps caps;
	size_t instance_size;
	/* Optional: tried in its place where the user named this one, and it is not usable. */
	const struct engine_ops *other;
	/* For people: what is between a command and the host (the audit names it), what this holds
	 * against, and what it costs. */
	const char *wall, *holds, *costs;
	const char *images; /* program that has the images it runs; NULL: it runs none */
	const char *host;   /* name of this machine inside, where s->port is; NULL: it has none */
	void (*init)(struct engine *e); /* the struct comes zeroed */
	/* Usable here? No side effects; the error says what to do, exit code 125. */
	int (*probe)(struct err *err);
	/* Optional: probably so, by a look of microseconds. "auto" takes its word for it. */
	bool (*likely)(void);
	/* Optional: adds a row for each thing of this machine that it needs or uses. *ret_usable:
	 * it would do with what was found. Tries things, for a second each at most. */
	int (*doctor)(struct doctor_rows *ret, bool *ret_usable, struct err *err);
	/* Optional: fetches and makes what it needs; see engine_prepare(). */
	int (*prepare)(uint64_t memory, void (*say)(const char *text), struct err *err);
	/* Optional: sentences about a sandbox of this spec that the audit shows. */
	void (*notes)(const struct sandbox_spec *spec, struct engine_notes *ret);
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
	/* Mounts what is at `from` inside over this path, or, without it, what is at the path by
	 * now on itself: read-only, hidden, or as it is (SPEC_PIN). */
	int (*cover)(struct engine *e, const char *from, const char *path,
		     enum spec_mount_kind kind, struct err *err);
	/* Optional: nothing inside runs until thaw(). At an error nothing stays frozen. */
	int (*freeze)(struct engine *e, struct err *err);
	void (*thaw)(struct engine *e);
	/* Ends everything inside; idempotent, also after a failed start. Blocks until it is so. */
	int (*stop)(struct engine *e, struct err *err);
	void (*done)(struct engine *e); /* memory and descriptors only */
	/* Removes what a killed supervisor could not: cgroups, containers. Optional. */
	void (*clean)(const struct sandbox_spec *spec);

	/* ---- ENGINE_NO_GUEST ---- */
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

#define ENGINE(symbol, name) extern const struct engine_ops engine_##symbol;
#include "config/engines.def"
#undef ENGINE
extern const struct engine_ops engine_direct;

const struct engine_ops *registry_get(const char *name); /* NULL: there is none, or no name */
/* needs.c: has the engine everything that the spec needs? */
int needs_check(const struct engine_ops *ops, const struct sandbox_spec *spec, struct err *err);
