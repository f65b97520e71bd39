#pragma once

#include "workspace/findings.h"
#include "spec/spec.h"

#include <sys/stat.h>
#include <time.h>

/* What host_run_walk() needs to know of git directories that appeared or changed. */
struct judge {
	const struct sandbox_spec *spec;
	struct timespec since;
	struct findings *out;
	bool all;      /* those that were there at the start are judged as well */
	unsigned left; /* git directories it still looks at */
};

/* A finding of a git directory; takes `why`. */
void judge_add(struct judge *j, const char *dir, const char *name, char *why);
/* Links in a git directory that git would write through. */
void judge_links(struct judge *j, int at, const char *path, bool moved);
bool judge_is_fresh(const struct judge *j, const struct stat *st);
/*
 * A git directory at `path`, open as at: settings that run something, hooks, pointers to
 * elsewhere. moved: something above it is new, so what looks old may have come here with it.
 */
void judge_git(struct judge *j, int at, const char *path, bool moved);
/* .git in the directory `parent`, open as at: a directory, or a file that points to one. */
void judge_dot_git(struct judge *j, int at, const char *parent, bool moved);
/* Is this one of the git directories that were there at the start? Then it is not judged. */
bool judge_is_known(const struct judge *j, const char *path);
