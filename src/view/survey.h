#pragma once

/*
 * ROOM: view
 *
 * The display of live sandboxes and loops, for status, top, logs and a web page. It only reads, and
 * changes nothing; cli decides how it looks on a terminal.
 */

#include "base/json/json.h"
#include "view/sandbox-log.h"
#include "view/procs.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * All sandboxes and loops of this user, read once (`ralph status`) or repeatedly (`ralph top`).
 * Unchanged files are not read again. All text may come from inside and must be escaped.
 */
#define SURVEY_MAX 1000 /* sandboxes, and loops */

struct survey_loop {
	char *workspace;
	json_t *status; /* status.json; an object */
	bool running;	/* its process exists */
	int64_t mtime_ns;
	const struct survey_loop *parent; /* of a worker: the loop it works for; NULL: none */
};

struct survey_sandbox {
	char *name, *workspace, *agent;
	bool live;
	bool killed;		/* the supervisor was killed */
	bool seen;		/* used during a refresh */
	pid_t supervisor, init; /* init: of the sandbox, if the host can see it */
	uint64_t start;		/* start time of that process */
	int64_t spec_ns;
	uint64_t budget_micro_usd, budget_tokens; /* over its lifetime; 0: none */
	struct sandbox_log log;
	uint64_t ticks, memory; /* of the process tree */
	size_t processes;
	bool measured; /* ticks belong to the current start */
	double cpu;    /* percent of one core since the last refresh; < 0: not known yet */
	const struct survey_loop *loop; /* the loop that uses this sandbox; NULL: none */
	char *elsewhere; /* "on NODE, JOB": it stands for a worker on another machine; NULL: it does not */
	json_t *asks; /* see record/asks.h; NULL: none were read */
};

/* Asks a supervisor for its state; *ret is NULL when the sandbox is not live. */
typedef int survey_inspect_fn(const struct places *p, const char *name, json_t **ret,
			      struct err *err);

struct survey {
	const struct places *places;
	survey_inspect_fn
		*inspect; /* live_inspect(), unless the caller may not reach them itself */
	struct survey_sandbox **sandboxes; /* sorted by name */
	size_t n_sandboxes;
	struct survey_loop **loops; /* those that wait for a person first, then by workspace */
	size_t n_loops;
	struct procs procs;
	uint64_t at_ms, before_ms; /* of the last two refreshes */
	int64_t now_s;		   /* the wall clock then */
};

void survey_init(struct survey *s, const struct places *p);
void survey_done(struct survey *s);
int survey_refresh(struct survey *s, struct err *err);
/* Sorts the loops and connects sandboxes, loops and their workers, after a change. */
void survey_join(struct survey *s);
/* Reads a saved state instead of refreshing, for pictures and tests: {"now": time, "sandboxes":
 * [{"name", "state", "cpu", …, "events": [records]}], "loops": [status.json]}. */
int survey_from_file(struct survey *s, const char *path, struct err *err);

/* Returns the whole loop: the one that a worker works for, else the loop itself. NULL for NULL. */
const struct survey_loop *survey_whole(const struct survey_loop *l);
/* Returns the name of the project: the last directory of its workspace. One of both may be NULL. */
const char *survey_project(const struct survey_sandbox *b, const struct survey_loop *l);
/* Return what the whole loop has used, or the sandbox where it has no loop. */
uint64_t survey_tokens(const struct survey_sandbox *b);
uint64_t survey_micro_usd(const struct survey_sandbox *b);
/* Returns the number of loops that run, each with its workers. */
size_t survey_running_loops(const struct survey *s);

/* Returns "iterating", …, or "crashed" for a working loop whose process is gone. */
const char *survey_loop_state(const struct survey_loop *l);
/* Returns the question or the reason for which a loop waits for a person; NULL: it does not. */
/* The first thing that the sandbox's agent asks a person for, in words; NULL: nothing. The caller's. */
char *survey_asks(const struct survey_sandbox *b);
const char *survey_loop_wants(const struct survey_loop *l);
/* Returns "running", "stopped" or "killed". */
const char *survey_sandbox_state(const struct survey_sandbox *b);
/* Returns the current activity: the loop's tool, else its task, else the command; "": none. */
const char *survey_doing(const struct survey_sandbox *b);
