#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "config/config.h"
#include "record/places.h"

/*
 * What the command line hands over: one JSON document on a descriptor, with what was typed and
 * where the settings come from. The settings are loaded here once more, from the same sources, the
 * project's file as it was read and judged there.
 */
enum loop_mode { LOOP_BUILD, LOOP_PLAN, LOOP_ANY, LOOP_RESUME, LOOP_MODE_N };

struct loop_request {
	json_t *doc; /* strings point into it */
	enum loop_mode mode;
	enum loop_mode kept_mode; /* LOOP_RESUME: of the loop that goes on */
	const char *workspace;	  /* real path */
	const char *sandbox;	  /* the sandbox's name; NULL: made from the branch */
	const char *tasks;	  /* where the work is; NULL: found in the workspace */
	const char *prompt;	  /* a file; NULL: prompt.md and the like */
	const char *branch;	  /* NULL: as the work says, or one made from it */
	struct strv command;	  /* `agent: command`: what is run; else further arguments */
	uint64_t parallel;	  /* at least 1 */
	bool no_wait, stash, worktree, push, json, color;
	bool direct; /* without a sandbox: typed, never a setting */
	struct places places;
	struct config *config;
};

int loop_request_read(int fd, struct loop_request *ret, struct err *err);
/*
 * What the loop that goes on was started with, where nothing else was said now: its options, its
 * agent and its flags. Settings are loaded once more.
 */
int loop_request_merge(struct loop_request *q, const json_t *kept, struct err *err);
void loop_request_done(struct loop_request *r);
