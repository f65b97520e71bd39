#include "probe/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	(void)close(fd);
	return 1;
}

static int unreadable(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < argc; i++)
		if (opens(argv[i], O_RDONLY))
			n += out("'%s' can be read", argv[i]);
	return n;
}

static int absent(int argc, char **argv)
{
	struct stat st;
	int n = 0;

	for (int i = 0; i < argc; i++)
		if (lstat(argv[i], &st) == 0)
			n += out("'%s' is there", argv[i]);
	return n;
}

/* Everything that makes an entry in a directory; what succeeds is undone. */
static int plant_in(const char *dir)
{
	char path[4096];
	int n = 0, fd;

	(void)snprintf(path, sizeof(path), "%s/.probe-planted", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		n += out("a file can be made in '%s'", dir);
		(void)close(fd);
		(void)unlink(path);
	}
	if (mkdir(path, 0700) == 0) {
		n += out("a directory can be made in '%s'", dir);
		(void)rmdir(path);
	}
	if (symlink("/", path) == 0 || mknod(path, S_IFIFO | 0600, 0) == 0) {
		n += out("a link or pipe can be made in '%s'", dir);
		(void)unlink(path);
	}
	fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0) {
		n += out("an unnamed file can be made in '%s'", dir);
		(void)close(fd);
	}
	return n;
}

/* Changes that leave all as it was where they succeed. */
static int change(const char *path, const struct stat *st)
{
	int n = 0;

	if (opens(path, O_WRONLY) || opens(path, O_RDWR))
		n += out("'%s' can be written", path);
	if (truncate(path, st->st_size) == 0)
		n += out("'%s' can be truncated", path);
	if (chmod(path, st->st_mode & 07777) == 0)
		n += out("the mode of '%s' can be changed", path);
	if (utimensat(AT_FDCWD, path, (struct timespec[2]){st->st_atim, st->st_mtim}, 0) == 0)
		n += out("the times of '%s' can be changed", path);
	return n;
}

int unwritable_one(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		broken(path);
	return S_ISDIR(st.st_mode) ? plant_in(path) : change(path, &st);
}

static int unwritable(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < argc; i++)
		n += unwritable_one(argv[i]);
	return n;
}

static int devices(int argc, char **argv)
{
	static const struct {
		mode_t type;
		unsigned major, minor;
	} nodes[] = {{S_IFCHR, 1, 1},
		     {S_IFCHR, 1, 3},
		     {S_IFCHR, 5, 1},
		     {S_IFBLK, 8, 0},
		     {S_IFBLK, 259, 0}};
	char path[4096];
	int n = 0;

	for (int i = 0; i < argc; i++)
		for (size_t k = 0; k < ARRAY_SIZE(nodes); k++) {
			(void)snprintf(path, sizeof(path), "%s/.probe-node", argv[i]);
			if (mknod(path, nodes[k].type | 0600,
				  makedev(nodes[k].major, nodes[k].minor)) == 0) {
				n += out("a device node can be made in '%s'", argv[i]);
				(void)unlink(path);
			}
		}
	return n;
}

/* /dev holds these and nothing else; of the terminals, none that was not made inside. */
static int minimal_dev(int argc, char **argv)
{
	static const char known[] =
		" null zero full random urandom tty ptmx pts shm fd stdin stdout stderr core . .. ";
	char word[300];
	struct dirent *de;
	DIR *dir = opendir("/dev");
	int n = 0;

	if (!dir)
		broken("/dev");
	while ((de = readdir(dir))) {
		(void)snprintf(word, sizeof(word), " %s ", de->d_name);
		if (!strstr(known, word) && !(argc > 0 && streq(argv[0], de->d_name)))
			n += out("/dev/%s is there", de->d_name);
	}
	(void)closedir(dir);
	for (int i = 0; i < 64; i++) {
		(void)snprintf(word, sizeof(word), "/dev/pts/%d", i);
		if (opens(word, O_RDWR))
			n += out("%s can be opened", word);
	}
	if (opens("/dev/tty", O_RDWR))
		n += out("/dev/tty is somebody's terminal");
	return n;
}

static int found; /* nftw() hands nothing through */

/* Anybody may ask to be told of pressure. */
static int is_elsewhere(const char *path)
{
	return strncmp(path, "/proc/pressure/", 15) == 0;
}

static int look_at_proc(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (!S_ISREG(st->st_mode) || is_elsewhere(path))
		return 0;
	if (opens(path, O_WRONLY))
		found += out("'%s' can be written", path);
	if (!(st->st_mode & 0004) && strncmp(path, "/proc/sys/", 10) != 0 && opens(path, O_RDONLY))
		found += out("'%s' is root's alone and can be read", path);
	return 0;
}

/* Processes are another attack's: they end in the middle of a walk, and the walk with them. */
static int proc_files(int argc, char **argv)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;

	if (!dir)
		broken("/proc");
	while ((de = readdir(dir))) {
		char path[PATH_MAX];

		if (de->d_name[0] == '.' || (de->d_name[0] >= '1' && de->d_name[0] <= '9'))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s", de->d_name);
		if (nftw(path, look_at_proc, 16, FTW_PHYS) < 0)
			broken(path);
	}
	(void)closedir(dir);
	return found;
}

static int look_at_owners(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (S_ISREG(st->st_mode) && !(st->st_mode & 0004) && opens(path, O_RDONLY))
		found += out("'%s' is not for everybody and can be read", path);
	return 0;
}

static int owners_files(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		(void)nftw(argv[i], look_at_owners, 16, FTW_PHYS);
	return found;
}

/* "Shocker": the root of a file system has a well-known number, and a handle needs no path. */
static int handles(int argc, char **argv)
{
	struct {
		struct file_handle head;
		unsigned char bytes[8];
	} h = {.head = {.handle_bytes = 8, .handle_type = 1}, .bytes = {2}};
	union {
		struct file_handle head;
		char room[256];
	} own;
	int n = 0, mount_id, dir = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		broken(argv[0]);
	if (syscall(SYS_open_by_handle_at, dir, &h, O_RDONLY) >= 0 || errno != EPERM)
		n += out("open_by_handle_at(root of the file system): %m");
	own.head.handle_bytes = sizeof(own) - sizeof(own.head);
	if (syscall(SYS_name_to_handle_at, dir, "", &own, &mount_id, AT_EMPTY_PATH) == 0 &&
	    syscall(SYS_open_by_handle_at, dir, &own, O_RDONLY) >= 0)
		n += out("open_by_handle_at() of an own file");
	return n;
}

/* A second name for a file of the host would be writable where the first is not. */
static int hard_link(int argc, char **argv)
{
	char path[4096];
	int n = 0;

	for (int i = 1; i < argc; i++) {
		(void)snprintf(path, sizeof(path), "%s/.probe-link", argv[0]);
		if (link(argv[i], path) == 0 ||
		    linkat(AT_FDCWD, argv[i], AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) {
			n += out("'%s' can be linked", argv[i]);
			(void)unlink(path);
		}
		if (rename(argv[i], path) == 0) {
			n += out("'%s' can be moved", argv[i]);
			(void)rename(path, argv[i]);
		}
	}
	return n;
}

const struct attack file_attacks[] = {
	{"unreadable", unreadable},	{"absent", absent},
	{"unwritable", unwritable},	{"devices", devices},
	{"minimal-dev", minimal_dev},	{"proc-files", proc_files},
	{"owners-files", owners_files}, {"handles", handles},
	{"hard-link", hard_link},	{0},
};
