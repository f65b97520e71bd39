#pragma once

/* A temporary tree for tests that look at files: tree_make() and tree_remove() as set-up and
 * tear-down, the rest below it. */
#include "tests.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

static char *tree;

static inline int tree_make(void **state)
{
	char name[] = "/tmp/ralph-test-tree-XXXXXX";

	tree = mkdtemp(name) ? realpath(name, NULL) : NULL;
	return tree ? 0 : -1;
}

static inline int tree_remove(void **state)
{
	struct err e;
	int r = path_remove_tree(AT_FDCWD, tree, &e);

	free(tree);
	return r;
}

/* From here on a change of a file has another time than all before, and all before count as old. */
static inline void tree_clock_ticks(void)
{
	struct timespec begin, now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &begin);
	do {
		(void)poll(NULL, 0, 1);
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 40);
}

/* The caller frees it. */
static inline char *tree_path(const char *rel)
{
	return *rel ? xasprintf("%s/%s", tree, rel) : xstrdup(tree);
}

static inline void tree_dir(const char *rel)
{
	cleanup_free char *p = tree_path(rel);
	struct err e;

	assert_int_equal(path_mkdirs(p, 0755, &e), 0);
}

static inline void tree_file(const char *rel, mode_t mode, const char *text)
{
	cleanup_free char *p = tree_path(rel);
	cleanup_free char *dir = path_dir(p);
	struct err e;
	FILE *f;

	assert_int_equal(path_mkdirs(dir, 0755, &e), 0);
	f = fopen(p, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(p, mode), 0);
}

static inline void tree_link(const char *rel, const char *text)
{
	cleanup_free char *p = tree_path(rel);
	cleanup_free char *dir = path_dir(p);
	struct err e;

	assert_int_equal(path_mkdirs(dir, 0755, &e), 0);
	assert_int_equal(symlink(text, p), 0);
}

#define WITH_TREE(f) cmocka_unit_test_setup_teardown(f, tree_make, tree_remove)
