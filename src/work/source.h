#pragma once

#include "work/listing.h"

/* Where tasks are written down, and where their copies are: one file, or one issue. */
struct source {
	enum work_kind kind;
	const struct format *format;
	char *name; /* for messages, and for finding it again */
	char *rel;  /* a file in the workspace; NULL: */
	char *path; /* a file elsewhere; NULL: */
	struct gh *gh;
	bool reach; /* the agent reaches it: it is its own copy */
	/* Relative to the agent's root. */
	char *copy, *progress;
	/* progress.txt of the host, relative to the workspace. */
	char *log;
	bool log_reach;
};

struct source *source_free(struct source *s);
DEFINE_FREEP(struct source, source_free)

/* shared: see work_where. wish: see work_open(); NULL: the first there is. Opens no issue yet. */
int source_find(const char *workspace, int root, bool shared, const char *wish, struct source **ret,
		struct err *err);
/* A file of the workspace that is not there yet. */
int source_new(const char *rel, bool shared, struct source **ret);
/* The text of a file as it is now. */
int source_text(const struct source *s, int root, struct buf *text, struct err *err);
/* The same of any source, and what it says. */
int source_read(struct source *s, int root, struct buf *text, struct listing *ret, struct err *err);
int source_write(struct source *s, int root, const struct buf *text, struct err *err);
/* Other sources that this one waits for are done; else a sentence that says which is not. */
int source_ready(struct source *s, int root, const struct listing *l, struct err *err);

/*
 * source-specs.c: the first spec in a directory, by name, that is not done and whose dependencies
 * are; -ENODATA: there is none.
 */
int specs_choose(const char *workspace, int root, const char *dir, char **ret, struct err *err);
/* Is the wish the directory that this source lies in? */
bool specs_is_any(const char *workspace, const char *wish, const char *source);

/*
 * source-gh.c: an issue, by the user's gh. Without a number in the wish, the first that is labelled
 * spec and status:ready and whose dependencies are done; -ENODATA: there is none.
 */
int gh_find(const char *workspace, const char *wish, struct source *s, struct err *err);
/* Does this wish for any issue cover that source ("gh:owner/name#12")? */
bool gh_is_any(const char *wish, const char *source);
int gh_read(struct gh *gh, struct buf *text, struct err *err);
int gh_write(struct gh *gh, const struct buf *text, struct err *err);
int gh_depends(struct gh *gh, const struct strv *numbers, struct err *err);
/* "ready", "in-progress", "done", "blocked", "needs-attention": the one label of its kind. */
int gh_status(struct gh *gh, const char *status, struct err *err);
struct gh *gh_free(struct gh *gh);
