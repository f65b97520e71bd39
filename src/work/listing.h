#pragma once

#include "work/work.h"

/*
 * The content of a source, read from its text alone: pure. Every reader passes its result through
 * listing_check(), so a listing is always valid.
 */
struct listing {
	char *project, *branch, *base, *description; /* may be NULL */
	struct strv verify;
	struct strv depends; /* for a spec: other sources that must be done first */
	struct task **tasks;
	size_t n;
	bool front; /* has front matter, so it is a spec */
};

void listing_done(struct listing *l);

#define cleanup_listing cleanup_(listing_done)

/* Adds a task at the end; returns NULL when there are WORK_TASKS_MAX. */
struct task *listing_add(struct listing *l);
struct task *listing_find(const struct listing *l, const char *id);
/* Checks that ids exist and differ, that dependencies are known and without a cycle, and that
 * there is at least one task. Computes the fingerprints. */
int listing_check(const struct listing *l, const char *name, struct err *err);

/*
 * A file format for tasks. `name` is the file's name, for messages. Texts have at most
 * WORK_FILE_MAX bytes and need not end in NUL.
 */
struct format {
	int (*read)(const char *name, const char *text, size_t len, struct listing *ret,
		    struct err *err);
	/* Returns the text with the state of this task marked; all other bytes stay. A state
	 * that the format cannot express changes nothing. -ENOENT: the text has no such task. */
	int (*mark)(const char *text, size_t len, const struct task *t, struct buf *ret);
	/* Compares the text that the agent was given with its version, after work on task `id`.
	 * Fills claims, notes, offences and moved values. Cannot fail. */
	void (*judge)(const char *put, size_t put_len, const char *theirs, size_t len,
		      const char *id, struct proposals *ret);
	/* Returns the text with the moved values applied. -ENOENT as for mark. */
	int (*apply)(const char *text, size_t len, const char *id, const struct proposals *p,
		     struct buf *ret);
};

extern const struct format format_prd, format_plan;

/* Records an offence: a change that ralph reverted. */
void proposals_offence(struct proposals *p, const char *fmt, ...) printf_like(2, 3);
