#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * Every directory of a tree that an agent may have written, no link followed, mounts below it
 * included: the agent sees those too. A directory that is closed to its owner is opened and gets
 * its mode back; nothing is left out without a word.
 */
#define TREE_DEPTH_MAX 400 /* each level holds a descriptor */

struct tree_dir {
	const struct tree_dir *parent; /* NULL: the top */
	int fd;
	const char *path;
	unsigned depth;
	struct stat st;
	mode_t mode;   /* to be given back at the end of the look */
	bool *matters; /* to be set where a later walk must read the names as well */
	size_t known;  /* in the shape */
};

struct tree_ops {
	/* Each name but "." and ".."; whether to go into it, where it is a directory. */
	bool (*name)(void *arg, const struct tree_dir *d, const char *name, unsigned char type);
	void (*leave)(void *arg, const struct tree_dir *d); /* after its names; may be NULL */
	/* Not looked at: too deep (ELOOP), or the system refused. name "": the directory itself. */
	void (*refused)(void *arg, const struct tree_dir *d, const char *name, int error);
};

/* -errno when the top itself cannot be opened; fd is taken. */
int tree_walk(int fd, const char *path, const struct tree_ops *ops, void *arg);

/* The same, and writes down which directories there are. *ret is NULL where that is of no use. */
struct tree_shape;
int tree_walk_note(int fd, const char *path, const struct tree_ops *ops, void *arg,
		   struct tree_shape **ret);
/* The same without the names of directories that are as they were; shape NULL: all of them. */
int tree_walk_changed(int fd, const char *path, const struct tree_ops *ops, void *arg,
		      const struct tree_shape *shape);
/* Why something could not be looked at, for people. */
const char *tree_refusal(int error);
