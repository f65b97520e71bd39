#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Paths of a root that is being built. `root` stands for "/": no link leads out of it, whatever an
 * agent once put in a directory that is bound there. All but the last two give a descriptor or 0,
 * else -errno; a descriptor is good until site_tidy() closes it.
 *
 * Neighbours come one after the other, so the directory that was used last is kept open.
 */
struct site {
	int root;
	int dir; /* the one used last; -1: none */
	char path[4096];
	int first; /* descriptors from here on are ours to close */
	unsigned used;
};

void site_init(struct site *p, int root);
/* The place of a mount: what is there, else an empty directory or file, with what is above it. */
int rootpath_make(struct site *p, const char *path, bool dir);
int rootpath_open(struct site *p, const char *path);
int rootpath_dir(struct site *p, const char *path, mode_t mode);
int rootpath_symlink(struct site *p, const char *path, const char *text);
/* A new file, open for writing; the caller closes it, or its mount could not be read-only. */
int rootpath_file(struct site *p, const char *path, mode_t mode);
/* Something was mounted: a directory that is open may be covered by now. */
void site_changed(struct site *p);
/* Closes what was opened since the last time, now and then. One call closes them all, where there
 * would be hundreds. */
void site_tidy(struct site *p);

/* Looks path up as if root were "/". */
int rootpath_lookup(int root, const char *path, int flags);
/* The same without any link on the way or at the end. */
int rootpath_lookup_plain(int root, const char *path, int flags);
