#pragma once

#include "base/mem.h"
#include "spec/spec.h"
#include "workspace/findings.h"

#include <stdbool.h>
#include <sys/stat.h>

/*
 * The protected names of the writable trees as they were at the start, by content: a clock that
 * steps back, or a time that was set, hides no change. Kept in the sandbox's record as well, for
 * whoever looks after a supervisor that was killed.
 */
struct seen;

/* Adds what leads into ralph's state, a directory, to the findings. */
struct seen *seen_new(const struct sandbox_spec *spec, const char *state, struct findings *out);
struct seen *seen_free(struct seen *s);
DEFINE_FREEP(struct seen, seen_free)

/* Is `name` below dirfd, whose path is given, what it was? A look that fails says no. */
bool seen_same(const struct seen *s, int dirfd, const char *name, const char *path);

/*
 * The parts of a protected file or directory that are compared each: all of it, or what is beside
 * the files that the spec lets the agent change.
 */
typedef void seen_part_fn(void *arg, int dirfd, const char *name, const char *path);
void seen_parts(const struct sandbox_spec *spec, int dirfd, const char *name, const char *path,
		unsigned depth, seen_part_fn *fn, void *arg);

/*
 * Git directories are written down too: .git in any spelling, and each directory that git takes for
 * one (seen_is_git). seen_git_same() is false for one that appeared, or was replaced.
 */
bool seen_git_same(const struct seen *s, const struct sandbox_spec *spec, int dirfd,
		   const char *name, const char *path);
bool seen_has_git(const struct seen *s); /* else an older release wrote it */
bool seen_is_git(int fd);
/* A program of tree-programs.h, or a component of the way to one. */
bool seen_program_same(const struct seen *s, int dirfd, const char *name, const char *path,
		       const struct stat *st);
bool seen_has_programs(const struct seen *s); /* else an older release wrote it */
/* The directories of a watch of the spec; NULL: all of them are to be read. */
struct tree_shape;
const struct tree_shape *seen_shape(const struct seen *s, size_t watch);
/* Does the spec protect it? */
bool seen_is_place(const struct sandbox_spec *spec, const char *path);

/* dir: the record. Without one that can be read, times decide. */
int seen_write(struct seen *s, int dir);
struct seen *seen_read(int dir);
