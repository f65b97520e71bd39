#pragma once

#include "work/listing.h"

/* The source of the tasks, a file or an issue, and the places of its copies. */
struct source {
	enum work_kind kind;
	const struct format *format;
	char *name; /* for messages, and for opening it again */
	char *rel;  /* a file in the workspace; NULL: */
	char *path; /* a file elsewhere; NULL: */
	struct gh *gh;
	bool reach; /* the agent can write it, so it is also the copy */
	/* Relative to the agent's root. */
	char *copy, *progress;
	/* progress.txt of the host, relative to the workspace. */
	char *log;
	bool log_reach;
};

struct source *source_free(struct source *s);
DEFINE_FREEP(struct source, source_free)

/* shared: see work_where. wish: see work_open(); NULL: the first source that exists. Does not
 * open an issue yet. */
int source_find(const char *workspace, int root, bool shared, const char *wish, struct source **ret,
		struct err *err);
/* Makes the source for a file of the workspace that does not exist yet. */
int source_new(const char *rel, bool shared, struct source **ret);
/* Reads the current text of a file. */
int source_text(const struct source *s, int root, struct buf *text, struct err *err);
/* Reads the text of any source, and parses it. */
int source_read(struct source *s, int root, struct buf *text, struct listing *ret, struct err *err);
int source_write(struct source *s, int root, const struct buf *text, struct err *err);
/* Succeeds when all sources that this one depends on are done; else the error names one that is
 * not. */
int source_ready(struct source *s, int root, const struct listing *l, struct err *err);

/*
 * source-specs.c: chooses the first spec of a directory, by name, that is not done and whose
 * dependencies are done. -ENODATA: there is none.
 */
int specs_choose(const char *workspace, int root, const char *dir, char **ret, struct err *err);
/* True when the wish is the directory that holds this source. */
bool specs_is_any(const char *workspace, const char *wish, const char *source);

/*
 * source-gh.c: opens an issue through the user's gh. Without a number in the wish, it is the first
 * issue with the labels spec and status:ready whose dependencies are done. -ENODATA: there is none.
 */
int gh_find(const char *workspace, const char *wish, struct source *s, struct err *err);
/* True when this wish for any issue matches the source ("gh:owner/name#12"). */
bool gh_is_any(const char *wish, const char *source);
int gh_read(struct gh *gh, struct buf *text, struct err *err);
int gh_write(struct gh *gh, const struct buf *text, struct err *err);
int gh_depends(struct gh *gh, const struct strv *numbers, struct err *err);
/* Sets the status label: "ready", "in-progress", "done", "blocked" or "needs-attention". */
int gh_status(struct gh *gh, const char *status, struct err *err);
struct gh *gh_free(struct gh *gh);
