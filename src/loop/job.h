#pragma once

#include "base/err.h"
#include "base/ev.h"
#include "base/strv.h"
#include "record/places.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One command in the loop's live sandbox, its output read here: an agent, or a verify command.
 * Everything it prints is hostile. Events come from the caller's event loop.
 */
struct job;

struct job_handler {
	/* A piece of what it printed; to stdout, or to stderr. */
	void (*output)(struct job *j, bool is_err, const char *p, size_t n);
	/* It has ended and everything of it was read; j->code, j->failure say how. */
	void (*ended)(struct job *j);
};

struct job_command {
	const struct strv *argv;
	const struct strv *env; /* besides the sandbox's own */
	const char *whole; /* env is all there is, and it starts here; NULL: in the workspace */
	int input;	   /* its stdin, which is duplicated; -1: empty */
};

struct job {
	struct ev *ev;
	const struct job_handler *handler;
	void *owner; /* the handler's */
	int conn, out[2];
	struct ev_io conn_io, out_io[2];
	struct ev_timer last; /* what is left in the pipes after the end has so long */
	bool started, exited, over;
	int code;      /* 0..255 or 128 + n */
	char *failure; /* NULL: it ran; else why there is no code: a sentence */
};

/* Starts it in NAME, which must be live. */
int job_start(struct job *j, struct ev *ev, const struct places *p, const char *name,
	      const struct job_command *c, struct err *err);
/* SIGKILL ends everything that descends from it. */
void job_signal(struct job *j, int sig);
/* What still runs is ended. */
void job_done(struct job *j);
