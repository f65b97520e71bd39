#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jpick.h"
#include "base/path.h"
#include "hook/hook.h"

#define STATUS_MS 20000
#define STATUS_MAX (4 * KiB)
#define TASKS_MAX (8 * MiB)

/*
 * git, with what a repository's settings could make it run switched off. The agent has all the
 * rights of this hook; this only keeps the question from having effects.
 */
static char *const status_argv[] = {"git",
				    "-c",
				    "core.fsmonitor=false",
				    "-c",
				    "core.hooksPath=/dev/null",
				    "-c",
				    "status.showUntrackedFiles=normal",
				    "status",
				    "--porcelain",
				    "--ignore-submodules=all",
				    NULL};

static void run_status(const char *cwd, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)dup2(null, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	(void)setenv("GIT_OPTIONAL_LOCKS", "0", 1);
	if (chdir(cwd) == 0)
		(void)execvp(status_argv[0], status_argv);
	_exit(127);
}

/* The first lines of what has changed; false: nothing, or it cannot be told. */
static bool tree_is_dirty(const char *cwd, struct buf *lines)
{
	cleanup_fd int out = -1;
	uint64_t until = now_ms() + STATUS_MS;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		run_status(cwd, fds[1]);
	(void)close(fds[1]);
	out = fds[0];
	while (pid > 0 && buf_room(lines) > 0) {
		uint64_t now = now_ms();
		struct pollfd p = {.fd = out, .events = POLLIN};
		ssize_t n;

		if (now >= until || poll(&p, 1, (int)(until - now)) <= 0)
			break;
		if (buf_reserve(lines, 1) < 0)
			break;
		n = read(out, lines->data + lines->len,
			 lines->cap - lines->len < buf_room(lines) ? lines->cap - lines->len
								   : buf_room(lines));
		if (n <= 0)
			break;
		lines->len += (size_t)n;
	}
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	return lines->len > 0;
}

static bool story_is_valid(struct jtext story)
{
	static const char *const names[] = {"id", "passes"};
	struct jtext v[2];

	return jpick(story, names, v, 2) && v[0].p &&
	       (!v[1].p || jtext_true(v[1]) || (v[1].n == 5 && memcmp(v[1].p, "false", 5) == 0));
}

/* NULL: it is as it must be, or not there. */
static const char *tasks_fault(const char *path)
{
	cleanup_buf struct buf b;
	struct jtext stories, story;
	size_t at = 0;
	int r;

	buf_init(&b, TASKS_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
		return NULL;
	if (r < 0)
		return "cannot be read";
	stories = jpick_one((struct jtext){b.data, b.len}, "userStories");
	if (!jtext_is_array(stories))
		return "is no JSON object with userStories";
	while (jpick_each(stories, &at, &story))
		if (!story_is_valid(story))
			return "has a story without an id, or whose \"passes\" is neither true nor "
			       "false";
	return NULL;
}

static bool put_tasks_fault(const char *cwd, struct buf *reason)
{
	static const char *const files[] = {".ralph/prd.json", "prd.json"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_free char *path = path_join(cwd, files[i]);
		const char *fault = tasks_fault(path);

		if (!fault)
			continue;
		(void)buf_printf(reason, "%s %s: repair it. ", files[i], fault);
		return true;
	}
	return false;
}

int hook_stop(const struct hook_input *in, int read_error)
{
	cleanup_buf struct buf lines, reason, out;
	bool dirty, wrong;

	buf_init(&lines, STATUS_MAX);
	buf_init(&reason, 8 * KiB);
	buf_init(&out, 64 * KiB);
	if (read_error < 0)
		hook_say("stop: what the agent sent is not understood, ignoring it");
	/* Once reminded, it may stop as it is. */
	if (read_error < 0 || in->stop_active || !in->cwd || !hook_in_loop(in->cwd) ||
	    session_level(in->session) == SESSION_OVER)
		return 0;
	wrong = put_tasks_fault(in->cwd, &reason);
	dirty = tree_is_dirty(in->cwd, &lines);
	if (!wrong && !dirty)
		return 0;
	if (dirty) {
		(void)buf_puts(&reason, "There are changes that are not committed; commit what "
					"belongs to the task and "
					"put back the rest:\n");
		(void)buf_puts(&reason, buf_str(&lines));
	}
	(void)buf_puts(&out, "{\"decision\":\"block\",\"reason\":");
	(void)buf_put_quoted(&out, buf_str(&reason));
	(void)buf_puts(&out, "}\n");
	(void)fd_write_all(STDOUT_FILENO, out.data, out.len);
	return 0;
}
