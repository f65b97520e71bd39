#pragma once

#include "base/strv.h"
#include "workspace/gitindex.h"

/*
 * Where a working tree may differ from its index, judged by names, times and sizes. A file is left
 * out only when it is plainly as it was added; libgit2 judges the rest.
 */
enum look_state {
	LOOK_ABSENT,
	LOOK_PRESENT, /* its name is there */
	LOOK_DOUBT,
	LOOK_SAME,
};

struct repo_look {
	struct buf bytes; /* of the index */
	struct gitindex index;
	struct timespec written; /* when the index was written */
	uint8_t *states;	 /* enum look_state, per entry of the index */
	struct strv
		paths; /* entries that are not the same, and names that the index does not have */
};

#define REPO_LOOK_PATHS_MAX 20000

/*
 * git_dir holds the index of the tree at root. -errno: this look cannot tell, and the caller asks
 * libgit2 about the whole tree. ret is to be ended by repo_look_done() in any case.
 */
int repo_look(const char *root, const char *git_dir, struct repo_look *ret);
void repo_look_done(struct repo_look *l);
