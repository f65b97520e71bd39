/*
 * The native engine: bubblewrap sets up mounts and namespaces, ralph-guest is pid 1.
 *
 * DOC: Theory of operation
 *
 * plan() turns the spec into bwrap's options and a list of mounts. bwrap makes the namespaces, in
 * which the guest is root, and shows it the host's file system; the guest makes the sandbox's own
 * from the list, in the order of the spec's mounts (see guest/root.c). The network namespace is the
 * guest's too: only then may it open listeners in it (see docs/internals/sockets.md). So it starts
 * with six capabilities in a user namespace, and gives up both before any command.
 *
 * So bwrap is the same for every sandbox, and can be started before there is a spec (launch.h),
 * unless it has to be born in a cgroup of that sandbox. In the first version of cgroups
 * the guest enters by itself.
 *
 * stop() kills the guest, whose death as pid 1 takes everything inside with it: the kernel lets it
 * go when all the others are gone, so waiting for it is waiting for all. bwrap ends after it.
 */
#include "engine/native/native.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "engine/plan.h"
#include "engine/probe-host.h"
#include "engine/freeze.h"
#include "engine/make-readonly.h"

#define STOP_MS 5000 /* from SIGKILL until everything inside must be gone */

static void watch(struct native *n, struct engine_launch *l)
{
	n->line = take_fd(l->guest);
	n->status = take_fd(l->status);
	n->complaint = take_fd(l->complaint);
	(void)fd_set_nonblock(n->status, true);
	(void)fd_set_nonblock(n->complaint, true);
}

/* In a cgroup of the second version, and in a scope, bwrap itself has to be born. */
static void native_adopt(struct engine *e, struct engine_launch *l)
{
	enum spec_cgroup_kind kind = native_of(e)->spec->limits.cgroup;
	struct native *n = native_of(e);
	int pidfd;

	if (kind != SPEC_CGROUP_NONE && kind != SPEC_CGROUP_V1)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	if (pidfd < 0)
		return;
	n->bwrap = (struct child){.pid = l->pid, .pidfd = pidfd};
	l->pid = 0;
	watch(n, l);
}

/* bwrap as the child to run, behind systemd-run where the limits come from a scope. */
static int run_bwrap(struct native *n, struct engine_launch *l, struct err *err)
{
	bool scope = n->support.method == CGROUP_SCOPE;
	cleanup_strv struct strv argv = {0};
	struct run run = RUN_INIT;

	if (scope)
		cgroup_scope_argv(n->cgroup_name, &n->limits, &argv);
	for (size_t i = 0; i < l->argv.n; i++)
		strv_push(&argv, l->argv.v[i]);
	run.argv = argv.v;
	run.env = scope ? environ : NULL;
	run.stdio[2] = l->theirs[2];
	run.flags = RUN_NEW_SESSION;
	run.before_exec = launch_leash;
	run.into_cgroup = cgroup_clone_fd(&n->cgroup);
	launch_keep(l, &run);
	return run_start(&run, &n->bwrap, err);
}

static int start_bwrap(struct native *n, struct err *err)
{
	cleanup_launch struct engine_launch l;
	cleanup_free char *bwrap = NULL;
	int r = host_bwrap_path(&bwrap, err);

	launch_init(&l);
	if (r == 0)
		r = launch_open(&l, bwrap, n->guest, err);
	if (r == 0)
		r = run_bwrap(n, &l, err);
	if (r == 0)
		watch(n, &l);
	return r;
}

/* While bwrap starts: the list waits in the guest's socket. */
static int send_root(const struct native *n, struct err *err)
{
	int fds[CGROUP_PLACES_MAX];

	return plan_send_root(n->line, &n->root, fds, cgroup_entries(&n->cgroup, fds), err);
}

static int make_cgroup(struct native *n, struct err *err)
{
	const struct spec_limits *l = &n->spec->limits;

	n->limits = (struct cgroup_limits){.memory = l->memory, .pids = l->pids, .cpu = l->cpu};
	n->cgroup_name = plan_own_name(n->spec);
	cgroup_support_from_spec(l, &n->support);
	if (n->support.method == CGROUP_NONE || n->support.method == CGROUP_SCOPE)
		return 0;
	return cgroup_create(&n->support, n->cgroup_name, &n->limits, &n->cgroup, err);
}

static int native_start(struct engine *e, struct engine_proc *ret, struct err *err)
{
	struct native *n = native_of(e);
	int r = plan_check_targets(n->spec, err);

	if (r == 0)
		r = make_cgroup(n, err);
	if (r == 0 && n->bwrap.pid <= 0)
		r = start_bwrap(n, err);
	if (r == 0)
		r = send_root(n, err);
	if (r < 0)
		return r;
	ret->pidfd = n->bwrap.pidfd;
	ret->guest = take_fd(n->line);
	return 0;
}

/* The line that names the child, of which bwrap writes one piece after the other. */
static pid_t read_child_pid(struct native *n)
{
	cleanup_(json_decrefp) json_t *j = NULL;
	ssize_t got = read(n->status, n->said + n->said_len, sizeof(n->said) - 1 - n->said_len);

	if (got <= 0)
		return -1;
	n->said_len += (size_t)got;
	n->said[n->said_len] = '\0';
	if (!strchr(n->said, '\n'))
		return 0;
	j = json_loads(n->said, JSON_DISABLE_EOF_CHECK, NULL);
	return (pid_t)json_integer_value(json_object_get(j, "child-pid"));
}

static pid_t native_init_pid(struct engine *e)
{
	struct native *n = native_of(e);
	pid_t pid;

	if (n->init_pid > 0 || n->status < 0)
		return n->init_pid;
	pid = read_child_pid(n);
	if (pid <= 0)
		return 0;
	n->init_pid = pid;
	n->init_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return pid;
}

static void native_complaint(struct engine *e, char *ret, size_t size)
{
	struct native *n = native_of(e);
	ssize_t len = n->complaint < 0 ? 0 : read(n->complaint, ret, size - 1);

	ret[len > 0 ? len : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

static void wait_for(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	while (poll(&p, 1, STOP_MS) < 0 && errno == EINTR)
		;
}

/* The guest is the last to go of its pid namespace, and bwrap has nothing left to do then. It is
 * waited for only where it may not be known, or is in the cgroup that is to be removed. */
static void wait_for_end(struct native *n)
{
	if (n->init_pidfd >= 0 && cgroup_clone_fd(&n->cgroup) < 0) {
		wait_for(n->init_pidfd);
		return;
	}
	wait_for(n->bwrap.pidfd);
	child_done(&n->bwrap);
}

/*
 * Whoever lets go of a mount namespace last clears it away, which takes a while; it need not be the
 * guest, whose end is waited for. The descriptor goes with this process.
 */
static void keep_mounts(struct native *n)
{
	char path[64];

	if (n->init_pid <= 0 || n->mounts >= 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)n->init_pid);
	n->mounts = open(path, O_RDONLY | O_CLOEXEC);
}

/* Until bwrap has said who its child is, or has ended. */
static void wait_for_status(struct native *n)
{
	struct pollfd p[] = {{.fd = n->status, .events = POLLIN},
			     {.fd = n->bwrap.pidfd, .events = POLLIN}};
	uint64_t end = now_ms() + STOP_MS;

	while (n->status >= 0 && native_init_pid(&n->base) <= 0 && now_ms() < end) {
		if (poll(p, ARRAY_SIZE(p), STOP_MS) < 0 && errno != EINTR)
			return;
		if (p[1].revents || p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
	}
	(void)native_init_pid(&n->base);
}

/*
 * The guest takes all else with it. Where it is not known, because bwrap was killed or hangs while
 * it makes its namespaces, what is to become the guest waits for a word of bwrap's: for ever, were
 * it not for the process group, which is bwrap's own (RUN_NEW_SESSION).
 */
static void native_kill(struct engine *e)
{
	struct native *n = native_of(e);

	if (n->bwrap.pid <= 0)
		return;
	wait_for_status(n);
	keep_mounts(n);
	if (n->init_pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, n->init_pidfd, SIGKILL, NULL, 0);
	else
		(void)kill(-n->bwrap.pid, SIGKILL);
}

static int native_cover(struct engine *e, const char *from, const char *path,
			enum spec_mount_kind kind, struct err *err)
{
	return mount_again(native_init_pid(e), from, path, kind, err);
}

static int native_freeze(struct engine *e, struct err *err)
{
	return freeze_begin(&native_of(e)->cgroup, native_init_pid(e), &native_of(e)->freeze, err);
}

static void native_thaw(struct engine *e)
{
	freeze_end(&native_of(e)->freeze);
}

static int native_stop(struct engine *e, struct err *err)
{
	struct native *n = native_of(e);

	if (n->bwrap.pid > 0) {
		native_kill(e);
		wait_for_end(n);
	}
	if (n->cgroup.n == 0)
		return 0;
	(void)cgroup_kill(&n->cgroup, STOP_MS);
	return cgroup_remove(&n->cgroup, STOP_MS, err);
}

static void native_init(struct engine *e)
{
	struct native *n = native_of(e);

	strv_init(&n->args);
	n->bwrap = (struct child){.pid = -1, .pidfd = -1};
	n->line = n->status = n->complaint = n->init_pidfd = n->mounts = -1;
}

static void native_done(struct engine *e)
{
	struct native *n = native_of(e);

	strv_done(&n->args);
	guest_root_done(&n->root);
	closep(&n->line);
	closep(&n->status);
	closep(&n->complaint);
	closep(&n->init_pidfd);
	closep(&n->mounts);
	free(n->cgroup_name);
	cgroup_done(&n->cgroup);
	cgroup_support_done(&n->support);
}

static void native_clean(const struct sandbox_spec *spec)
{
	cleanup_(cgroup_support_done) struct cgroup_support support = {0};
	cleanup_free char *name = plan_own_name(spec);
	struct err ignored;

	cgroup_support_from_spec(&spec->limits, &support);
	(void)cgroup_stale_remove(&support, name, STOP_MS, &ignored);
}

const struct engine_ops engine_native = {
	.name = "native",
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
