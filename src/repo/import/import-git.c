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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "repo/take.h"

#define GIT_MS (5 * 60 * 1000)
#define ANSWER_MAX (64 * KiB)
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
#define EMPTY_TREE_WIDE "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"

struct question {
	struct import_hex from, to; /* from "-": there is no commit yet */
	bool whole;		    /* what the index has does not count */
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
	/* A branch without commits has the empty tree, which every git knows. */
	cleanup_free char *git = host_git_find(im->git.root, im->git.common);
	const char *empty = im->wide ? EMPTY_TREE_WIDE : EMPTY_TREE;
	const char *from = streq(q->from.v, "-") ? empty : q->from.v;
	char *argv[] = {git,
			"-c",
			"core.hooksPath=/dev/null",
			"-c",
			"core.fsmonitor=false",
			"read-tree",
			NULL,
			NULL,
			NULL,
			NULL,
			NULL};
	size_t n = 6;
	char *env[] = {index, dir, tree, home, path, "GIT_TERMINAL_PROMPT=0", NULL};
	struct run run = RUN_INIT;
	struct err err;
	int code = 0, r;

	if (!git)
		return -ENOENT;
	if (!q->whole) {
		argv[n++] = "-m";
		argv[n++] = "-i";
		argv[n++] = (char *)(uintptr_t)from;
	}
	argv[n++] = (char *)(uintptr_t)q->to.v;
	run.argv = argv;
	run.env = env;
	run.dir = im->git.root;
	run.flags = RUN_DIE_WITH_US;
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
	if (!im->wide && !is_needed(im))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(err, errno, "cannot make a socket");
	pid = fork();
	if (pid == 0) {
		/* Nothing that others wait for stays open in here. */
		fd_close_rest(&fds[1], 1);
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
	struct question q = {.whole = im->wide && im->finishes};
	struct pollfd p = {.fd = im->helper, .events = POLLIN};
	unsigned char answer = 1;
	struct import_hex h;

	(void)memccpy(q.from.v, import_hex(im, &im->host_tip, &h), '\0', sizeof(q.from.v));
	(void)memccpy(q.to.v, import_hex(im, &im->next_tip, &h), '\0', sizeof(q.to.v));
	return fd_write_all(im->helper, &q, sizeof(q)) == 0 && poll(&p, 1, GIT_MS) == 1 &&
	       read(im->helper, &answer, 1) == 1 && answer == 0;
}
