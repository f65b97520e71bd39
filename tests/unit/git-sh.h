#pragma once

/* Scripts with git, for tests: the user's home is tree/home, scripts run in tree/w. */
#include "tree.h"

#include "base/proc.h"

/* Runs it in tree/w; TREE is in its environment. Returns its stdout, for the caller to free. */
static inline char *sh(const char *script)
{
	cleanup_free char *home = tree_path("home"), *dir = tree_path("w");
	cleanup_free char *env_home = xasprintf("HOME=%s", home);
	cleanup_free char *env_tree = xasprintf("TREE=%s", tree);
	cleanup_free char *path = xasprintf("PATH=%s", getenv("PATH"));
	/* meson runs some tests once for each kind of names. */
	const char *hash = getenv("GIT_DEFAULT_HASH");
	cleanup_free char *env_hash = xasprintf("GIT_DEFAULT_HASH=%s", hash ? hash : "sha1");
	char *argv[] = {"sh", "-ec", (char *)(uintptr_t)script, NULL};
	/* A program that has given up its files cannot be searched for leaks. */
	char *env[] = {
		env_home, env_tree, path, "GIT_CONFIG_NOSYSTEM=1", "ASAN_OPTIONS=detect_leaks=0",
		env_hash, NULL};
	struct run run = RUN_INIT;
	struct err e = {0};
	char *out = NULL;
	int code = 0;

	run.argv = argv;
	run.env = env;
	run.dir = dir;
	run.flags = RUN_SEARCH_PATH;
	run.stdio[2] = 2;
	if (run_collect(&run, 60000, 4 * MiB, &out, &code, &e) < 0)
		fail_msg("%s", e.msg);
	if (code != 0)
		fail_msg("exit %d: %s", code, script);
	while (*out && out[strlen(out) - 1] == '\n')
		out[strlen(out) - 1] = '\0';
	return out;
}

static inline void run_sh(const char *script)
{
	free(sh(script));
}

static inline void sh_says(const char *script, const char *want)
{
	cleanup_free char *out = sh(script);

	assert_string_equal(out, want);
}

static inline void ok(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%d: %s", r, e->msg);
}
