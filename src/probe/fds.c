#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RWF_NOAPPEND_BIT 0x20

static int only_stdio(int argc, char **argv)
{
	int n = 0;

	for (int fd = 3; fd < 70000; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			n += out("descriptor %d is open", fd);
	return n;
}

static int try_names(int fd, int (*use)(const char *path))
{
	const char *forms[] = {"/proc/self/fd/%d", "/proc/thread-self/fd/%d",
			       "/proc/self/task/%2$d/fd/%1$d", "/dev/fd/%d"};
	char path[64];
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(path, sizeof(path), forms[i], fd, (int)getpid());
#pragma GCC diagnostic pop
		n += use(path);
	}
	if (fd <= 2)
		n += use(fd == 0 ? "/dev/stdin" : fd == 1 ? "/dev/stdout" : "/dev/stderr");
	return n;
}

static int use_for_writing(const char *path)
{
	static const int flags[] = {O_WRONLY,		O_RDWR,
				    O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC,
				    O_RDONLY | O_TRUNC, O_WRONLY | O_APPEND,
				    O_WRONLY | O_CREAT, O_WRONLY | O_DIRECT};
	int n = 0, fd;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct open_how how = {.flags = (unsigned)flags[i] | O_CLOEXEC};

		fd = open(path, flags[i] | O_CLOEXEC, 0600);
		if (fd >= 0)
			n += out("open(%s, %#x)", path, (unsigned)flags[i]);
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
		if (fd >= 0)
			n += out("openat2(%s, %#x)", path, (unsigned)flags[i]);
	}
	if (truncate(path, 0) == 0)
		n += out("truncate(%s)", path);
	return n;
}

/* A descriptor for reading stays one for reading. */
static int reopen(int argc, char **argv)
{
	int fd = (int)number(argv[0]), n;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return 0; /* a pipe stands between us and the file */
	n = try_names(fd, use_for_writing);
	if (write(fd, "x", 1) > 0 || ftruncate(fd, 0) == 0)
		n += out("write or ftruncate");
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		n += out("a shared mapping for writing");
	if (fcntl(fd, F_SETFL, O_RDWR) == 0 && write(fd, "x", 1) > 0)
		n += out("F_SETFL");
	if (linkat(fd, "", AT_FDCWD, ".probe-link", AT_EMPTY_PATH) == 0)
		n += out("a name for it");
	if (linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, ".probe-link", AT_SYMLINK_FOLLOW) == 0)
		n += out("a name for it through /proc");
	return n;
}

/* A descriptor for writing is not one for reading. */
static int use_for_reading(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? out("open(%s) for reading", path) : 0;
}

static int read_back(int argc, char **argv)
{
	return try_names((int)number(argv[0]), use_for_reading);
}

static int append_only(int argc, char **argv)
{
	int fd = (int)number(argv[0]), n = try_names(fd, use_for_writing);
	struct iovec v = {"X", 1};

	if (ftruncate(fd, 0) == 0)
		n += out("ftruncate");
	if (syscall(SYS_pwritev2, fd, &v, 1, 0, 0, RWF_NOAPPEND_BIT) > 0)
		n += out("pwritev2(RWF_NOAPPEND)");
	if (fcntl(fd, F_SETFL, 0) == 0 && pwrite(fd, "X", 1, 0) > 0)
		n += out("F_SETFL without O_APPEND");
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 1) == 0)
		n += out("a hole");
	return n;
}

/* Tries to leave the sandbox through a descriptor that is a directory. */
static int escape_by_dir(int argc, char **argv)
{
	int n = 0;

	for (int fd = 0; fd < 3; fd++)
		if (openat(fd, "..", O_RDONLY | O_CLOEXEC) >= 0 || fchdir(fd) == 0)
			n += out("descriptor %d is a directory", fd);
	return n;
}

const struct attack fd_attacks[] = {
	{"only-stdio", only_stdio},	  {"reopen", reopen},
	{"read-back", read_back},	  {"append-only", append_only},
	{"escape-by-dir", escape_by_dir}, {0},
};
