#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "config/config.h"
#include "record/places.h"

/*
 * The request of the command line: one JSON document on a descriptor, with the typed options and
 * the sources of the settings. The loop loads the settings once more from the same sources; the
 * project's file is taken as the command line read and trusted it.
 */
enum loop_mode { LOOP_BUILD, LOOP_PLAN, LOOP_ANY, LOOP_RESUME, LOOP_MODE_N };

struct loop_request {
	json_t *doc; /* strings point into it */
	enum loop_mode mode;
	enum loop_mode kept_mode; /* LOOP_RESUME: mode of the resumed loop */
	const char *workspace;	  /* real path */
	const char *sandbox;	  /* NULL: ralph derives the name from the branch */
	const char *parent;	  /* a worker: the workspace of its loop; NULL: it is no worker */
	const char *tested; /* a worker: the sandbox of its loop, which has passed its tests */
	const char *tasks;  /* path of the work list; NULL: found in the workspace */
	const char *prompt; /* a file; NULL: prompt.md and the like */
	const char *branch; /* NULL: named by the work list, or derived from it */
	const char *
		base; /* a placed worker: the commit that its task's work is compared to; NULL: HEAD */
	const char
		*cred_line, /* a placed worker: who answers for `credentials`; NULL: this machine */
		*limit; /* likewise: a file that says when a provider's limit ends; NULL: none */
	const json_t *credentials;
	struct strv command; /* `agent: command`: the command to run; else further arguments */
	uint64_t parallel;   /* at least 1 */
	bool no_wait, stash, worktree, push, json, color;
	bool placed;   /* of a loop on another machine: each iteration's summary goes to stdout */
	int home_line; /* a placed worker: its line to that loop; -1: none. See home-line.c */
	bool direct;   /* no sandbox: only ever typed, never a setting */
	struct places places;
	struct config *config;
};

int loop_request_read(int fd, struct loop_request *ret, struct err *err);
/*
 * Merges the request of a resumed loop: its options, agent and flags apply unless the new request
 * sets them. Settings are loaded once more.
 */
int loop_request_merge(struct loop_request *q, const json_t *kept, struct err *err);
void loop_request_done(struct loop_request *r);
