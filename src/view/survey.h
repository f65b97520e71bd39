#pragma once

/*
 * ROOM: view
 *
 * What is shown about live things, for status, top, logs and a page. It reads and changes
 * nothing; how it looks on a terminal is cli's.
 */

#include "base/json/json.h"
#include "view/sandbox-log.h"
#include "view/procs.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * All sandboxes and loops of this user, once (`ralph status`) or again and again (`ralph top`):
 * what has not changed is not read again. Everything in it may come from inside: it is to be
 * escaped.
 */
#define SURVEY_MAX 1000 /* sandboxes, and loops */

struct survey_loop {
	char *workspace;
	json_t *status; /* status.json; an object */
	bool running;	/* the process that it names is there */
	int64_t mtime_ns;
};

struct survey_sandbox {
	char *name, *workspace, *agent;
	bool live;
	bool killed;		/* its supervisor was killed */
	bool seen;		/* while a refresh runs */
	pid_t supervisor, init; /* init: the sandbox's own, where the host sees it */
	uint64_t start;		/* of that process */
	int64_t spec_ns;
	struct sandbox_log log;
	uint64_t ticks, memory; /* of its tree */
	size_t processes;
	bool measured; /* ticks is of this life */
	double cpu;    /* percent of one core, since the refresh before; < 0: not known yet */
	const struct survey_loop *loop; /* that works in it; NULL: none */
};

struct survey {
	const struct places *places;
	struct survey_sandbox **sandboxes; /* sorted by name */
	size_t n_sandboxes;
	struct survey_loop **loops; /* sorted by workspace */
	size_t n_loops;
	struct procs procs;
	uint64_t at_ms, before_ms; /* of the last two refreshes */
	int64_t now_s;		   /* the wall clock then */
};

void survey_init(struct survey *s, const struct places *p);
void survey_done(struct survey *s);
int survey_refresh(struct survey *s, struct err *err);
/* Instead of refreshing: a state that was written down, for pictures and tests: {"now": time,
 * "sandboxes": [{"name", "state", "cpu", …, "events": [records]}], "loops": [status.json]}. */
int survey_from_file(struct survey *s, const char *path, struct err *err);

/* "iterating", … or "crashed" for one that was at work and is not there any more. */
const char *survey_loop_state(const struct survey_loop *l);
/* "running", "stopped", "killed". */
const char *survey_box_state(const struct survey_sandbox *b);
/* What is done in it now: the loop's tool, else its task, else the command; "": nothing. */
const char *survey_doing(const struct survey_sandbox *b);
