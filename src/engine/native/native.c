/*
 * The native engine: ralph's own guest makes the namespaces, and is pid 1 in them.
 *
 * DOC: Theory of operation
 *
 * plan() turns the spec into a list of mounts. The guest launches itself into namespaces of its own
 * (see guest/launcher.h), in which it is root and sees the host's file system; it makes the
 * sandbox's own from the list, in the order of the spec's mounts (see guest/root.c). The network
 * namespace is the guest's too: only then may it open listeners in it (see
 * docs/internals/sockets.md). So it starts with six capabilities in a user namespace, and gives up
 * both before any command.
 *
 * So the launch is the same for every sandbox, and can happen before there is a spec (launch.h). In
 * the first version of cgroups the guest enters by itself. In the second it has to be born inside, since
 * moving a process costs a grace period of the kernel's: so the cgroup is made ahead too, and gets its
 * limits with the spec, before anything runs. A scope of the service manager's is not made ahead.
 *
 * The guest is our child and dies with us. stop() kills it, and its death as pid 1 takes everything
 * inside with it: the kernel lets it go when all the others are gone, so waiting for it is waiting
 * for all.
 */
#include "engine/native/native.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/plan.h"
#include "engine/probe-host.h"
#include "engine/freeze.h"
#include "engine/make-readonly.h"

#define STOP_MS 5000 /* from SIGKILL until everything inside must be gone */

static int watch(struct native *n, struct engine_launch *l, struct err *err)
{
	int pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);

	if (pidfd < 0)
		return err_sys(err, errno, "cannot watch the guest");
	n->guest_process = (struct child){.pid = l->pid, .pidfd = pidfd};
	l->pid = 0;
	n->line = take_fd(l->guest);
	n->complaint = take_fd(l->complaint);
	(void)fd_set_nonblock(n->complaint, true);
	return 0;
}

static void set_limits(struct native *n)
{
	const struct spec_limits *l = &n->spec->limits;

	if (n->cgroup_name)
		return;
	n->limits = (struct cgroup_limits){.memory = l->memory, .pids = l->pids, .cpu = l->cpu};
	n->cgroup_name = plan_own_name(n->spec);
	cgroup_support_from_spec(l, &n->support);
}

/* The one that the guest was born in, in this process's name, where the spec has its place. */
static int take_cgroup(struct native *n, struct err *err)
{
	cleanup_free char *name = cgroup_ahead_name(getpid());

	set_limits(n);
	return cgroup_take(&n->support, name, &n->limits, &n->cgroup, err);
}

/* In a cgroup of the second version, and in a scope, the guest has to be born. What is not taken ends,
 * and start() makes another, which can say what is wrong. */
void native_adopt(struct engine *e, struct engine_launch *l)
{
	struct native *n = native_of(e);
	enum spec_cgroup_kind kind = n->spec->limits.cgroup;
	struct err ignored;

	if (l->pid <= 0)
		return;
	if (l->in_cgroup ? kind != SPEC_CGROUP_V2 || take_cgroup(n, &ignored) < 0
			 : kind != SPEC_CGROUP_NONE && kind != SPEC_CGROUP_V1)
		return;
	if (watch(n, l, &ignored) < 0 && l->in_cgroup)
		cgroup_done(&n->cgroup);
}

/* Behind systemd-run where the limits come from a scope. */
static int start_guest(struct native *n, struct err *err)
{
	struct launch_how how = {.into_cgroup = cgroup_clone_fd(&n->cgroup)};
	cleanup_launch struct engine_launch l;
	cleanup_strv struct strv scope = {0};
	int r;

	launch_init(&l);
	if (n->support.method == CGROUP_SCOPE) {
		cgroup_scope_argv(n->cgroup_name, &n->limits, &scope);
		how.before = &scope;
	}
	r = launch_open(&l, n->guest, err);
	if (r == 0)
		r = host_native_explain(launch_run(&l, how, err), err);
	if (r == 0)
		r = watch(n, &l, err);
	launch_kill(&l);
	return r;
}

/* The list waits in the guest's socket while it makes its network. */
static int send_root(const struct native *n, struct err *err)
{
	int fds[CGROUP_PLACES_MAX];
	struct err said = {0};
	uint32_t none;
	int r = plan_send_root(n->line, &n->root, fds, cgroup_entries(&n->cgroup, fds), err);

	/* One that could not make its network, say, has ended, and said so. */
	if (r == -EPIPE && launch_answer(n->line, WIRE_NONE, 0, &none, &said) != -EPIPE) {
		*err = said;
		return err_hint(err, r, "run: ralph doctor");
	}
	return r;
}

static int make_cgroup(struct native *n, struct err *err)
{
	set_limits(n);
	if (n->cgroup.n > 0)
		return 0;
	if (n->support.method == CGROUP_NONE || n->support.method == CGROUP_SCOPE)
		return 0;
	return cgroup_create(&n->support, n->cgroup_name, &n->limits, &n->cgroup, err);
}

int native_start(struct engine *e, struct engine_proc *ret, struct err *err)
{
	struct native *n = native_of(e);
	int r = plan_check_targets(n->spec, err);

	if (r == 0)
		r = make_cgroup(n, err);
	if (r == 0 && n->guest_process.pid <= 0)
		r = start_guest(n, err);
	if (r == 0)
		r = send_root(n, err);
	if (r < 0)
		return r;
	ret->pidfd = n->guest_process.pidfd;
	ret->guest = take_fd(n->line);
	return 0;
}

pid_t native_init_pid(struct engine *e)
{
	pid_t pid = native_of(e)->guest_process.pid;

	return pid > 0 ? pid : 0;
}

void native_complaint(struct engine *e, char *ret, size_t size)
{
	struct native *n = native_of(e);
	ssize_t len = n->complaint < 0 ? 0 : read(n->complaint, ret, size - 1);

	ret[len > 0 ? len : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

/* The guest is the last to go of its pid namespace. */
static void wait_for_end(struct native *n)
{
	struct pollfd p = {.fd = n->guest_process.pidfd, .events = POLLIN};

	while (poll(&p, 1, STOP_MS) < 0 && errno == EINTR)
		;
	child_done(&n->guest_process);
}

/*
 * Whoever lets go of a mount namespace last clears it away, which takes a while; it need not be the
 * guest, whose end is waited for. The descriptor goes with this process.
 */
static void keep_mounts(struct native *n)
{
	char path[64];

	if (n->mounts >= 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)n->guest_process.pid);
	n->mounts = open(path, O_RDONLY | O_CLOEXEC);
}

/* The guest takes all else with it. */
void native_kill(struct engine *e)
{
	struct native *n = native_of(e);

	if (n->guest_process.pid <= 0)
		return;
	keep_mounts(n);
	child_kill(&n->guest_process, SIGKILL);
}

static int native_cover(struct engine *e, const char *from, const char *path,
			enum spec_mount_kind kind, struct err *err)
{
	return mount_again(native_init_pid(e), "", from, path, kind, err);
}

int native_freeze(struct engine *e, struct err *err)
{
	return freeze_begin(&native_of(e)->cgroup, native_init_pid(e), &native_of(e)->freeze, err);
}

void native_thaw(struct engine *e)
{
	freeze_end(&native_of(e)->freeze);
}

int native_stop(struct engine *e, struct err *err)
{
	struct native *n = native_of(e);

	if (n->guest_process.pid > 0) {
		native_kill(e);
		wait_for_end(n);
	}
	if (n->cgroup.n == 0)
		return 0;
	(void)cgroup_kill(&n->cgroup, STOP_MS);
	return cgroup_remove(&n->cgroup, STOP_MS, err);
}

void native_init(struct engine *e)
{
	struct native *n = native_of(e);

	n->guest_process = (struct child){.pid = -1, .pidfd = -1};
	n->line = n->complaint = n->mounts = -1;
}

void native_done(struct engine *e)
{
	struct native *n = native_of(e);

	guest_root_done(&n->root);
	closep(&n->line);
	closep(&n->complaint);
	closep(&n->guest_process.pidfd);
	closep(&n->mounts);
	free(n->cgroup_name);
	cgroup_done(&n->cgroup);
	cgroup_support_done(&n->support);
}

void native_clean(const struct sandbox_spec *spec)
{
	cleanup_(cgroup_support_done) struct cgroup_support support = {0};
	cleanup_free char *name = plan_own_name(spec);
	struct err ignored;

	cgroup_support_from_spec(&spec->limits, &support);
	(void)cgroup_stale_remove(&support, name, STOP_MS, &ignored);
	cgroup_ahead_sweep(&support);
}

const struct engine_ops engine_native = {
	.name = "native",
	.wall = "your kernel",
	.holds = "a hostile agent, unless your kernel has a bug that its system calls reach",
	.costs = "a few milliseconds at the start",
	.caps = ENGINE_GUEST_CAPS,
	.instance_size = sizeof(struct native),
	.probe = host_native_usable,
	.likely = host_native_likely,
	.doctor = native_doctor,
	.init = native_init,
	.plan = native_plan,
	.dump = native_dump,
	.start = native_start,
	.adopt = native_adopt,
	.init_pid = native_init_pid,
	.complaint = native_complaint,
	.kill = native_kill,
	.cover = native_cover,
	.freeze = native_freeze,
	.thaw = native_thaw,
	.stop = native_stop,
	.done = native_done,
	.clean = native_clean,
};
