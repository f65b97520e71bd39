#include "worker/node.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/sweep.h"

#define PREFIX "rw-"
#define PLACE_MAX 40 /* of $TMPDIR: sockets lie below, and their paths are short */
#define LOCK "lock"
#define SWEEP_PAUSE_MS 20
#define GRACE_ROUNDS 250 /* five seconds */
#define SWEEPS_MAX 500

const char *node_place(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && tmp[0] == '/' && strlen(tmp) <= PLACE_MAX ? tmp : "/tmp";
}

/* True when this is the directory of a worker of ours that is no more. */
static bool is_left(int at, const char *name)
{
	cleanup_fd int dir = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int lock = -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid())
		return false;
	lock = openat(dir, LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return lock >= 0 && fd_lock(lock, 0) == 0;
}

/* Removes what killed workers of this user left. */
static void remove_left(const char *where)
{
	cleanup_fd int at = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int copy = at < 0 ? -1 : fcntl(at, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct err ignored;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 && is_left(at, e->d_name))
			(void)path_remove_tree(at, e->d_name, &ignored);
	if (d)
		(void)closedir(d);
}

int node_dir_make(struct node *n, struct err *err)
{
	cleanup_free char *dir = xasprintf("%s/" PREFIX "XXXXXX", node_place()), *lock = NULL,
			  *half = NULL;

	remove_left(node_place());
	if (!mkdtemp(dir))
		return err_sys(err, errno, "cannot make a directory in '%s'", node_place());
	lock = path_join(dir, LOCK);
	half = path_join(dir, LOCK ".new");
	n->dir = take_ptr(dir);
	/* It has its name when it is held: one that can be taken is of a worker that is no more. */
	n->lock = open(half, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (n->lock < 0 || fd_lock(n->lock, 0) < 0 || rename(half, lock) < 0)
		return err_set(err, EIO, "cannot lock '%s'", n->dir);
	return 0;
}

static bool has_child(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return pid == 0;
}

/* Supervisors end by themselves when their loop does, and take their cgroups away; what does not is
 * killed. */
static void end_processes(void)
{
	const struct timespec pause = {.tv_nsec = SWEEP_PAUSE_MS * 1000000L};
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum sweep_result r = SWEEP_KILLED;

	for (int i = 0; i < GRACE_ROUNDS && has_child(); i++)
		(void)nanosleep(&pause, NULL);
	sweep_start();
	for (int i = 0; i < SWEEPS_MAX && proc >= 0 && r != SWEEP_EMPTY && r != SWEEP_ENDLESS;
	     i++) {
		(void)has_child();
		r = sweep_round(proc, NULL, 0);
		if (r == SWEEP_KILLED)
			(void)nanosleep(&pause, NULL);
	}
	(void)has_child();
}

void node_dir_remove(struct node *n)
{
	struct err err = {0};

	end_processes();
	if (n->dir && path_remove_tree(AT_FDCWD, n->dir, &err) < 0)
		log_warn("worker", "%s", err.msg);
	closep(&n->lock);
	free(take_ptr(n->dir));
}
