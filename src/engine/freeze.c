#include "engine/freeze.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"

/* A parent that waits for a child of vfork() to run a program cannot stop before that child does.
 * Then all go on for a moment, and are stopped again. */
#define ROUND_MS 100

/* ---- by the cgroup ---- */

static bool cgroup_is_frozen(const struct cgroup *c)
{
	cleanup_buf struct buf b;

	buf_init(&b, 4 * KiB);
	return path_read(c->at[0].dir, "cgroup.events", &b) == 0 && strstr(buf_str(&b), "frozen 1");
}

static int by_cgroup(const struct cgroup *c, struct err *err)
{
	uint64_t end = now_ms() + FREEZE_MS;
	int r = cgroup_freeze(c, true);

	if (r < 0)
		return err_sys(err, -r, "cannot freeze the cgroup of the sandbox");
	while (!cgroup_is_frozen(c)) {
		if (now_ms() >= end) {
			(void)cgroup_freeze(c, false);
			return err_set(err, ETIMEDOUT, "the sandbox does not freeze");
		}
		(void)poll(NULL, 0, 1);
	}
	return 0;
}

/* ---- by signals ---- */

/*
 * The guest comes first, as it would start a command that it was told of, and continues its own
 * children. Then, in a child of a child: its kill(-1) reaches all processes of the namespace but pid 1, and none
 * that is being made escapes, because the kernel ends a fork() with a signal pending. What can be
 * done to this process from inside is to kill it, and then the caller sees that it failed.
 */
static int stop_from_inside(pid_t init)
{
	cleanup_fd int pids = -1, user = -1;
	char path[64];
	int status = 0;
	pid_t child;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)init);
	pids = open(path, O_RDONLY | O_CLOEXEC);
	user = pids < 0 ? -1 : ioctl(pids, NS_GET_USERNS);
	/* EINVAL: that user namespace is our own. */
	if (user < 0 || (setns(user, CLONE_NEWUSER) < 0 && errno != EINVAL) ||
	    setns(pids, CLONE_NEWPID) < 0)
		return errno;
	child = fork();
	if (child < 0)
		return errno;
	if (child == 0)
		_exit(kill(-1, SIGSTOP) < 0 && errno != ESRCH ? errno : 0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/* 'T' and the like; 0: it is gone. */
static char state_of(int dir, const char *task)
{
	cleanup_free char *path = path_join(task, "stat");
	cleanup_buf struct buf b;
	const char *behind;

	buf_init(&b, 4 * KiB);
	if (path_read(dir, path, &b) < 0)
		return 0;
	/* The name, in parentheses, is the process's own choice. */
	behind = strrchr(buf_str(&b), ')');
	return behind && behind[1] ? behind[2] : 0;
}

/* What keeps it from standing still, the worst first. */
enum motion { STILL, WAITS, RUNS };

static enum motion motion_of(char state)
{
	return state == 0 || strchr("TtZXx", state) ? STILL : state == 'D' ? WAITS : RUNS;
}

static void look_at_tasks(int proc, const char *pid, enum motion *worst)
{
	cleanup_free char *path = path_join(pid, "task");
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		if (errno != ENOENT && errno != ESRCH)
			*worst = RUNS;
		closep(&fd);
		return;
	}
	while ((de = readdir(d))) {
		enum motion m =
			de->d_name[0] == '.' ? STILL : motion_of(state_of(dirfd(d), de->d_name));

		*worst = m > *worst ? m : *worst;
	}
	(void)closedir(d);
}

typedef void each_fn(void *arg, int proc, const char *name, pid_t pid);

/* A program inside may have namespaces of its own, as gVisor's gofer has: a signal reaches these too. */
#define NESTED_MAX 4

static bool is_below(int proc, const char *path, ino_t want)
{
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	bool found = false;
	struct stat st;

	for (int level = 0; fd >= 0 && level < NESTED_MAX && !found; level++) {
		int parent = ioctl(fd, NS_GET_PARENT);

		(void)close(fd);
		fd = parent;
		found = fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == want;
	}
	if (fd >= 0)
		(void)close(fd);
	return found;
}

/* Every process of the namespace, and of those below it, but its first. */
static int each(pid_t init, each_fn *fn, void *arg)
{
	char first[64], other[64];
	DIR *d = opendir("/proc");
	struct stat want, own, st;
	struct dirent *de;
	uint64_t pid;

	if (!d)
		return -errno;
	(void)snprintf(first, sizeof(first), "%d/ns/pid", (int)init);
	if (fstatat(dirfd(d), first, &want, 0) < 0 || stat("/proc/self/ns/pid", &own) < 0) {
		(void)closedir(d);
		return -ESRCH;
	}
	while ((de = readdir(d))) {
		if (parse_uint(de->d_name, 1, INT32_MAX, &pid) < 0 || (pid_t)pid == init)
			continue;
		(void)snprintf(other, sizeof(other), "%llu/ns/pid", (unsigned long long)pid);
		if (fstatat(dirfd(d), other, &st, 0) < 0 || st.st_ino == own.st_ino)
			continue;
		if (st.st_ino == want.st_ino || is_below(dirfd(d), other, want.st_ino))
			fn(arg, dirfd(d), de->d_name, (pid_t)pid);
	}
	(void)closedir(d);
	return 0;
}

static void note_stopped(void *arg, int proc, const char *name, pid_t pid)
{
	struct freeze *f = arg;

	if (f->n_stopped == FREEZE_STOPPED_MAX || state_of(proc, name) != 'T')
		return;
	f->stopped = xrealloc(f->stopped, f->n_stopped + 1, sizeof(*f->stopped));
	f->stopped[f->n_stopped++] = pid;
}

static void note_motion(void *arg, int proc, const char *name, pid_t pid)
{
	look_at_tasks(proc, name, arg);
}

/* A process that runs has to be given a processor before it sees the signal. -EAGAIN: some wait in
 * the kernel, for longer than a file takes. */
static int wait_still(pid_t init, uint64_t end)
{
	uint64_t since = now_ms();

	for (;;) {
		enum motion worst = STILL;
		int r = each(init, note_motion, &worst);

		if (r < 0 || worst == STILL)
			return r;
		if (worst == RUNS)
			since = now_ms();
		if (now_ms() >= end)
			return -ETIMEDOUT;
		if (now_ms() >= since + ROUND_MS)
			return -EAGAIN;
		(void)poll(NULL, 0, 1);
	}
}

static int stop_guest(pid_t init, uint64_t end)
{
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", (int)init);
	if (proc < 0 || kill(init, SIGSTOP) < 0)
		return -errno;
	for (;;) {
		enum motion worst = STILL;

		look_at_tasks(proc, name, &worst);
		if (worst == STILL)
			return 0;
		if (now_ms() >= end)
			return -ETIMEDOUT;
		(void)poll(NULL, 0, 1);
	}
}

static int stop_all(pid_t init, uint64_t end)
{
	int status = 0, r = stop_guest(init, end);
	pid_t child;

	if (r < 0)
		return r;
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(stop_from_inside(init));
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

struct list {
	const struct freeze *f;
	pid_t *v;
	size_t n;
};

static void add_pid(void *arg, int proc, const char *name, pid_t pid)
{
	struct list *l = arg;

	for (size_t i = 0; i < l->f->n_stopped; i++)
		if (l->f->stopped[i] == pid)
			return;
	l->v = xrealloc(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = pid;
}

static int youngest_first(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Children before their parents: a shell that wakes up finds none of its jobs stopped. */
static void continue_all(const struct freeze *f)
{
	struct list l = {.f = f};

	(void)each(f->init, add_pid, &l);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), youngest_first);
	for (size_t i = 0; i < l.n; i++)
		(void)kill(l.v[i], SIGCONT);
	(void)kill(f->init, SIGCONT);
	free(l.v);
}

static int by_signals(struct freeze *f, struct err *err)
{
	uint64_t end = now_ms() + FREEZE_MS;
	int r = each(f->init, note_stopped, f);

	while (r == 0) {
		r = stop_all(f->init, end);
		if (r == 0)
			r = wait_still(f->init, end);
		if (r == 0)
			return 0;
		continue_all(f);
		if (r == -EAGAIN && now_ms() < end)
			r = 0;
	}
	return err_sys(err, -r, "cannot stop the processes of the sandbox");
}

int freeze_begin(const struct cgroup *c, pid_t init, struct freeze *ret, struct err *err)
{
	struct freeze f = {.init = init};
	int r;

	if (init <= 0)
		return err_set(err, ESRCH, "the sandbox is not up");
	if (cgroup_clone_fd(c) >= 0)
		f.cgroup = c;
	r = f.cgroup ? by_cgroup(c, err) : by_signals(&f, err);
	if (r < 0) {
		free(f.stopped);
		return r;
	}
	*ret = f;
	return 0;
}

void freeze_end(struct freeze *f)
{
	if (f->cgroup)
		(void)cgroup_freeze(f->cgroup, false);
	else if (f->init > 0)
		continue_all(f);
	free(f->stopped);
	*f = (struct freeze){0};
}
