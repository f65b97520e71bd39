#pragma once

#include "base/err.h"
#include "base/ev.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One command in the loop's live sandbox, an agent or a verify command, with its output read here.
 * All output is hostile input. Events come from the caller's event loop.
 */
struct job;

struct job_handler {
	/* Called for each piece of output, from stdout or from stderr. */
	void (*output)(struct job *j, bool is_err, const char *p, size_t n);
	/* Called when the command has ended and all its output was read; see j->code and
	 * j->failure. */
	void (*ended)(struct job *j);
};

struct job_command {
	const struct strv *argv;
	const struct strv *env; /* in addition to the sandbox's environment */
	const char *whole;	/* start directory, and env is complete; NULL: the workspace */
	int input;		/* stdin of the command, duplicated; -1: empty */
};

struct job {
	struct ev *ev;
	const struct job_handler *handler;
	void *owner; /* for the handler's use */
	int conn, out[2];
	struct ev_io conn_io, out_io[2];
	struct ev_timer last; /* time limit for reading the pipes after the command ended */
	bool started, exited, over;
	int code;      /* 0..255 or 128 + n */
	char *failure; /* NULL: the command ran; else a sentence why there is no exit code */
};

/* Starts the command in the sandbox NAME, which must be live. */
int job_start(struct job *j, struct ev *ev, const struct places *p, const char *name,
	      const struct job_command *c, struct err *err);
/* With SIGKILL, all descendants of the command end too. */
void job_signal(struct job *j, int sig);
/* Kills the command if it still runs. */
void job_done(struct job *j);
