#pragma once

/*
 * ROOM: workspace
 *
 * What lies in a workspace and the host would run or obey: protected names, git directories,
 * findings, quarantine. Everything read here may be an agent's work, so no link is followed and
 * nothing is run.
 */

#include "base/err.h"
#include "base/strv.h"
#include "policy/protect.h"
#include "workspace/gitdir.h"

/*
 * What of a directory that a sandbox may write is not the agent's to write or to read, as it is
 * found on the host: policy/protect.h says which names, this says which paths. Everything there may
 * have been written by an agent: reads are bounded and no link is followed.
 */
enum guard_kind {
	GUARD_PIN,  /* holds something protected: stays where it is */
	GUARD_RO,   /* read-only */
	GUARD_MASK, /* not readable either */
};

struct guard_item {
	enum guard_kind kind;
	char *path;
	const char *why;
};

/* Where something protected may appear later: the supervisor looks at these. */
struct guard_place {
	enum protect_base base;
	char *dir;
};

struct guard {
	struct guard_item *items; /* what holds others stands before them */
	size_t n_items;
	struct guard_place *places;
	size_t n_places;
	struct strv programs; /* directories where programs may appear that git would run */
	struct strv named;    /* what settings of git name, see guard_named_list() */
};

struct guard_input {
	const char *dir;	  /* real path */
	const struct gitdir *git; /* whose repository it is; NULL: not known */
	/* A private git directory stands for that of `git`, whose settings still name programs. */
	bool private;
	const char *covered;	  /* by it: nothing in there can be written; NULL: nothing */
	const struct strv *masks; /* patterns of the user, see protect_masked(); NULL: no masks */
	/* The user's own files of git settings, which name programs; NULL: none. */
	const struct strv *settings;
	const char *home; /* the user's, for "~/"; NULL: there is none */
};

/*
 * Paths of the repository `git` that the user's settings name as programs, relative to its root, each
 * behind a letter: 'd' a directory of programs, 'f' a file, 'm' a file that is a program if it can be
 * run. They need not be there. guard_find() lists the same.
 */
int guard_named_list(const struct guard_input *in, struct strv *ret, struct err *err);

/* An error when not everything can be looked at or protected: then no sandbox may start. */
int guard_find(const struct guard_input *in, struct guard *ret, struct err *err);
void guard_done(struct guard *g);
