#pragma once

#include "base/err.h"
#include "base/proc.h"
#include "base/strv.h"
#include "config/config.h"
#include "record/places.h"
#include "spec/spec.h"

/*
 * ralph saves the conversations of a sandbox by itself: at its end, every few minutes while it
 * runs, after an iteration of a loop, and after a crash. libexec/ralph/export does it, as for
 * `ralph export`, in the background. Nobody waits for it and nobody reports its failure.
 */
struct export_options {
	const char *format; /* NULL: md */
	const char *agent;  /* NULL: all */
	int64_t since_ms;
	uint64_t max_result; /* 0: the default */
	bool thinking;
};

/*
 * Lists the values that the user put into the sandbox and marked as secret: saved files must not
 * have them. spec may be NULL.
 */
void secret_values(const struct sandbox_spec *spec, struct strv *ret);

/*
 * A sandbox remembers the secrets of its commands as hashes (base/text/known.h), so that a later
 * export knows them too. env: the environment of a command; 0, or -errno. values_know(): was it
 * given this value?
 *
 * All sandboxes of a project have one salt, so that their sets can be joined: KEY.values beside the
 * project's home has everything that was there when a sandbox began or settled. A record has its
 * own file, since its supervisor may write there alone.
 */
int values_remember(const char *record, const struct sandbox_spec *spec, const struct strv *env);
bool values_know(const char *record, const char *value);
int values_begin(const struct places *p, const char *record, const struct sandbox_spec *spec);
int values_settle(const struct places *p, const char *record, const struct sandbox_spec *spec);

/*
 * Prepares a run of the export program over the record of a sandbox, to be started in the directory
 * that `out` names (run->dir). spec may be NULL; it says which values are secrets. The descriptor in
 * run->stdio[0] is the caller's to close.
 */
int export_run(const struct places *p, const char *record, const struct sandbox_spec *spec,
	       const char *out, const struct export_options *options, struct strv *argv,
	       struct run *ret, struct err *err);

/*
 * Starts it for the record of this sandbox where there is a conversation and an inbox. With ret the
 * caller reaps it; without, it outlives the caller. 0: started; -ENOENT: nothing to do.
 */
int autosave_start(const struct places *p, const char *record, const struct sandbox_spec *spec,
		   struct child *ret, struct err *err);
/* Saves what there is to save and waits for it; an export that runs goes first. 0 where there is
 * nothing. */
int autosave_wait(const struct places *p, const char *record, const struct sandbox_spec *spec,
		  struct err *err);
/* Makes what a record knows of its exports and values the project's, whose home its own becomes. */
void autosave_adopt(const struct places *p, const char *record, const struct sandbox_spec *spec);
/* The same for conversations that went to a home which exists: they are not saved once more. */
void autosave_take_known(const struct places *p, const char *record,
			 const struct sandbox_spec *spec);
/* Starts it for a sandbox by its name. */
int autosave_now(const struct places *p, const char *name);
