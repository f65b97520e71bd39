#include "repo/repo-parts.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/landlock.h"
#include "base/proc.h"

/* The child's own memory; packs are mapped and do not count. */
#define DATA_MAX ((rlim_t)2 * GiB)

static int allow_files(const struct repo *r, const struct repo_task *t)
{
	enum landlock_rights own = t->flags & REPO_TASK_WRITE ? LANDLOCK_WRITE : LANDLOCK_READ;
	const json_t *readable = repo_view_list(r, "readable"), *path;
	struct landlock l;
	size_t i;
	int rc = landlock_begin(&l, landlock_abi(),
				LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);

	if (rc == 0 && (t->flags & REPO_TASK_VIEW))
		rc = landlock_allow(&l, "/", LANDLOCK_READ);
	if (rc == 0)
		rc = landlock_allow(&l, r->git.root, own);
	if (rc == 0)
		rc = landlock_allow(&l, r->git.common, own);
	if (rc == 0)
		rc = landlock_allow(&l, r->git.dir, own);
	if (rc == 0 && t->also)
		rc = landlock_allow(&l, t->also, LANDLOCK_WRITE);
	json_array_foreach (readable, i, path)
		if (rc == 0)
			rc = landlock_allow(&l, json_string_value(path), LANDLOCK_READ);
	return rc == 0 ? landlock_enforce(&l) : rc;
}

/* Resets the signals and standard streams as for a new program; closes everything else. */
static int close_all_but(int a, int b)
{
	static const struct run nothing = {.stdio = {-1, -1, -1},
					   .into_cgroup = -1,
					   .flags = RUN_DIE_WITH_US | RUN_NEW_SESSION};
	int low = b < 0 || a < b ? a : b, high = a < b ? b : a;
	int r = run_become(&nothing);

	if (r == 0 && low > 3)
		r = syscall(SYS_close_range, 3, low - 1, 0) < 0 ? -errno : 0;
	if (r == 0 && high > low + 1)
		r = syscall(SYS_close_range, low + 1, high - 1, 0) < 0 ? -errno : 0;
	if (r == 0)
		r = syscall(SYS_close_range, high + 1, ~0U, 0) < 0 ? -errno : 0;
	return r;
}

static int confine(const struct repo *r, const struct repo_task *t, int reply, struct err *err)
{
	const struct rlimit no_core = {0, 0};
	int rc;

	tzset(); /* reads a file now, because system files are unreadable later */
	rc = close_all_but(reply, t->fd);
	if (rc == 0 && setrlimit(RLIMIT_CORE, &no_core) < 0)
		rc = -errno;
#if !defined(__SANITIZE_ADDRESS__) /* ASan's shadow memory exceeds this limit */
	if (rc == 0) {
		const struct rlimit data = {DATA_MAX, DATA_MAX};

		rc = setrlimit(RLIMIT_DATA, &data) < 0 ? -errno : 0;
	}
#endif
	if (rc == 0)
		rc = allow_files(r, t);
	return rc < 0 ? err_sys(err, -rc, "cannot confine work on the repository") : 0;
}

static int do_task(const struct repo *r, const struct repo_task *t, int reply, json_t *out,
		   struct err *err)
{
	struct repo_job j = {.repo = r, .arg = t->arg, .fd = t->fd};
	int rc = confine(r, t, reply, err);

	if (rc == 0)
		rc = repo_scan(r, err);
	if (rc == 0 && !(t->flags & REPO_TASK_VIEW)) {
		gitlib_start();
		rc = repo_open_git(r, &j.git, err);
	}
	return rc == 0 ? t->run(&j, out, err) : rc;
}

static void child(const struct repo *r, const struct repo_task *t, int reply)
{
	json_t *out = json_object(), *answer;
	struct err err = {0};
	int rc = do_task(r, t, reply, out, &err);
	char *text;

	answer = json_pack("{si si so so}", "r", rc, "exit", err.exit_code, "msg",
			   json_text(err.msg), "out", out);
	text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	_exit(text && fd_write_all(reply, text, strlen(text)) == 0 ? 0 : 1);
}

/* Reads the whole answer of the child, within the time limit. */
static int read_reply(int fd, int limit_ms, struct buf *b)
{
	uint64_t end = now_ms() + (uint64_t)limit_ms;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = now_ms();
		ssize_t n;
		int r;

		if (now >= end)
			return -ETIMEDOUT;
		r = poll(&p, 1, (int)(end - now));
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r <= 0)
			continue;
		r = buf_reserve(b, 64 * KiB);
		if (r < 0)
			return r;
		n = read(fd, b->data + b->len, 64 * KiB);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		b->len += n > 0 ? (size_t)n : 0;
	}
}

static int end_child(pid_t pid, bool kill_it)
{
	int status = 0;

	if (kill_it)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return run_status(status);
}

static int take_answer(struct buf *b, json_t **ret, struct err *err)
{
	cleanup_json json_t *answer = NULL;
	const char *msg = NULL;
	json_t *out = NULL;
	int r = json_parse(buf_str(b), b->len, &answer, err);

	if (r == 0)
		r = json_get_str(answer, "msg", &msg, err);
	if (r == 0)
		r = json_get_object(answer, "out", &out, err);
	if (r < 0)
		return err_wrap(err, r, "what the work on the repository answered");
	r = (int)json_integer_value(json_object_get(answer, "r"));
	/* The answer is returned with an error too: it may hold more than a sentence. */
	if (ret)
		*ret = json_incref(out);
	if (r < 0) {
		(void)err_set(err, -r, "%s", msg);
		err->exit_code = (int)json_integer_value(json_object_get(answer, "exit"));
	}
	return r < 0 ? r : 0;
}

int repo_work(struct repo *r, const struct repo_task *t, json_t **ret, struct err *err)
{
	cleanup_buf struct buf b;
	cleanup_fd int from = -1;
	int pipes[2], rc, code;
	pid_t pid;

	buf_init(&b, REPO_REPLY_MAX);
	if (!r->view && !(t->flags & REPO_TASK_VIEW)) {
		rc = repo_view_take(r, &r->view, err);
		if (rc < 0)
			return rc;
	}
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	from = pipes[0];
	pid = fork();
	if (pid == 0)
		child(r, t, pipes[1]);
	(void)close(pipes[1]);
	if (pid < 0)
		return err_sys(err, errno, "cannot start work on the repository");
	rc = read_reply(from, r->limit_ms, &b);
	code = end_child(pid, rc < 0);
	if (rc == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "work on '%s' did not end in time", r->git.root);
	if (rc < 0)
		return err_sys(err, -rc, "cannot read what the work on '%s' says", r->git.root);
	if (code != 0)
		return err_set(err, EIO, "work on '%s' broke off (%d); is its git directory whole?",
			       r->git.root, code);
	return take_answer(&b, ret, err);
}
