#pragma once

/* The harness of tests that import: real git on both sides. */
#include "git-sh.h"

#include "base/buf.h"
#include "base/fd.h"
#include "workspace/private/private-git.h"

/*
 * The user's repository is tree/w. The agent works in the same tree with a private git directory,
 * tree/p, as a mount in a sandbox would show it. An import is the script of the sandbox, piped into
 * the program that imports.
 */
static struct private_git made;

/* meson runs some of these tests again with GIT_DEFAULT_HASH=sha256. */
static inline bool is_wide(void)
{
	const char *hash = getenv("GIT_DEFAULT_HASH");

	return hash && streq(hash, "sha256");
}

static inline int start(void **state)
{
	cleanup_free char *exe = xasprintf("%s", REPO_EXE), *script = NULL;

	if (tree_make(state) < 0)
		return -1;
	tree_dir("home");
	tree_dir("w");
	tree_file("export.sh", 0644, private_git_export);
	tree_file("sync.sh", 0644, private_git_sync);
	script = xasprintf(
		"git config --global user.name User; git config --global user.email u@example.org\n"
		"git config --global init.defaultBranch main\n"
		"git config --global protocol.file.allow always\n"
		"git config --global advice.detachedHead false\n"
		"ln -s %s $TREE/repo\n"
		"git init -q .; echo one >a; mkdir d; echo two >d/b; git add .; git commit -qm "
		"first\n"
		"echo 2 >>a; git commit -qam second; git branch side",
		exe);
	run_sh(script);
	return 0;
}

static inline int end(void **state)
{
	private_git_done(&made);
	return tree_remove(state);
}

#define WITH_GIT(f) cmocka_unit_test_setup_teardown(f, start, end)

static inline struct gitdir find(void)
{
	cleanup_free char *w = tree_path("w");
	struct gitdir g = {0};
	struct err e = {0};

	ok(gitdir_find(w, NULL, &g, &e), &e);
	assert_non_null(g.root);
	return g;
}

static inline void make_private(void)
{
	cleanup_free char *p = tree_path("p"), *run = tree_path("run");
	struct gitdir g = find();
	const struct private_git_input in = {.git = &g, .run = run};
	struct err e = {0};
	cleanup_fd int at = -1;

	assert_int_equal(mkdir(p, 0700), 0);
	at = open(p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(private_git_make(&in, at, &made, &e), &e);
	for (size_t i = 0; i < made.n_binds; i++) {
		cleanup_free char *script =
			xasprintf("mkdir -p $(dirname %s); ln -s %s %s", made.binds[i].target,
				  made.binds[i].source, made.binds[i].target);

		if (!streq(made.binds[i].source, made.binds[i].target))
			run_sh(script);
	}
	tree_file("tips", 0644, made.told);
	gitdir_done(&g);
}

#define INSIDE                                                                                     \
	"export GIT_DIR=$TREE/p GIT_WORK_TREE=$TREE/w GIT_AUTHOR_NAME=Agent "                      \
	"GIT_COMMITTER_NAME=Agent\n"

static inline void inside(const char *script)
{
	cleanup_free char *all = xasprintf(INSIDE "%s", script);

	run_sh(all);
}

static inline void write_moved(void)
{
	struct gitdir g = find();
	struct err e = {0};
	struct buf b;

	buf_init(&b, 1 * MiB);
	ok(private_git_moved(&g, "box", made.told, &b, &e), &e);
	tree_file("moved", 0644, buf_str(&b));
	buf_done(&b);
	gitdir_done(&g);
}

static inline void sync_in(void)
{
	write_moved();
	inside("sh $TREE/sync.sh <$TREE/moved");
}

static inline void write_told(void)
{
	struct gitdir g = find();
	struct err e = {0};
	struct buf b;

	buf_init(&b, 1 * MiB);
	ok(private_git_told(&g, "box", made.told, &b, &e), &e);
	tree_file("told", 0644, buf_str(&b));
	buf_done(&b);
	gitdir_done(&g);
}

/* The answer, or the error behind "error: ". The caller frees it. */
static inline char *import_when(const char *when)
{
	cleanup_free char *script =
		xasprintf("(" INSIDE "sh $TREE/export.sh <$TREE/told) >$TREE/stream\n"
			  "$TREE/repo import $TREE/w box %s <$TREE/stream 3<$TREE/tips 2>$TREE/why "
			  "|| { printf "
			  "'error: '; cat $TREE/why; }",
			  when);

	write_told();
	return sh(script);
}

static inline void import_says(const char *want)
{
	cleanup_free char *is = import_when("idle");

	if (!strstr(is, want))
		fail_msg("'%s' is not in: %s", want, is);
}

static inline void held_as(const char *ref, const char *why)
{
	cleanup_free char *want = xasprintf("\"as\":\"%s\",\"why\":\"%s\"", ref, why);

	import_says(want);
}

static inline void is_clean(void)
{
	sh_says("git status --porcelain", "");
	run_sh("git fsck --strict --no-progress 2>&1; test -z \"$(ls -d .git/objects/ralph-in-* "
	       ".git/index.lock .git/ralph-import 2>/dev/null)\"");
}

static inline void inside_says(const char *script, const char *want)
{
	cleanup_free char *all = xasprintf(INSIDE "%s", script);

	sh_says(all, want);
}
