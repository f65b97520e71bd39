#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>

/*
 * Tools that live in $HOME. The host's home is not in the sandbox, so what a command needs from it
 * is found by resolving the command on the host's PATH, as execvp would, and following its chain
 * of links and its interpreter line. A file below the root of a known tool manager (~/.nvm,
 * ~/.cargo/bin …) brings that root; a file below a node_modules brings its package, with those
 * it needs; anything else brings the one file. Never a directory that is, contains or lies in one
 * that holds credentials, nor one with files at its top that look like credentials.
 */
#define TOOLS_MAX 64 /* binds, and links */

struct tools_bind {
	char *path;   /* on the host, and the same inside; read-only; real path */
	char *reason; /* for people */
};

struct tools_link {
	char *path; /* inside */
	char *text; /* the link's target, as on the host */
	char *reason;
};

struct tools_input {
	const char *argv0;	  /* NULL: no command yet, only the roots on PATH */
	const char *path;	  /* the host's PATH; NULL: empty */
	const char *home;	  /* the host's $HOME, which is also the path inside */
	const char *workspace;	  /* real path */
	const struct strv *shown; /* paths that the user mounts at the same path; NULL: none */
	const char *cwd;	  /* for an argv0 with a slash; NULL: workspace */
	const struct strv *more;  /* programs to bring besides, by name; NULL: none */
	bool home_programs;	  /* and those of the directories of PATH that lie in the home */
};

struct tools {
	struct tools_bind *binds;
	size_t n_binds;
	struct tools_link *links;
	size_t n_links;
	struct strv path; /* PATH inside, in order */
	char *argv0;	  /* as it is to be executed inside; NULL when argv0 was */
	char *file;	  /* the command on the host; NULL: not found */
	bool found;
	bool inside; /* its file is seen inside: nothing but that makes it run */
};

/*
 * An argv0 that is not found is left as it is: exec inside gives the proper 127. One that is found
 * but must not be brought in (it lies among credentials) is an error, exit 125, that says so.
 * Every known tool root that the host's PATH names is brought in too, so that `sh -c 'node …'`
 * finds what the user's shell would. A program of `more` or `home_programs` that must not be
 * brought in is left out; so is what no longer fits.
 *
 * PATH inside keeps the host's order for what exists inside read-only (system directories and what
 * is bound here), then the usual system directories that were missing; ~/.local/bin of the
 * sandbox, which the agent can write, is last; the workspace and relative entries are left out.
 */
int tools_resolve(const struct tools_input *in, struct tools *ret, struct err *err);
void tools_done(struct tools *t);
/* The entries of ->path joined with ':'. */
char *tools_path_text(const struct tools *t);

/* Is this path one that may hold credentials, or does it contain one that does? Both absolute. */
bool tools_is_private(const char *path, const char *home);
/* May this file or directory hold a key or login, by its place or by its name, wherever it lies? */
bool tools_may_hold_key(const char *path, const char *home);
