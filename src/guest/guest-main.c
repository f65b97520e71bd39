#include "guest/guest.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "guest/container-entry.h"
#include "guest/confine.h"
#include "guest/kernel/inner.h"
#include "guest/launcher.h"
#include "guest/login.h"
#include "guest/netns.h"
#include "guest/kernel/outer.h"
#include "guest/root.h"

/*
 * DOC: Theory of operation
 *
 * pid 1 of a sandbox, which came into its namespaces in one of three ways: it made them itself
 * (launcher.h), it is the entrypoint of a container (container-entry.h), or a test put it there.
 * It makes the network while nobody has told it anything yet. Told to by
 * WIRE_ROOT, it builds the file system and moves into it; else it was started in one. It takes one
 * WIRE_SETUP, opens the listeners, gives up every privilege, checks that they are gone, and only
 * then says WIRE_UP and runs commands. On any failure before that it says why and ends: nothing
 * has run.
 *
 *	main ─ netns_enter ─ root_enter ─ netns_open ─ domain_init ─ confine ─ WIRE_UP ─ serve (pid 1)
 *	                                                  └ minder_run, one per command
 *	                                                      └ payload_run ─ execve
 */

#define SOCK_FD 3

enum entry {
	ENTRY_PLACED,	 /* guest LINE: in namespaces and a root that somebody else made */
	ENTRY_LAUNCH,	 /* guest launch LINE: to make namespaces */
	ENTRY_INSIDE,	 /* guest inside LINE: in them */
	ENTRY_WITHIN,	 /* guest within LINE: on a kernel of the sandbox's own */
	ENTRY_CONTAINER, /* guest /PATH: the entrypoint of a container */
};

/* Leaves 0, 1, 2 and the socket at SOCK_FD; everything else the starter had open is closed. */
static int tidy_fds(const char *arg)
{
	uint64_t fd;

	if (parse_uint(arg, SOCK_FD, INT_MAX, &fd) < 0)
		return -EINVAL;
	if (fd != SOCK_FD && dup3((int)fd, SOCK_FD, O_CLOEXEC) < 0)
		return -errno;
	/* gVisor refuses what no descriptor can be. */
	if (syscall(SYS_close_range, SOCK_FD + 1, (unsigned)INT_MAX, 0U) < 0)
		return -errno;
	return fd_set_cloexec(SOCK_FD, true);
}

/* A directory that is the root of a file system of this kind, before anyone could change it. */
static int open_special(const char *path, unsigned long magic)
{
	cleanup_fd int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || (unsigned long)fs.f_type != magic)
		return -1;
	return take_fd(fd);
}

static int send_up(const struct guest *g, int *fds, struct err *err)
{
	size_t n = g->setup.n_listeners, frames = guest_up_frames(n);
	cleanup_buf struct buf b;
	int r = 0;

	buf_init(&b, 64);
	wire_put_u32(&b, (uint32_t)g->domain.abi);
	for (size_t i = 0; i < frames && r == 0; i++) {
		size_t at = i * WIRE_FDS_MAX;
		size_t count = n - at < WIRE_FDS_MAX ? n - at : WIRE_FDS_MAX;

		r = wire_send(g->sock, WIRE_UP, 0, &b, fds + at, count);
	}
	for (size_t i = 0; i < n; i++)
		closep(&fds[i]);
	return r < 0 ? err_sys(err, -r, "cannot hand over the listeners") : 0;
}

/* The file system, where it is ours to make. *ret says that it was, and who we are to become. */
static int build_root(struct guest *g, struct wire_msg *msg, enum entry entry,
		      struct guest_root *ret, struct err *err)
{
	int r;

	if ((msg->type == WIRE_ROOT) != (entry != ENTRY_PLACED))
		return err_set(err, EPROTO, "the guest was not given its mounts first");
	if (entry == ENTRY_PLACED)
		return 0;
	r = guest_root_get(msg, ret, err);
	/* The only one there is; and only in namespaces that this program has made itself. */
	if (r == 0 && ret->inside && (ret->inside != GUEST_INSIDE_GVISOR || entry != ENTRY_INSIDE))
		r = err_set(err, ENOTSUP, "this guest has no such kernel");
	if (r == 0)
		r = root_enter(ret, entry == ENTRY_CONTAINER, msg->fds, msg->n_fds, err);
	if (r < 0)
		return r;
	/* The list points into the message: the outer half keeps it, to tell the inner one. */
	if (!ret->inside)
		wire_msg_done(msg);
	wire_msg_init(msg);
	r = wire_recv(g->sock, msg);
	return r <= 0 ? err_sys(err, r ? -r : EPIPE, "the guest cannot read its set-up") : 0;
}

/* A program that has another kernel is root of the namespace below ours, where files are its user's. */
static int bring_up_outer(struct guest *g, const struct guest_root *root, int *fds, int *ret_inner,
			  struct err *err)
{
	const struct guest_root as_root = {.mounts = root->mounts};
	int r = root_leave_power(&as_root, false, err);

	g->domain = (struct domain_base){.ruleset = -1, .setup = &g->setup};
	if (r == 0)
		r = outer_begin(g, root, ret_inner, err);
	return r < 0 ? r : send_up(g, fds, err);
}

static int bring_up(struct guest *g, struct wire_msg *msg, enum entry entry, unsigned loopback,
		    int *ret_inner, struct err *err)
{
	cleanup_guest_root struct guest_root root = {0};
	static int fds[GUEST_LISTENERS_MAX];
	int r = build_root(g, msg, entry, &root, err);

	if (r < 0)
		return r;
	if (msg->type != WIRE_SETUP)
		return err_set(err, EPROTO, "the guest was not given its set-up first");
	r = guest_setup_get(msg, &g->setup, err);
	if (r == 0 && !root.mounts)
		r = root_take(&g->setup, err);
	if (r == 0)
		r = login_make(g, root.inside ? GUEST_TREE : "", err);
	if (r == 0)
		r = netns_open(&g->setup, loopback, fds, err);
	if (r < 0)
		return r;
	g->proc_fd = open_special("/proc", PROC_SUPER_MAGIC);
	if (g->proc_fd < 0)
		return err_set(err, ENODEV, "/proc is not mounted in the sandbox");
	g->pts_fd = open_special("/dev/pts", DEVPTS_SUPER_MAGIC);
	if (root.inside)
		return bring_up_outer(g, &root, fds, ret_inner, err);
	r = domain_init(&g->domain, &g->setup, err);
	if (r == 0 && root.mounts)
		r = root_leave_power(&root, entry == ENTRY_CONTAINER, err);
	if (r == 0)
		r = confine(err);
	if (r == 0)
		r = domain_own_sockets(&g->domain, err);
	if (r == 0)
		r = send_up(g, fds, err);
	return r;
}

static enum entry entry_of(int argc, char **argv)
{
	if (argc == 3 && streq(argv[1], GUEST_LAUNCH))
		return ENTRY_LAUNCH;
	if (argc == 3 && streq(argv[1], LAUNCHER_INSIDE))
		return ENTRY_INSIDE;
	if (argc == 3 && streq(argv[1], GUEST_WITHIN))
		return ENTRY_WITHIN;
	return argv[1][0] == '/' ? ENTRY_CONTAINER : ENTRY_PLACED;
}

/* Into the namespaces, up to the network's. */
static int enter(enum entry entry, unsigned *ret_loopback, struct err *err)
{
	int r = 0;

	if (entry == ENTRY_CONTAINER)
		r = container_enter(err);
	else if (entry == ENTRY_INSIDE)
		r = launcher_arrive(err);
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) < 0)
		r = err_sys(err, errno, "cannot close the guest to tracers");
	if (r == 0 && entry == ENTRY_INSIDE)
		r = root_prepare(err);
	return r < 0 ? r : netns_enter(ret_loopback, err);
}

/* Another kernel has made the root and the network. */
static int arrive_within(struct guest *g, struct err *err)
{
	g->within = true;
	if (getpid() != 1)
		return err_set(err, EPERM, "the guest is not in a sandbox of its own");
	if (prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) < 0)
		return err_sys(err, errno, "cannot close the guest to tracers");
	g->proc_fd = open_special("/proc", PROC_SUPER_MAGIC);
	g->pts_fd = open_special("/dev/pts", DEVPTS_SUPER_MAGIC);
	return g->proc_fd < 0 ? err_set(err, ENODEV, "/proc is not mounted in the sandbox") : 0;
}

static int fail(const struct guest *g, int r, const struct err *err)
{
	guest_send_error(g->sock, 0, -r, err);
	return EXIT_RALPH;
}

int main(int argc, char **argv)
{
	static struct guest g = {.sock = SOCK_FD};
	static struct wire_msg msg; /* lives as long as we do: the set-up points into it */
	struct err err = {0};
	enum entry entry;
	unsigned loopback;
	int inner = -1, r;

	if (argc < 2 || argc > 3)
		return EXIT_RALPH;
	entry = entry_of(argc, argv);
	if ((entry == ENTRY_CONTAINER ? container_meet(argv[1], SOCK_FD)
				      : tidy_fds(argv[argc - 1])) < 0 ||
	    chdir("/") < 0)
		return EXIT_RALPH;
	if (entry == ENTRY_LAUNCH) {
		r = launcher_run(SOCK_FD, &err);
		return r < 0 ? fail(&g, r, &err) : EXIT_OK;
	}
	wire_msg_init(&msg);
	r = entry == ENTRY_WITHIN ? arrive_within(&g, &err) : enter(entry, &loopback, &err);
	if (r == 0) {
		r = wire_recv(g.sock, &msg);
		if (r == 0)
			return EXIT_OK; /* the supervisor changed its mind */
		r = r < 0		    ? err_sys(&err, -r, "the guest cannot read its set-up")
		    : entry == ENTRY_WITHIN ? inner_bring_up(&g, &msg, &err)
					    : bring_up(&g, &msg, entry, loopback, &inner, &err);
	}
	if (r < 0)
		return fail(&g, r, &err);
	if (inner >= 0)
		outer_serve(&g, inner);
	else
		serve(&g);
	return EXIT_OK;
}
