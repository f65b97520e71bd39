#include "engine/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/find-program.h"
#include "base/path.h"
#include "base/proc.h"
#include "build-config.h"
#include "engine/cgroup.h"
#include "wire/root-proto.h"

#define BORN_MS 10000 /* for the kernel to make the namespaces, and a service manager its scope */
#define DROP_MS 1000  /* for a guest that was killed to leave its cgroup */
#define UNIFIED_CGROUPS "/sys/fs/cgroup/cgroup.controllers"

static const struct engine_launch none = {.guest = -1, .complaint = -1, .theirs = {-1, -1}};

void launch_init(struct engine_launch *l)
{
	*l = none;
}

void launch_options(const char *guest, struct strv *out)
{
	strv_push(out, guest);
	strv_push(out, GUEST_LAUNCH);
}

static int open_lines(struct engine_launch *l, struct err *err)
{
	int fds[2], r = wire_pair(fds, err);

	if (r < 0)
		return r;
	l->guest = fds[0];
	l->theirs[0] = fds[1];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	l->complaint = fds[0];
	l->theirs[1] = fds[1];
	return 0;
}

int launch_open(struct engine_launch *l, const char *guest, struct err *err)
{
	int r = open_lines(l, err);

	if (r < 0)
		return r;
	launch_options(guest, &l->argv);
	strv_pushf(&l->argv, "%d", l->theirs[0]);
	return 0;
}

/* The first line of what was written to its stderr: by a service manager, or by the loader. */
static int say_complaint(const struct engine_launch *l, struct err *err)
{
	char text[256];
	ssize_t n = fd_set_nonblock(l->complaint, true) < 0
			    ? 0
			    : read(l->complaint, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return err_set(err, EIO, "the guest did not start%s%s", text[0] ? ": " : "", text);
}

int launch_answer(int line, enum wire_type want, int timeout_ms, uint32_t *ret, struct err *err)
{
	struct pollfd p = {.fd = line, .events = POLLIN};
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader r;
	const char *text = "";
	uint32_t value;

	wire_msg_init(&m);
	if (poll(&p, 1, timeout_ms) != 1)
		return err_set(err, ETIMEDOUT, "the guest says nothing");
	if (wire_recv(line, &m) <= 0)
		return err_set(err, EPIPE, "the guest ended without a word");
	wire_read(&r, &m);
	value = wire_get_u32(&r);
	if (m.type == WIRE_ERROR)
		text = wire_get_str(&r);
	if (wire_read_end(&r) < 0 || (m.type != want && m.type != WIRE_ERROR) ||
	    value > INT32_MAX || (m.type == WIRE_ERROR && value == 0))
		return err_set(err, EPROTO, "the guest does not answer as it should");
	if (m.type == WIRE_ERROR)
		return err_set(err, (int)value, "%s", text);
	*ret = value;
	return 0;
}

static int await_birth(struct engine_launch *l, struct err *err)
{
	uint32_t pid = 0;
	int r = launch_answer(l->guest, WIRE_BORN, BORN_MS, &pid, err);

	if (r == -EPIPE)
		return say_complaint(l, err);
	if (r == 0 && pid == 0)
		return err_set(err, EPROTO, "the guest does not answer as it should");
	l->pid = (pid_t)pid;
	return r;
}

int launch_run(struct engine_launch *l, struct launch_how how, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	struct run run = RUN_INIT;
	struct child child;
	int r;

	for (size_t i = 0; how.before && i < how.before->n; i++)
		strv_push(&argv, how.before->v[i]);
	for (size_t i = 0; i < l->argv.n; i++)
		strv_push(&argv, l->argv.v[i]);
	run.argv = argv.v;
	run.env = how.before ? environ : NULL;
	run.stdio[2] = l->theirs[1];
	run.flags = RUN_NEW_SESSION;
	run.into_cgroup = how.into_cgroup;
	run_keep(&run, l->theirs[0]);
	r = run_start(&run, &child, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(l->theirs); i++)
		closep(&l->theirs[i]);
	r = await_birth(l, err);
	if (r < 0)
		child_done(&child);
	else
		(void)run_wait(&child); /* it has nothing left to do */
	return r;
}

void launch_kill(struct engine_launch *l)
{
	if (l->pid <= 0)
		return;
	closep(&l->guest);
	(void)kill(l->pid, SIGKILL);
	(void)waitpid(l->pid, NULL, 0);
	l->pid = 0;
}

void launch_done(struct engine_launch *l)
{
	closep(&l->guest);
	closep(&l->complaint);
	for (size_t i = 0; i < ARRAY_SIZE(l->theirs); i++)
		closep(&l->theirs[i]);
	strv_done(&l->argv);
	*l = none;
}

static void drop_cgroup(void)
{
	cleanup_(cgroup_support_done) struct cgroup_support s = {0};
	cleanup_free char *name = cgroup_ahead_name(getpid());
	struct err ignored;

	if (cgroup_probe(NULL, &s, &ignored) == 0 && s.method == CGROUP_V2)
		(void)cgroup_stale_remove(&s, name, DROP_MS, &ignored);
}

int launch_ahead(struct engine_launch *l, const char *guest, struct err *err)
{
	struct launch_how how = LAUNCH_PLAIN;
	struct cgroup leaf = {0};
	struct stat st;
	/* Beside hierarchies of the first version the guest enters by itself. */
	int r = stat(UNIFIED_CGROUPS, &st) < 0 ? 0 : cgroup_ahead(NULL, getpid(), &leaf, err);

	if (r < 0)
		return r;
	how.into_cgroup = cgroup_clone_fd(&leaf);
	l->in_cgroup = leaf.n > 0;
	r = launch_open(l, guest, err);
	if (r == 0)
		r = launch_run(l, how, err);
	if (r < 0)
		(void)cgroup_remove(&leaf, DROP_MS, &(struct err){0});
	cgroup_done(&leaf);
	return r;
}

void launch_drop(struct engine_launch *l)
{
	bool born = l->in_cgroup && l->pid > 0; /* else it is the sandbox's by now */

	launch_kill(l);
	if (born)
		drop_cgroup();
}

static bool same_file(const char *dir, const char *other, const char *name)
{
	cleanup_free char *a = path_join(dir, name), *b = path_join(other, name);
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

char *launch_programs(void)
{
	char *own = path_near_program("libexec/ralph", "guest", RALPH_LIBEXEC);
	const char *named = getenv("RALPH_LIBEXEC");

	if (!named || named[0] != '/' || same_file(own, RALPH_LIBEXEC, "guest"))
		return own;
	free(own);
	return xstrdup(named);
}
