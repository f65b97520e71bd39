#pragma once

#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "config/config.h"

/* A directory of its own for each test, with the files it writes. */
struct place {
	char dir[64];
	char user[96], profiles[96], shipped[96], project[96];
	struct strv env, flags;
	struct config_sources src;
	struct config *c;
	struct err e;
};

static inline int place_setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	memcpy(p->dir, "/tmp/ralph-config-XXXXXX", 25);
	assert_non_null(mkdtemp(p->dir));
	(void)snprintf(p->user, sizeof(p->user), "%s/user.yaml", p->dir);
	(void)snprintf(p->profiles, sizeof(p->profiles), "%s/profiles", p->dir);
	(void)snprintf(p->shipped, sizeof(p->shipped), "%s/shipped", p->dir);
	(void)snprintf(p->project, sizeof(p->project), "%s/work/.ralph/config.yaml", p->dir);
	strv_init(&p->env);
	strv_init(&p->flags);
	p->src = (struct config_sources){
		.user_file = p->user,
		.profile_dir = p->profiles,
		.shipped_dir = p->shipped,
		.project_file = p->project,
		.flags = &p->flags,
		.home = "/home/u",
	};
	*state = p;
	return 0;
}

static inline int place_teardown(void **state)
{
	struct place *p = *state;

	assert_int_equal(path_remove_tree(AT_FDCWD, p->dir, &p->e), 0);
	strv_done(&p->env);
	strv_done(&p->flags);
	(void)config_free(p->c);
	free(p);
	return 0;
}

static inline void put(const char *path, const char *text)
{
	cleanup_free char *dir = path_dir(path);
	struct err e;

	assert_int_equal(path_mkdirs(dir, 0700, &e), 0);
	assert_int_equal(path_write_atomic(AT_FDCWD, path, text, strlen(text), 0600, 0), 0);
}

static inline void put_profile(const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = path_join(dir, name);

	put(path, text);
}

static inline int load(struct place *p)
{
	p->src.environ = p->env.v;
	p->c = config_free(p->c);
	p->e = (struct err){0};
	return config_load(&p->src, &p->c, &p->e);
}

static inline void load_ok(struct place *p)
{
	if (load(p) < 0)
		fail_msg("%s", p->e.msg);
}

/* The message without the directory of this test in front. */
static inline void load_fails(struct place *p, const char *message)
{
	const char *at;

	assert_int_equal(load(p), -EINVAL);
	assert_null(p->c);
	at = strncmp(p->e.msg, p->dir, strlen(p->dir)) == 0 ? p->e.msg + strlen(p->dir) + 1
							    : p->e.msg;
	assert_string_equal(at, message);
	assert_int_equal(err_exit_code(&p->e, EXIT_RALPH), EXIT_USAGE);
}

#define with_place(fn) cmocka_unit_test_setup_teardown(fn, place_setup, place_teardown)
