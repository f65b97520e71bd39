#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Copies a tree that somebody hostile may have made, and may be changing meanwhile: no link is ever
 * followed, on either side; of a file no more is copied than it held when it was opened, and its
 * holes stay holes; pipes, sockets and devices are left out; modes lose what is beyond 0777, and
 * what the umask takes unless they are asked for.
 */
enum copy_links {
	COPY_LINKS_ALL,	   /* as they are */
	COPY_LINKS_INSIDE, /* only those that lead to something in the tree */
};

struct copy_rules {
	uint64_t bytes_max; /* of data; more, and more files or depth, is -EFBIG */
	unsigned files_max, depth_max;
	enum copy_links links;
	bool replace; /* files that are there are replaced, each in one step, and directories
		       * filled; else what is there is -EEXIST */
	bool modes;   /* as they are; else directories are 0700, and files as the umask has it */
	/* Told of what was left out, by its path in the tree; may be NULL. */
	void (*skipped)(void *arg, const char *path, const char *why);
	void *arg;
};

/*
 * Copies name below `from` to to_name below `to`; neither is a path. After an error the part that
 * was copied stays.
 */
int copy_tree(int from, const char *name, int to, const char *to_name,
	      const struct copy_rules *rules);

/*
 * Tells whether a link with this text, `depth` levels below the top of a tree, leads to something
 * in the tree. Directly below the top the depth is 1.
 */
bool copy_link_inside(const char *text, unsigned depth);
