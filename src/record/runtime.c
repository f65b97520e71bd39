#include "record/runtime.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "build-config.h"
#include "record/name.h"

#define BACKLOG 128
#define VERSION_MAX 64
/* The only release whose supervisors write no version next to their socket. */
#define VERSION_UNSAID "0.1.0"

/*
 * The address goes through a descriptor of the directory, because its path may exceed the 107 bytes
 * of a socket address.
 */
static void address_in(int dir, struct sockaddr_un *sa)
{
	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(sa->sun_path, sizeof(sa->sun_path), "/proc/self/fd/%d/ctl", dir);
}

/* Under /tmp another user may have created the directory first, and a socket there would receive
 * the commands and their descriptors. So it is checked through the same descriptor that is used
 * afterwards. */
static int open_own(int parent, const char *path)
{
	cleanup_fd int fd = openat(parent, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	return take_fd(fd);
}

static int open_dir(const struct places *p, const char *name)
{
	cleanup_fd int parent = open_own(AT_FDCWD, p->runtime);

	return parent < 0 ? parent : open_own(parent, name);
}

static int make_dir(const struct places *p, const char *name, struct err *err)
{
	cleanup_free char *path = path_join(p->runtime, name), *parent = path_dir(p->runtime);
	int r = path_mkdirs(parent, 0700, err);

	if (r == 0)
		r = path_private_dir(p->runtime, err);
	return r < 0 ? r : path_private_dir(path, err);
}

/* The socket is removed first: a socket without a version means an older ralph. */
static void remove_files(int dir)
{
	(void)unlinkat(dir, "ctl", 0);
	(void)unlinkat(dir, "version", 0);
	(void)unlinkat(dir, RUNTIME_RULES, 0);
}

int runtime_listen(const struct places *p, const char *name, int *ret, struct err *err)
{
	cleanup_fd int dir = -1, fd = -1;
	struct sockaddr_un sa;
	int r = make_dir(p, name, err);

	if (r < 0)
		return r;
	dir = open_dir(p, name);
	if (dir < 0)
		return err_sys(err, -dir, "cannot open '%s/%s'", p->runtime, name);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, errno, "cannot create a socket");
	address_in(dir, &sa);
	/* An existing socket was left by a crash: the live lock proves that nobody listens. */
	remove_files(dir);
	if (symlinkat(RALPH_VERSION, dir, "version") < 0)
		return err_sys(err, errno, "cannot write '%s/%s/version'", p->runtime, name);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(err, errno, "cannot listen on '%s/%s/ctl'", p->runtime, name);
	*ret = take_fd(fd);
	return 0;
}

/* The version is a link, because one system call reads it, which is cheap enough for `ralph
 * exec`. */
static void read_version(int dir, char ret[VERSION_MAX])
{
	ssize_t n = readlinkat(dir, "version", ret, VERSION_MAX - 1);
	struct stat st;

	ret[n > 0 ? n : 0] = '\0';
	/* A missing socket means that the sandbox ended after connect(): the connection will
	 * report that. */
	if (n <= 0)
		(void)snprintf(ret, VERSION_MAX, "%s",
			       fstatat(dir, "ctl", &st, AT_SYMLINK_NOFOLLOW) == 0 ? VERSION_UNSAID
										  : RALPH_VERSION);
}

static int connect_in(const struct places *p, const char *name, int *ret, char version[VERSION_MAX])
{
	cleanup_fd int dir = open_dir(p, name), fd = -1;
	struct sockaddr_un sa;

	if (dir < 0)
		return dir;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	address_in(dir, &sa);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	read_version(dir, version);
	*ret = take_fd(fd);
	return 0;
}

static int reach(const struct places *p, const char *name, int *ret, char version[VERSION_MAX],
		 struct err *err)
{
	int r;

	*ret = -1;
	r = connect_in(p, name, ret, version);
	if (r == 0 || r == -ENOENT || r == -ECONNREFUSED)
		return 0;
	if (r == -EPERM || r == -ENOTDIR || r == -ELOOP)
		return err_set(err, EPERM,
			       "'%s' and what is in it must be directories of your own, closed to "
			       "others; look who made it, and remove it",
			       p->runtime);
	return err_sys(err, -r, "cannot reach sandbox '%s'", name);
}

int runtime_connect(const struct places *p, const char *name, int *ret, struct err *err)
{
	char version[VERSION_MAX];

	return reach(p, name, ret, version, err);
}

int runtime_join(const struct places *p, const char *name, int *ret, struct err *err)
{
	char version[VERSION_MAX];
	int r = reach(p, name, ret, version, err);

	if (r < 0 || *ret < 0 || streq(version, RALPH_VERSION))
		return r;
	closep(ret);
	return err_set(err, EPROTO, "sandbox '%s' was started by version %s; run: ralph stop %s",
		       name, version, name);
}

int runtime_list(const struct places *p, struct strv *ret, struct err *err)
{
	cleanup_fd int own = open_own(AT_FDCWD, p->runtime);
	DIR *d = own < 0 ? NULL : opendir(p->runtime);
	struct dirent *de;

	if (own == -ENOENT)
		return 0;
	if (!d)
		return err_sys(err, own < 0 ? -own : errno, "cannot open '%s'", p->runtime);
	while ((de = readdir(d)))
		if (name_valid(de->d_name))
			strv_push(ret, de->d_name);
	(void)closedir(d);
	return 0;
}

bool runtime_exists(const struct places *p, const char *name)
{
	cleanup_free char *path = path_join(p->runtime, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

void runtime_remove(const struct places *p, const char *name)
{
	cleanup_free char *path = path_join(p->runtime, name);
	cleanup_fd int dir = open_dir(p, name);

	if (dir < 0)
		return;
	remove_files(dir);
	(void)rmdir(path);
}
