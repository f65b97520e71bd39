/*
 * DOC: Theory of operation
 *
 * The sandbox's file system, made by pid 1 while it is still root of its namespaces. One mount is
 * three or four system calls.
 *
 *	/          a small tmpfs, which has the other two apart from each other
 *	/new       a new tmpfs, becomes the root
 *	/host      the host's; what the list names is cloned from there, then all of it goes
 *
 * The host's root could have stayed in the new one until that is built, for one pivot less. But then
 * a link that an agent made in a directory bound there would lead to it.
 *
 * Sources are looked up in /host and targets in /new as if each were the root: no link leads from
 * one into the other. At the end the process is alone in the new root; nothing has a descriptor,
 * root or working directory in the old one. Then it makes the network (netns.c), and gives up its
 * power over all of this by entering a user namespace below its own (root_leave_power).
 */
#include "guest/root.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "guest/builder.h"
#include "guest/kernel/apart.h"
#include "guest/root-image.h"
#include "guest/mount.h"
#include "guest/userns.h"

#define HOST "/host"
#define NEW_ROOT "/new"
#define INOTIFY_INSTANCES "32" /* of all commands of a sandbox together */

static const char *const no_options[] = {NULL};

static int bind_to(struct builder *b, const char *source, const char *target, uint64_t attributes)
{
	int from = rootpath_lookup(b->host, source, O_PATH);
	struct stat st;

	if (from < 0)
		return from;
	if (fstat(from, &st) < 0)
		return -errno;
	return builder_bind(b, from, S_ISDIR(st.st_mode), target, attributes);
}

static int make_tmpfs(struct builder *b, const struct guest_mount *m)
{
	char mode[16], size[32];
	const char *options[] = {"mode", mode, m->size ? "size" : NULL, size, NULL};

	(void)snprintf(mode, sizeof(mode), "%o", m->mode ? m->mode : 0755);
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)m->size);
	return builder_new(b, "tmpfs", options, BUILDER_PLAIN, m->target);
}

/*
 * Limits this namespace to one more user namespace, which is the one we enter. A process in there
 * has no power here and cannot change the limit; and /proc/sys is read-only by then.
 */
static int limit_userns(struct builder *b, int proc)
{
	cleanup_fd int fd =
		openat(proc, "sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	int r = fd < 0 ? -errno : fd_write_all(fd, "1", 1);

	b->userns_limited = r == 0;
	return r;
}

/*
 * The user's inotify instances are few (128 by default), and each supervisor has one to watch what
 * is protected. A sandbox gets a share of them that leaves the others theirs. Where the kernel has
 * no such limit, the supervisor notices what it lacks: see supervisor/watch-link.c.
 */
static void limit_inotify(int proc)
{
	cleanup_fd int fd =
		openat(proc, "sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0)
		(void)fd_write_all(fd, INOTIFY_INSTANCES, strlen(INOTIFY_INSTANCES));
}

/* The pid namespace of a container is not ours to mount a /proc for: we take the one it has. */
static int open_proc(const struct builder *b)
{
	cleanup_fd int at = -1, tree = -1;
	int r;

	if (!b->in_container)
		return mount_new("proc", no_options, BUILDER_PLAIN | MOUNT_ATTR_NOEXEC);
	at = rootpath_lookup(b->own, "/proc", O_PATH | O_DIRECTORY);
	tree = at < 0 ? at : mount_clone(at);
	r = tree < 0 ? tree : mount_restrict(tree, BUILDER_PLAIN | MOUNT_ATTR_NOEXEC);
	return r < 0 ? r : take_fd(tree);
}

static int make_proc(struct builder *b, const char *target)
{
	cleanup_fd int tree = open_proc(b);
	int r = tree < 0 ? tree : limit_userns(b, tree);

	if (r == 0)
		limit_inotify(tree);
	return r < 0 ? r : builder_attach(b, tree, target, true);
}

/* more: another device of the host's that is wanted; "": none. */
static int make_devices(struct builder *b, const char *target, const char *more)
{
	const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty", more};
	static const char *const links[][2] = {
		{"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"},
		{"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
		{"core", "/proc/kcore"},       {"ptmx", "pts/ptmx"},
	};
	static const char *const dev_options[] = {"mode", "755", NULL};
	static const char *const pts_options[] = {"ptmxmode", "666", "mode", "620", NULL};
	char source[32], path[256];
	int r = builder_new(b, "tmpfs", dev_options, BUILDER_PLAIN, target);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(nodes) && nodes[i][0]; i++) {
		(void)snprintf(source, sizeof(source), "/dev/%s", nodes[i]);
		(void)snprintf(path, sizeof(path), "%s/%s", target, nodes[i]);
		r = rootpath_lookup(b->own, source, O_PATH);
		if (r >= 0)
			r = builder_bind(b, r, false, path, MOUNT_ATTR_NOSUID);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", target, links[i][0]);
		r = rootpath_symlink(&b->site, path, links[i][1]);
	}
	(void)snprintf(path, sizeof(path), "%s/shm", target);
	if (r == 0)
		r = rootpath_dir(&b->site, path, 01777);
	(void)snprintf(path, sizeof(path), "%s/pts", target);
	return r < 0 ? r
		     : builder_new(b, "devpts", pts_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
				   path);
}

static int make_file(struct builder *b, const struct guest_mount *m)
{
	cleanup_fd int fd = rootpath_file(&b->site, m->target, (mode_t)m->mode);

	return fd < 0 ? fd : fd_write_all(fd, m->source, strlen(m->source));
}

static int make_copy(struct builder *b, const struct guest_mount *m)
{
	static char chunk[128 * KiB];
	int from = rootpath_lookup(b->host, m->source, O_RDONLY | O_NOCTTY);
	cleanup_fd int to = from < 0 ? from : rootpath_file(&b->site, m->target, (mode_t)m->mode);
	ssize_t n;

	if (to < 0)
		return to;
	do {
		int r;

		n = read(from, chunk, sizeof(chunk));
		r = n < 0 ? -errno : fd_write_all(to, chunk, (size_t)n);
		if (r < 0)
			return r;
	} while (n == (ssize_t)sizeof(chunk)); /* a regular file gives less only at its end */
	return 0;
}

/* A /dev/null without device access: neither readable nor writable. */
static int mask_file(struct builder *b, const char *target)
{
	return builder_bind(b, b->null, false, target,
			    BUILDER_PLAIN | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
}

static int mask_dir(struct builder *b, const char *target)
{
	static const char *const options[] = {"size", "4096", "mode", "755", NULL};

	return builder_new(b, "tmpfs", options, BUILDER_PLAIN | MOUNT_ATTR_RDONLY, target);
}

/* A mount becomes read-only, what is only a part of one is bound on itself first. */
static int make_readonly(struct builder *b, const char *target)
{
	int at = rootpath_open(&b->site, target), tree, r;

	r = at < 0 ? at : mount_restrict_one(at, MOUNT_ATTR_RDONLY);
	if (r != -EINVAL)
		return r;
	tree = mount_clone(at);
	r = tree < 0 ? tree : mount_restrict(tree, MOUNT_ATTR_RDONLY);
	if (r == 0)
		r = mount_attach(tree, at);
	site_changed(&b->site);
	return r;
}

static int bind_self(struct builder *b, const char *target, uint64_t attributes)
{
	int at = rootpath_lookup_plain(b->site.root, target, O_PATH), tree, r;

	tree = at < 0 ? at : mount_clone(at);
	r = tree < 0 ? tree : mount_restrict(tree, attributes);
	if (r == 0)
		r = mount_attach(tree, at);
	site_changed(&b->site);
	return r;
}

static int hide_file(struct builder *b, const char *target)
{
	int at = rootpath_lookup_plain(b->site.root, target, O_PATH), tree, r;

	if (at == -ENOENT)
		return 0; /* gone meanwhile, and nothing of it is to be made */
	tree = at < 0 ? at : mount_clone(b->null);
	r = tree < 0 ? tree
		     : mount_restrict(tree, BUILDER_PLAIN | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
	return r < 0 ? r : mount_attach(tree, at);
}

static int make(struct builder *b, const struct guest_root *root, size_t row)
{
	const struct guest_mount *m = &root->mounts[row];

	switch (m->kind) {
	case GUEST_BIND_RO:
		return bind_to(b, m->source, m->target, BUILDER_PLAIN | MOUNT_ATTR_RDONLY);
	case GUEST_BIND_RW:
		return bind_to(b, m->source, m->target, BUILDER_PLAIN);
	case GUEST_TMPFS:
		return make_tmpfs(b, m);
	case GUEST_PROC:
		return b->outer < 0 ? make_proc(b, m->target)
				    : rootpath_dir(&b->site, m->target, 0755);
	case GUEST_DEVICES:
		return b->outer < 0
			       ? make_devices(b, m->target, streq(m->source, "kvm") ? "kvm" : "")
			       : rootpath_dir(&b->site, m->target, 0755);
	case GUEST_SYMLINK:
		return rootpath_symlink(&b->site, m->target, m->source);
	case GUEST_FILE:
		return make_file(b, m);
	case GUEST_COPY:
		return make_copy(b, m);
	case GUEST_DIR:
		return rootpath_dir(&b->site, m->target, (mode_t)m->mode);
	case GUEST_MASK:
		return mask_file(b, m->target);
	case GUEST_MASK_DIR:
		return mask_dir(b, m->target);
	case GUEST_PIN:
		return bind_self(b, m->target, BUILDER_PLAIN);
	case GUEST_PROTECT:
		return bind_self(b, m->target, BUILDER_PLAIN | MOUNT_ATTR_RDONLY);
	case GUEST_HIDE:
		return hide_file(b, m->target);
	case GUEST_REMOUNT_RO:
		return make_readonly(b, m->target);
	case GUEST_IMAGE:
		return root_image_lay(b, root, row);
	case GUEST_MOUNT_N:
		break;
	}
	return -EINVAL;
}

int root_too_old(struct err *err)
{
	return err_set(err, ENOSYS,
		       "this kernel is too old for ralph, or a filter forbids a call: Linux 5.12 "
		       "is needed");
}

static const char *const root_options[] = {"mode", "755", NULL};

/* A file system that the host mounts later, in a directory that is seen here, would appear here too,
 * writable. */
static int part_mounts(struct err *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, errno, "cannot part the sandbox's mounts from the host's");
	return 0;
}

int root_prepare(struct err *err)
{
	cleanup_fd int at = -1, base = -1;
	int r = part_mounts(err);

	if (r < 0)
		return r;
	at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	base = mount_new("tmpfs", root_options, BUILDER_PLAIN);
	if (base == -ENOSYS)
		return root_too_old(err);
	if (at < 0 || base < 0)
		return err_sys(err, at < 0 ? errno : -base, "cannot make a file system");
	r = mount_attach(base, at);
	/* Relative to the base, which is the root only after the pivot. */
	if (r < 0 || mkdirat(base, HOST + 1, 0755) < 0 || mkdirat(base, NEW_ROOT + 1, 0755) < 0 ||
	    fchdir(base) < 0 || syscall(SYS_pivot_root, ".", HOST + 1) < 0 || chdir("/") < 0)
		return err_sys(err, r < 0 ? -r : errno, "cannot put the host's root aside");
	return 0;
}

static int open_builder(struct builder *b, struct err *err)
{
	cleanup_fd int at = -1;
	int root, r;

	/* Container runtimes leave mounts as followers of the host's. */
	if (b->in_container) {
		r = part_mounts(err);
		if (r < 0)
			return r;
	}
	b->host = open(b->in_container ? GUEST_CONTAINER_HOST : HOST,
		       O_PATH | O_DIRECTORY | O_CLOEXEC);
	b->own = b->in_container ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : b->host;
	b->null = rootpath_lookup(b->own, "/dev/null", O_PATH);
	at = open(b->in_container ? GUEST_CONTAINER_NEW_ROOT : NEW_ROOT,
		  O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->host < 0 || b->null < 0 || at < 0)
		return err_set(err, ENOENT, "the guest was not given what its root is made of");
	root = mount_new("tmpfs", root_options, BUILDER_PLAIN);
	r = root < 0 ? root : mount_attach(root, at);
	if (r == -ENOSYS)
		return root_too_old(err);
	if (r < 0)
		return err_sys(err, -r, "cannot make the sandbox's root");
	site_init(&b->site, root);
	return 0;
}

static int move_in(int root, struct err *err)
{
	/* The old root ends up on top of the new one, and is taken away from there. */
	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_sys(err, errno, "cannot move into the sandbox's root");
	return 0;
}

/* The sandbox sees no cgroup above its own, where the kernel can hide them. */
static int enter_cgroups(const int *cgroups, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = fd_write_all(cgroups[i], "0", 1);

		if (r < 0)
			return err_sys(err, -r, "cannot enter the sandbox's cgroup");
	}
	if (unshare(CLONE_NEWCGROUP) < 0 && errno != EINVAL)
		return err_sys(err, errno, "cannot make the sandbox's cgroup namespace");
	return 0;
}

/* The user who is root here, as the namespace above has him. */
static int outer_uid(int host, unsigned *ret)
{
	cleanup_fd int fd = rootpath_lookup(host, "/proc/self/uid_map", O_RDONLY);
	char text[64], *rest = text;
	uint64_t uid;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return -EPERM;
	text[n] = '\0';
	/* "         0       1000          1" */
	rest += strspn(rest, " ");
	rest += strspn(rest, "0123456789");
	rest += strspn(rest, " ");
	rest[strcspn(rest, " \n")] = '\0';
	if (parse_uint(rest, 0, UINT32_MAX, &uid) < 0)
		return -EPERM;
	*ret = (unsigned)uid;
	return 0;
}

/*
 * The program runs with capabilities, in a user namespace that the system may allow to this file
 * alone. So an ordinary user's own program is refused: whoever may write it could have any. A file
 * system that a user mounts (FUSE, a stick, an image) can give each file any owner; the programs that
 * mount it for him make it nosuid.
 */
static int judge_program(const struct builder *b, int fd)
{
	unsigned uid;
	struct stat st;
	struct statvfs fs;
	int r = outer_uid(b->host, &uid);

	if (r < 0 || fstat(fd, &st) < 0)
		return -EPERM;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	if (uid == 0)
		return 0;
	if (fstatvfs(fd, &fs) < 0 || (fs.f_flag & ST_NOSUID))
		return -EPERM;
	if (st.st_uid == geteuid() ||
	    syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0)
		return -EPERM;
	return 0;
}

/*
 * For another kernel: our own root has what the outer half and the program need, and the list becomes
 * a tree in it. The program gets that tree alone: no /proc, no /dev, nothing of ours.
 */
static int begin_tree(struct builder *b, const struct guest_root *root)
{
	static const char *const options[] = {"mode", "755", NULL};
	int from = rootpath_lookup(b->host, root->program, O_PATH), r, tree;

	r = from < 0 ? from : judge_program(b, from);
	if (r == 0)
		r = make_proc(b, "/proc");
	if (r == 0)
		r = make_devices(b, "/dev", "");
	if (r == 0)
		r = builder_bind(b, from, false, GUEST_PROGRAM, BUILDER_PLAIN | MOUNT_ATTR_RDONLY);
	if (r == 0)
		r = rootpath_dir(&b->site, GUEST_PRIVATE, 0700);
	if (r == 0)
		r = rootpath_dir(&b->site, GUEST_APART, 0700);
	if (r == 0) /* where runsc's sentry makes the root that it locks itself into */
		r = rootpath_dir(&b->site, "/tmp", 0700);
	if (r == 0)
		r = builder_new(b, "tmpfs", options, BUILDER_PLAIN, GUEST_TREE);
	if (r < 0)
		return r;
	tree = rootpath_lookup(b->site.root, GUEST_TREE, O_PATH | O_DIRECTORY);
	b->outer = b->site.root;
	/* What the new site tidies away lies above its root. */
	tree = tree < 0 ? tree : fcntl(tree, F_DUPFD_CLOEXEC, b->outer + 1);
	if (tree < 0)
		return -errno;
	site_init(&b->site, tree);
	return rootpath_dir(&b->site, "/sys", 0555);
}

/* What covers parts of our kernel's /proc, /dev and /sys: another kernel has its own. */
static bool is_of_kernel(const struct builder *b, const char *target)
{
	return b->outer >= 0 &&
	       (strncmp(target, "/proc/", 6) == 0 || strncmp(target, "/dev/", 5) == 0 ||
		strncmp(target, "/sys/", 5) == 0);
}

static int build(struct builder *b, const struct guest_root *root, struct err *err)
{
	for (size_t i = 0; i < root->n_mounts; i++) {
		const struct guest_mount *m = &root->mounts[i];
		int r = is_of_kernel(b, m->target) ? 0 : make(b, root, i);

		if (r == -ENOSYS)
			return root_too_old(err);
		if (r < 0)
			return err_sys(err, -r, "cannot make '%s' in the sandbox", m->target);
		site_tidy(&b->site);
	}
	return b->userns_limited ? 0
				 : err_set(err, EINVAL, "a sandbox without /proc cannot be closed");
}

/* The program copies our mounts; what the host covers later reaches its copy. */
static int give_tree(const struct builder *b, const struct guest_root *root, struct err *err)
{
	int r = mount_share(b->site.root);
	size_t row;

	if (r < 0)
		return err_sys(err, -r, "cannot share the sandbox's mounts");
	r = apart_make(b->outer, b->site.root, root, &row);
	return r < 0 ? err_sys(err, -r, "cannot make '%s' in the sandbox", root->mounts[row].target)
		     : 0;
}

int root_enter(const struct guest_root *root, bool in_container, const int *cgroups,
	       size_t n_cgroups, struct err *err)
{
	struct builder b = {
		.host = -1, .own = -1, .null = -1, .outer = -1, .in_container = in_container};
	mode_t mask = umask(0);
	int r = enter_cgroups(cgroups, n_cgroups, err);

	if (r == 0 && sethostname(root->hostname, strlen(root->hostname)) < 0)
		r = err_sys(err, errno, "cannot name the sandbox '%s'", root->hostname);
	if (r == 0)
		r = open_builder(&b, err);
	if (r == 0 && root->inside != GUEST_INSIDE_NONE) {
		r = begin_tree(&b, root);
		if (r < 0)
			(void)err_sys(err, -r,
				      "'%s' cannot run here; it must be a program that only root "
				      "can change, on a file system without nosuid",
				      root->program);
	}
	if (r == 0)
		r = build(&b, root, err);
	if (r == 0 && b.outer >= 0)
		r = give_tree(&b, root, err);
	if (r == 0)
		r = move_in(b.outer >= 0 ? b.outer : b.site.root, err);
	/*
	 * The sandbox must hold no descriptor that was opened to build it, least of all the host's
	 * root.
	 */
	if (b.host >= 0 && syscall(SYS_close_range, b.host, UINT_MAX, 0U) < 0 && r == 0)
		r = err_sys(err, errno, "cannot close what the sandbox was made of");
	(void)umask(mask);
	return r;
}

int root_take(const struct guest_setup *s, struct err *err)
{
	bool named = s->hostname[0] != '\0';

	int r;

	/* The present namespaces may belong to an outer user namespace. */
	if (unshare(CLONE_NEWNS | (named ? CLONE_NEWUTS : 0)) < 0)
		return err_sys(err, errno, "cannot make the sandbox's mount namespace");
	r = part_mounts(err);
	if (r < 0)
		return r;
	if (named && sethostname(s->hostname, strlen(s->hostname)) < 0)
		return err_sys(err, errno, "cannot name the sandbox '%s'", s->hostname);
	return 0;
}

int root_leave_power(const struct guest_root *root, bool in_container, struct err *err)
{
	const struct userns_map map = {.uid = root->uid, .gid = root->gid};
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, errno, "cannot make the sandbox's user namespace");
	r = userns_set(&map);
	/*
	 * A change of credentials clears the death signal, so it is set last. A container's parent
	 * is a thread of the runtime, which may end before its process does: there it is not set.
	 */
	if (r == 0 && !in_container &&
	    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL) < 0)
		r = -errno;
	return r < 0 ? err_sys(err, -r, "cannot become the sandbox's user") : 0;
}
