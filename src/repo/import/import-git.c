/*
 * Host git, for an index that libgit2 cannot write: one that is split, or of a sparse checkout. The
 * helper is forked before the import gives up its files and before it has read anything hostile.
 * All that it is ever told is two hashes, so an import that was taken over can have it write an
 * index for some other commit, and nothing else. The repository is the user's alone, so git may
 * read its settings.
 */
#include "repo/import/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"

#define GIT_MS (5 * 60 * 1000)
#define ANSWER_MAX (64 * KiB)

struct question {
	git_oid from, to;
};

static bool is_shared_index(const char *name)
{
	return strncmp(name, "sharedindex.", 12) == 0;
}

static bool is_needed(const struct import *im)
{
	cleanup_free char *sparse = path_join(im->git.dir, "info/sparse-checkout");
	DIR *d = opendir(im->git.dir);
	struct dirent *de;
	struct stat st;
	bool split = !d;

	while (d && !split && (de = readdir(d)))
		split = is_shared_index(de->d_name);
	if (d)
		(void)closedir(d);
	return split || lstat(sparse, &st) == 0;
}

static int run_git(const struct import *im, const struct question *q)
{
	cleanup_free char *index = xasprintf("GIT_INDEX_FILE=%s/" IMPORT_DIR "/index", im->git.dir);
	cleanup_free char *dir = xasprintf("GIT_DIR=%s", im->git.dir);
	cleanup_free char *home = xasprintf("HOME=%s", getenv("HOME") ? getenv("HOME") : "/");
	cleanup_free char *path = xasprintf("PATH=%s", getenv("PATH") ? getenv("PATH") : "");
	cleanup_free char *tree = xasprintf("GIT_WORK_TREE=%s", im->git.root), *out = NULL;
	char from[GIT_OID_HEXSZ + 1], to[GIT_OID_HEXSZ + 1];
	char *argv[] = {"git",
			"-c",
			"core.hooksPath=/dev/null",
			"-c",
			"core.fsmonitor=false",
			"read-tree",
			"-m",
			"-i",
			from,
			to,
			NULL};
	char *env[] = {index, dir, tree, home, path, "GIT_TERMINAL_PROMPT=0", NULL};
	struct run run = RUN_INIT;
	struct err err;
	int code = 0, r;

	/* A branch without commits has the empty tree, which every git knows. */
	(void)git_oid_tostr(from, sizeof(from), &q->from);
	if (git_oid_is_zero(&q->from))
		memcpy(from, "4b825dc642cb6eb9a060e54bf8d69288fbee4904", sizeof(from));
	(void)git_oid_tostr(to, sizeof(to), &q->to);
	run.argv = argv;
	run.env = env;
	run.dir = im->git.root;
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US;
	r = run_collect(&run, GIT_MS, ANSWER_MAX, &out, &code, &err);
	return r < 0 ? r : code;
}

static void helper(const struct import *im, int fd)
{
	struct question q;
	unsigned char answer = 1;

	/* One question, or the import ends without one. */
	if (read(fd, &q, sizeof(q)) == (ssize_t)sizeof(q)) {
		answer = run_git(im, &q) == 0 ? 0 : 1;
		(void)fd_write_all(fd, &answer, 1);
	}
	_exit(0);
}

int import_git_start(struct import *im, struct err *err)
{
	int fds[2];
	pid_t pid;

	im->helper = -1;
	if (!is_needed(im))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(err, errno, "cannot make a socket");
	pid = fork();
	if (pid == 0) {
		(void)close(fds[0]);
		helper(im, fds[1]);
	}
	(void)close(fds[1]);
	im->helper = fds[0];
	if (pid < 0)
		return err_sys(err, errno, "cannot start a helper");
	return 0;
}

bool import_git_index(struct import *im)
{
	const struct question q = {.from = im->host_tip, .to = im->next_tip};
	struct pollfd p = {.fd = im->helper, .events = POLLIN};
	unsigned char answer = 1;

	return fd_write_all(im->helper, &q, sizeof(q)) == 0 && poll(&p, 1, GIT_MS) == 1 &&
	       read(im->helper, &answer, 1) == 1 && answer == 0;
}
