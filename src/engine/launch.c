#include "engine/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "base/find-program.h"
#include "wire/root-proto.h"
#include "wire/wire.h"

#define SYSTEM_BWRAP "/usr/bin/bwrap"
#define END_MS 5000 /* for bwrap to end by itself */
#define UNIFIED_CGROUPS "/sys/fs/cgroup/cgroup.controllers"

void launch_init(struct engine_launch *l)
{
	*l = (struct engine_launch){
		.guest = -1, .status = -1, .complaint = -1, .theirs = {-1, -1, -1}};
	strv_init(&l->argv);
}

void launch_options(const char *guest, struct strv *out)
{
	static const char *const fixed[] = {
		"--unshare-user",
		"--unshare-pid",
		"--unshare-ipc",
		"--unshare-uts",
		"--as-pid-1",
		"--clearenv",
		/* Root of its namespaces, to make what is left; the sandbox's user afterwards. */
		"--uid",
		"0",
		"--gid",
		"0",
		/* What it needs for that; it drops them before any command. */
		"--cap-drop",
		"ALL",
		"--cap-add",
		"CAP_SYS_ADMIN",
		"--cap-add",
		"CAP_SYS_RESOURCE",
		"--cap-add",
		"CAP_SETFCAP",
		"--cap-add",
		"CAP_SETPCAP",
		"--cap-add",
		"CAP_NET_ADMIN",
		"--cap-add",
		"CAP_NET_BIND_SERVICE",
		"--dir",
		GUEST_NEW_ROOT,
		"--chdir",
		"/",
	};
	/* The host's many mounts last: bwrap reads the table of all mounts for each bind. */
	const char *const binds[] = {"--ro-bind",  guest, LAUNCH_GUEST,
				     "--dev-bind", "/",	  GUEST_HOST};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		strv_push(out, fixed[i]);
	for (size_t i = 0; i < ARRAY_SIZE(binds); i++)
		strv_push(out, binds[i]);
}

static int open_pipe(int *ret_r, int *ret_w, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	*ret_r = fds[0];
	*ret_w = fds[1];
	return 0;
}

static int open_lines(struct engine_launch *l, struct err *err)
{
	int pair[2], r = wire_pair(pair, err);

	if (r < 0)
		return r;
	l->guest = pair[0];
	l->theirs[0] = pair[1];
	r = open_pipe(&l->status, &l->theirs[1], err);
	return r < 0 ? r : open_pipe(&l->complaint, &l->theirs[2], err);
}

int launch_open(struct engine_launch *l, const char *bwrap, const char *guest, struct err *err)
{
	int r = open_lines(l, err);

	if (r < 0)
		return r;
	strv_push(&l->argv, bwrap);
	launch_options(guest, &l->argv);
	strv_push(&l->argv, "--json-status-fd");
	strv_pushf(&l->argv, "%d", l->theirs[1]);
	strv_push(&l->argv, LAUNCH_GUEST);
	strv_pushf(&l->argv, "%d", l->theirs[0]);
	return 0;
}

/*
 * bwrap is not to die with its parent while it makes its namespaces: its child would wait for a
 * word of it for ever. Until the guest runs it ends by itself, as the guest finds its line closed;
 * from then on the kernel ends it. What for is said here, on the pipe of its complaints: a SIGKILL
 * to bwrap's group when nobody holds the other end any more. The guest, which dies with bwrap,
 * puts it in force (O_ASYNC).
 */
int launch_leash(void *arg)
{
	if (fcntl(STDERR_FILENO, F_SETOWN, -getpgrp()) < 0 ||
	    fcntl(STDERR_FILENO, F_SETSIG, SIGKILL) < 0)
		return -errno;
	return 0;
}

/* Both ends of its status: it would end in the middle of its work if nobody could read that. */
void launch_keep(const struct engine_launch *l, struct run *run)
{
	run_keep(run, l->theirs[0]);
	run_keep(run, l->theirs[1]);
	run_keep(run, l->status);
}

int launch_run(struct engine_launch *l, struct err *err)
{
	struct run run = RUN_INIT;
	struct child child;
	int r;

	run.argv = l->argv.v;
	run.stdio[2] = l->theirs[2];
	run.flags = RUN_NEW_SESSION;
	run.before_exec = launch_leash;
	launch_keep(l, &run);
	r = run_start(&run, &child, err);
	if (r < 0)
		return r;
	l->pid = child.pid;
	closep(&child.pidfd);
	return 0;
}

/*
 * Without its line the guest ends, and bwrap with it. One that is still making its namespaces must
 * not be killed for it: bwrap's child would wait for it for ever. Its status must find a reader
 * until then.
 */
void launch_kill(struct engine_launch *l)
{
	struct pollfd end = {.events = POLLIN};

	if (l->pid <= 0)
		return;
	closep(&l->guest);
	end.fd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	if (end.fd < 0 || poll(&end, 1, END_MS) != 1)
		(void)kill(-l->pid, SIGKILL); /* its child with it */
	closep(&end.fd);
	(void)waitpid(l->pid, NULL, 0);
	l->pid = 0;
}

void launch_done(struct engine_launch *l)
{
	int *fds[] = {&l->guest, &l->status, &l->complaint};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		closep(fds[i]);
		closep(&l->theirs[i]);
	}
	strv_done(&l->argv);
	launch_init(l);
}

const char *launch_safe_bwrap(void)
{
	cleanup_free char *first = path_find_program("bwrap", getenv("PATH"));

	return first && streq(first, SYSTEM_BWRAP) ? SYSTEM_BWRAP : NULL;
}

bool launch_likely(void)
{
	struct stat st;

	return stat(UNIFIED_CGROUPS, &st) < 0;
}
