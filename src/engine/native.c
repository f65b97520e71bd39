/*
 * The native engine: bubblewrap sets up mounts and namespaces, ralph-guest is pid 1.
 *
 * DOC: Theory of operation
 *
 * plan() turns the spec into bwrap's options, in the order of the spec's mounts. Content that
 * bwrap reads from descriptors (files of the root, the option list itself) has a slot in the plan
 * and becomes a memory file only in start(). The network namespace is not bwrap's but the guest's:
 * only then may the guest open listeners in it (see docs/internals/sockets.md), which is why it
 * starts with four capabilities in its own user namespace and drops them before any command.
 *
 * stop() kills the guest, whose death as pid 1 takes everything inside with it; bwrap ends when
 * the last of them is gone, so waiting for bwrap is waiting for all.
 */
#include "engine/native.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "engine/probe-host.h"
#include "wire/wire.h"

#define NATIVE_ARGS_MAX (1 * MiB) /* bwrap's options as text */
#define STATUS_MAX 4096		  /* what bwrap may tell about its child */
#define STOP_MS 5000		  /* from SIGKILL until everything inside must be gone */

/* What is open only while bwrap is being started. */
struct start {
	int files[NATIVE_FILES_MAX];
	size_t n_files;
	int guest_end, our_end, status_r, status_w, stderr_r, stderr_w, args;
};

static void start_done(struct start *s)
{
	int *fds[] = {&s->guest_end, &s->our_end,  &s->status_r, &s->status_w,
		      &s->stderr_r,  &s->stderr_w, &s->args};

	for (size_t i = 0; i < s->n_files; i++)
		closep(&s->files[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		closep(fds[i]);
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

static int open_content(const struct spec_mount *m)
{
	int fd;

	if (m->kind == SPEC_FILE)
		return fd_memfd("ralph-file", m->data, strlen(m->data));
	fd = open(m->source, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_files(struct native *n, struct start *s, struct err *err)
{
	for (size_t i = 0; i < n->n_files; i++) {
		const struct native_file *f = &n->files[i];
		int fd = open_content(f->mount);

		if (fd < 0)
			return err_sys(err, -fd, "cannot prepare '%s'", f->mount->target);
		s->files[s->n_files++] = fd;
		free(n->args.v[f->arg]);
		n->args.v[f->arg] = xasprintf("%d", fd);
	}
	return 0;
}

/* The options travel in a descriptor, not in argv: no length limit, nothing in the process list. */
static int open_args(struct native *n, struct start *s, struct err *err)
{
	cleanup_buf struct buf b;
	int r = 0;

	buf_init(&b, NATIVE_ARGS_MAX);
	for (size_t i = 0; r == 0 && i < n->args.n; i++)
		r = buf_append(&b, n->args.v[i], strlen(n->args.v[i]) + 1);
	if (r == 0)
		r = buf_append(&b, "--json-status-fd", sizeof("--json-status-fd"));
	if (r == 0)
		r = buf_printf(&b, "%d", s->status_w);
	if (r == 0)
		r = buf_putc(&b, '\0');
	if (r < 0)
		return err_set(err, E2BIG, "the options of bwrap do not fit in %zu bytes",
			       NATIVE_ARGS_MAX);
	s->args = fd_memfd("ralph-bwrap-options", b.data, b.len);
	return s->args < 0 ? err_sys(err, -s->args, "cannot create a memory file") : 0;
}

static int open_start(struct native *n, struct start *s, struct err *err)
{
	int pair[2], r;

	*s = (struct start){.guest_end = -1,
			    .our_end = -1,
			    .status_r = -1,
			    .status_w = -1,
			    .stderr_r = -1,
			    .stderr_w = -1,
			    .args = -1};
	r = wire_pair(pair, err);
	if (r < 0)
		return r;
	s->our_end = pair[0];
	s->guest_end = pair[1];
	r = open_pipe(&s->status_r, &s->status_w, err);
	if (r == 0)
		r = open_pipe(&s->stderr_r, &s->stderr_w, err);
	if (r == 0)
		r = open_files(n, s, err);
	return r < 0 ? r : open_args(n, s, err);
}

static int enter_cgroup(void *arg)
{
	const struct native *n = arg;

	return cgroup_enter(&n->cgroup);
}

/* bwrap as the child to run, behind systemd-run where the limits come from a scope. */
static void bwrap_argv(const struct native *n, const struct start *s, struct strv *out)
{
	if (n->support.method == CGROUP_SCOPE)
		cgroup_scope_argv(n->cgroup_name, &n->limits, out);
	strv_push(out, n->bwrap_path);
	strv_push(out, "--args");
	strv_pushf(out, "%d", s->args);
	strv_push(out, n->guest);
	strv_pushf(out, "%d", s->guest_end);
}

static int run_bwrap(struct native *n, struct start *s, struct err *err)
{
	cleanup_strv struct strv argv;
	struct run run = RUN_INIT;

	strv_init(&argv);
	bwrap_argv(n, s, &argv);
	run.argv = argv.v;
	run.env = n->support.method == CGROUP_SCOPE ? environ : NULL;
	run.stdio[2] = s->stderr_w;
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION | RUN_SEARCH_PATH;
	run.into_cgroup = cgroup_clone_fd(&n->cgroup);
	if (run.into_cgroup < 0) {
		run.before_exec = enter_cgroup;
		run.arg = n;
	}
	run_keep(&run, s->args);
	run_keep(&run, s->guest_end);
	run_keep(&run, s->status_w);
	for (size_t i = 0; i < s->n_files; i++)
		run_keep(&run, s->files[i]);
	return run_start(&run, &n->bwrap, err);
}

/* bwrap is still mounting; its status line comes before the guest's first word. */
static void watch_start(struct native *n, struct start *s)
{
	n->status = take_fd(s->status_r);
	n->complaint = take_fd(s->stderr_r);
	(void)fd_set_nonblock(n->status, true);
	(void)fd_set_nonblock(n->complaint, true);
}

/*
 * Unique on the machine, and the same again after a crash: a hash (FNV-1a; no attacker chooses
 * among these) of where the sandbox keeps its home, which no two sandboxes share.
 */
static char *cgroup_name_of(const struct sandbox_spec *spec)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		if (!streq(spec->mounts[i].target, spec->home) || !spec->mounts[i].source)
			continue;
		for (const char *p = spec->mounts[i].source; *p; p++)
			h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	}
	return xasprintf("ralph-%s-%016llx", spec->name, (unsigned long long)h);
}

static int make_cgroup(struct native *n, struct err *err)
{
	const struct spec_limits *l = &n->spec->limits;

	n->limits = (struct cgroup_limits){.memory = l->memory, .pids = l->pids, .cpu = l->cpu};
	n->cgroup_name = cgroup_name_of(n->spec);
	cgroup_support_from_spec(l, &n->support);
	if (n->support.method == CGROUP_NONE || n->support.method == CGROUP_SCOPE)
		return 0;
	return cgroup_create(&n->support, n->cgroup_name, &n->limits, &n->cgroup, err);
}

static int native_start(struct engine *e, struct engine_proc *ret, struct err *err)
{
	cleanup_(start_done) struct start s;
	struct native *n = native_of(e);
	int r = open_start(n, &s, err);

	if (r == 0)
		r = native_check_targets(n->spec, err);
	if (r == 0)
		r = host_bwrap_path(&n->bwrap_path, err);
	if (r == 0)
		r = make_cgroup(n, err);
	if (r == 0)
		r = run_bwrap(n, &s, err);
	if (r < 0)
		return r;
	watch_start(n, &s);
	ret->pidfd = n->bwrap.pidfd;
	ret->guest = take_fd(s.our_end);
	return 0;
}

/* Everything the status descriptor has by now; the first line names the child. */
static pid_t read_child_pid(int fd)
{
	cleanup_(json_decrefp) json_t *j = NULL;
	char text[STATUS_MAX];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	j = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	return (pid_t)json_integer_value(json_object_get(j, "child-pid"));
}

static pid_t native_init_pid(struct engine *e)
{
	struct native *n = native_of(e);
	pid_t pid;

	if (n->init_pid > 0 || n->status < 0)
		return n->init_pid;
	pid = read_child_pid(n->status);
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

static void wait_for_bwrap(struct native *n)
{
	struct pollfd p = {.fd = n->bwrap.pidfd, .events = POLLIN};

	while (poll(&p, 1, STOP_MS) < 0 && errno == EINTR)
		;
	child_done(&n->bwrap);
}

static int native_stop(struct engine *e, struct err *err)
{
	struct native *n = native_of(e);

	if (n->bwrap.pid > 0) {
		(void)native_init_pid(e);
		if (n->init_pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, n->init_pidfd, SIGKILL, NULL, 0);
		else
			child_kill(&n->bwrap, SIGKILL);
		wait_for_bwrap(n);
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
	n->status = n->complaint = n->init_pidfd = -1;
}

static void native_done(struct engine *e)
{
	struct native *n = native_of(e);

	strv_done(&n->args);
	closep(&n->status);
	closep(&n->complaint);
	closep(&n->init_pidfd);
	free(n->bwrap_path);
	free(n->cgroup_name);
	cgroup_done(&n->cgroup);
	cgroup_support_done(&n->support);
}

static void native_clean(const struct sandbox_spec *spec)
{
	cleanup_(cgroup_support_done) struct cgroup_support support = {0};
	cleanup_free char *name = cgroup_name_of(spec);
	struct err ignored;

	cgroup_support_from_spec(&spec->limits, &support);
	(void)cgroup_stale_remove(&support, name, STOP_MS, &ignored);
}

const struct engine_ops engine_native = {
	.name = "native",
	.summary = "bubblewrap on this kernel",
	.caps = ENGINE_NET_NONE | ENGINE_RO_ROOT | ENGINE_REUSE,
	.instance_size = sizeof(struct native),
	.probe = host_native_usable,
	.init = native_init,
	.plan = native_plan,
	.dump = native_dump,
	.start = native_start,
	.init_pid = native_init_pid,
	.complaint = native_complaint,
	.protect = native_protect,
	.stop = native_stop,
	.done = native_done,
	.clean = native_clean,
};
