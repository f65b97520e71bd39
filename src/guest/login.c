#include "guest/login.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "guest/mount.h"

#define ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* An agent wrote here once: no link is followed, and only an empty file is covered. */
static int open_place(const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	cleanup_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && st.st_size == 0 ? take_fd(fd) : -EEXIST;
}

/* A file can be bound only from a mount of this namespace, so its tmpfs is mounted for a moment,
 * over the root, where nothing is looked up meanwhile. */
static int cover(int at, int *ret)
{
	static const char *const options[] = {"size", "512k", "nr_inodes", "4",
					      "mode", "700",  NULL};
	cleanup_fd int tmpfs = mount_new("tmpfs", options, ATTRIBUTES);
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int file = -1, tree = -1;
	int r = tmpfs < 0 ? tmpfs : root < 0 ? -errno : mount_attach(tmpfs, root);

	if (r < 0)
		return r;
	file = openat(tmpfs, "login", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	tree = file < 0 ? -errno : mount_clone(file);
	r = tree < 0 ? tree : mount_attach(tree, at);
	if (fchdir(tmpfs) < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		r = -errno;
	if (r == 0)
		*ret = take_fd(file);
	return r;
}

int login_make(struct guest *g, const char *below, struct err *err)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < g->setup.n_logins; i++) {
		size_t n = strlen(below) + strlen(g->setup.logins[i]);
		cleanup_fd int at = -1;
		int r;

		if (n < sizeof(path))
			(void)stpcpy(stpcpy(path, below), g->setup.logins[i]);
		at = n < sizeof(path) ? open_place(path) : -ENAMETOOLONG;
		r = at < 0 ? at : cover(at, &g->logins[i]);

		if (r == -EEXIST || r == -ELOOP || r == -ENOENT)
			return err_set(err, -r,
				       "the login's place '%s' is not the empty file that ralph "
				       "made; start the sandbox again",
				       g->setup.logins[i]);
		if (r < 0)
			return err_sys(err, -r, "cannot make memory for the login '%s'",
				       g->setup.logins[i]);
	}
	return 0;
}

bool login_is_needed(const struct wire_msg *spawn)
{
	struct wire_reader rd;

	wire_read(&rd, spawn);
	return wire_get_u32(&rd) & WIRE_EXEC_LOGIN;
}

/* Written over what is there, not after it was cut: another command that reads the same login at
 * this moment finds it whole. */
static int copy(int to, int from, off_t *at, uint64_t len)
{
	off_t end = *at + (off_t)len;

	if (lseek(to, 0, SEEK_SET) < 0)
		return -errno;
	while (*at < end) {
		ssize_t n = sendfile(to, from, at, (size_t)(end - *at));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return ftruncate(to, (off_t)len) < 0 ? -errno : 0;
}

int login_fill(const struct guest *g, const struct wire_msg *spawn, struct err *err)
{
	uint64_t lengths[GUEST_LOGINS_MAX];
	size_t n = g->setup.n_logins, head = n * sizeof(lengths[0]);
	int from = spawn->n_fds ? spawn->fds[spawn->n_fds - 1] : -1, r = 0;
	off_t at = (off_t)head;

	if (pread(from, lengths, head, 0) != (ssize_t)head)
		r = -EPROTO;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = lengths[i] > GUEST_LOGIN_SIZE ? -EFBIG
						  : copy(g->logins[i], from, &at, lengths[i]);
	return r < 0 ? err_sys(err, -r, "cannot bring the login into the sandbox") : 0;
}

void login_wipe(const struct guest *g)
{
	for (size_t i = 0; i < g->setup.n_logins; i++)
		(void)!ftruncate(g->logins[i], 0);
}
