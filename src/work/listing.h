#pragma once

#include "work/work.h"

/*
 * What a source says, read from its text alone: pure. Every reader gives a listing that
 * listing_check() has been through, so a listing is never half right.
 */
struct listing {
	char *project, *branch, *base, *description; /* may be NULL */
	struct strv verify;
	struct strv depends; /* other sources that must be done before: of a spec */
	struct task **tasks;
	size_t n;
	bool front; /* there is front matter: it is a spec */
};

void listing_done(struct listing *l);

#define cleanup_listing cleanup_(listing_done)

/* A new task at the end; NULL when there are WORK_TASKS_MAX. */
struct task *listing_add(struct listing *l);
struct task *listing_find(const struct listing *l, const char *id);
/* Ids are there and differ, dependencies are known and lead nowhere in a circle; at least one task.
 * Makes the fingerprints. */
int listing_check(const struct listing *l, const char *name, struct err *err);

/*
 * One way of writing tasks down. `name` is the file's, for messages; texts are WORK_FILE_MAX at
 * most and need not end in NUL.
 */
struct format {
	int (*read)(const char *name, const char *text, size_t len, struct listing *ret,
		    struct err *err);
	/* The text with this task marked as standing so; all other bytes stay. What the format has
	 * no word for changes nothing. -ENOENT: there is no such task in it. */
	int (*mark)(const char *text, size_t len, const struct task *t, struct buf *ret);
	/* What an agent that was to work on `id` made of the text it was given. Fills claims,
	 * notes, offences and what moved. Cannot fail. */
	void (*judge)(const char *put, size_t put_len, const char *theirs, size_t len,
		      const char *id, struct proposals *ret);
	/* The text with what moved in it. -ENOENT as mark. */
	int (*apply)(const char *text, size_t len, const char *id, const struct proposals *p,
		     struct buf *ret);
};

extern const struct format format_prd, format_plan;

/* One more thing that was put back. */
void proposals_offence(struct proposals *p, const char *fmt, ...) printf_like(2, 3);
