#pragma once

/* A repository made with git, for tests of what the host does with it: repo_make() and
 * repo_unmake() as set-up and tear-down. The user's home is tree/home, the repository tree/w, the
 * state directory tree/state; a program that runs by mistake leaves tree/witness. */
#include "git-sh.h"

#include "repo/repo.h"

static struct repo *repo;

static inline void repo_again(void)
{
	cleanup_free char *w = tree_path("w"), *state = tree_path("state");
	struct err e = {0};

	repo_free(repo);
	repo = NULL;
	ok(repo_open(w, state, &repo, &e), &e);
}

static inline int repo_make(void **state)
{
	cleanup_free char *home = NULL;

	if (tree_make(state) < 0)
		return -1;
	tree_dir("home");
	tree_dir("w");
	tree_dir("state");
	home = tree_path("home");
	(void)setenv("HOME", home, 1);
	(void)unsetenv("XDG_CONFIG_HOME");
	run_sh("git config --global user.name User; git config --global user.email u@example.org\n"
	       "git config --global init.defaultBranch main; git init -q .\n"
	       "echo one >a; mkdir d; echo two >d/b; git add .; git commit -qm first");
	repo_again();
	return 0;
}

static inline int repo_unmake(void **state)
{
	repo_free(repo);
	repo = NULL;
	return tree_remove(state);
}

static inline void nothing_ran(void)
{
	cleanup_free char *p = tree_path("witness");
	struct stat st;

	assert_int_not_equal(lstat(p, &st), 0);
}

/* The commit that a name stands for. */
static inline struct repo_oid commit_of(const char *name)
{
	cleanup_free char *script = xasprintf("git rev-parse --verify '%s^{commit}'", name);
	cleanup_free char *out = sh(script);
	struct repo_oid oid = {0};

	assert_int_equal(strlen(out), REPO_OID_LEN);
	memcpy(oid.hex, out, REPO_OID_LEN);
	return oid;
}

/* Has the commit graph say that the parent of HEAD~1 is the tag "start". */
static const char graph_lies[] __attribute__((unused)) =
	"CHILD=$(git rev-parse HEAD~1) START=$(git rev-parse start) python3 - <<'E'\n"
	"import hashlib, os, struct\n"
	"f = '.git/objects/info/commit-graph'\n"
	"os.chmod(f, 0o644)\n"
	"b = bytearray(open(f, 'rb').read())\n"
	"chunks = {bytes(b[8 + i * 12:12 + i * 12]): struct.unpack('>Q', b[12 + i * 12:20 + i * "
	"12])[0] for i in range(b[6])}\n"
	"n = struct.unpack('>I', b[chunks[b'OIDF'] + 1020:chunks[b'OIDF'] + 1024])[0]\n"
	"ids = [b[chunks[b'OIDL'] + 20 * i:chunks[b'OIDL'] + 20 * i + 20].hex() for i in "
	"range(n)]\n"
	"at = chunks[b'CDAT'] + 36 * ids.index(os.environ['CHILD']) + 20\n"
	"b[at:at + 4] = struct.pack('>I', ids.index(os.environ['START']))\n"
	"b[-20:] = hashlib.sha1(b[:-20]).digest()\n"
	"open(f, 'wb').write(b)\n"
	"E";

#define WITH_REPO(f) cmocka_unit_test_setup_teardown(f, repo_make, repo_unmake)
