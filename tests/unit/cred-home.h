#pragma once

/* A host of the test's own: a home with files, programs on its PATH, an environment. */
#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "cred/cred.h"

struct home {
	char *dir, *bin;
	struct strv env;
	struct cred_host host;
};

static inline void home_env(struct home *h, const char *name, const char *value)
{
	strv_env_set(&h->env, name, value);
	h->host.environ = h->env.v;
}

static inline char *home_path(const struct home *h, const char *name)
{
	return path_join(h->dir, name);
}

/* Directories on the way are made. */
static inline void home_put(const struct home *h, const char *name, mode_t mode, const char *text)
{
	cleanup_free char *path = home_path(h, name), *dir = path_dir(path);
	struct err err = {0};
	FILE *f;

	assert_int_equal(path_mkdirs(dir, 0700, &err), 0);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* A program on the host's PATH. */
static inline void home_program(const struct home *h, const char *name, const char *script)
{
	cleanup_free char *file = xasprintf("bin/%s", name);
	cleanup_free char *text = xasprintf("#!/bin/sh\n%s\n", script);

	home_put(h, file, 0755, text);
}

static inline void home_forget(const struct home *h, const char *name)
{
	cleanup_free char *path = home_path(h, name);

	assert_int_equal(unlink(path), 0);
}

static inline void home_make(struct home *h)
{
	*h = (struct home){.dir = xstrdup("/tmp/ralph-cred-XXXXXX")};
	assert_non_null(mkdtemp(h->dir));
	strv_init(&h->env);
	h->bin = home_path(h, "bin");
	assert_int_equal(mkdir(h->bin, 0755), 0);
	h->host = (struct cred_host){.home = h->dir, .config = h->dir, .libexec = h->bin};
	home_env(h, "HOME", h->dir);
	home_env(h, "PATH", h->bin);
}

static inline void home_drop(struct home *h)
{
	struct err err = {0};

	assert_int_equal(path_remove_tree(AT_FDCWD, h->dir, &err), 0);
	free(h->dir);
	free(h->bin);
	strv_done(&h->env);
}
