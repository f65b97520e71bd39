/*
 * Attacks whose arguments say what the host has: they compare what is seen inside with it, so that
 * a sandbox whose own home holds a .ssh is not taken for one that shows the user's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "probe/probe.h"

extern char **environ;

#define TELL_MAX (64 * KiB) /* of one file */

void slurp(const char *path, struct buf *b, size_t max)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	buf_init(b, max);
	if (fd >= 0)
		(void)fd_read_all(fd, b);
}

/* `not-host PATH DEVICE INODE…`: what is at PATH here is not what the host has there. */
static int not_host(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i + 2 < argc; i += 3) {
		struct stat st;

		if (stat(argv[i], &st) == 0 && st.st_dev == number(argv[i + 1]) &&
		    st.st_ino == number(argv[i + 2]))
			n += out("'%s' is the host's own", argv[i]);
	}
	return n;
}

/* `own-namespaces NAME LINK…`: as the host's own links in /proc/self/ns read. */
static int own_namespaces(int argc, char **argv)
{
	char path[64], text[64];
	int n = 0;

	for (int i = 0; i + 1 < argc; i += 2) {
		ssize_t len;

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", argv[i]);
		len = readlink(path, text, sizeof(text) - 1);
		if (len < 0)
			broken(path);
		text[len] = '\0';
		if (streq(text, argv[i + 1]))
			n += out("the %s namespace is the host's", argv[i]);
	}
	return n;
}

/* `host-process PID START`: START is its time of birth, by which a process is known. */
static int host_process(int argc, char **argv)
{
	cleanup_buf struct buf b;
	char path[64], *at;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", argv[0]);
	slurp(path, &b, TELL_MAX);
	at = b.len ? strrchr(b.data, ')') : NULL;
	if (!at)
		return 0;
	at += 2;
	for (int i = 3; i < 22; i++) /* the third field comes behind the name */
		(void)strsep(&at, " ");
	return at && streq(strsep(&at, " "), argv[1])
		       ? out("process %s of the host is seen", argv[0])
		       : 0;
}

/*
 * Checks that neither the target nor a directory above it can be moved away, up to the root of the
 * writable tree.
 */
static int unmovable(const char *root, const char *target)
{
	cleanup_free char *path = xstrdup(target);
	int n = 0;

	while (strlen(path) > strlen(root)) {
		cleanup_free char *aside = xasprintf("%s.probe-moved", path);

		if (rename(path, aside) == 0) {
			n += out("'%s' can be moved away", path);
			(void)rename(aside, path);
		}
		*strrchr(path, '/') = '\0';
	}
	return n;
}

/* `protected ROOT TARGET…`: pairs of them. */
static int protected(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i + 1 < argc; i += 2) {
		struct stat st;

		/* Whether it had to be there is for `mounts` to say. */
		if (lstat(argv[i + 1], &st) == 0)
			n += unwritable_one(argv[i + 1]) + unmovable(argv[i], argv[i + 1]);
	}
	return n;
}

/* `environment NAME…`: these and no others. */
static int environment(int argc, char **argv)
{
	int n = 0;

	for (char **e = environ; *e; e++) {
		size_t len = strcspn(*e, "=");
		bool known = false;

		for (int i = 0; i < argc && !known; i++)
			known = strlen(argv[i]) == len && strncmp(argv[i], *e, len) == 0;
		if (!known)
			n += out("variable %.*s", (int)len, *e);
	}
	return n;
}

/* `limits RESOURCE VALUE…`: no more than that. */
static int limits(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i + 1 < argc; i += 2) {
		struct rlimit l;

		if (getrlimit((int)number(argv[i]), &l) < 0)
			broken("getrlimit");
		if (l.rlim_max > number(argv[i + 1]))
			n += out("limit %s is %llu", argv[i], (unsigned long long)l.rlim_max);
	}
	return n;
}

static void tell_file(const char *path)
{
	cleanup_buf struct buf b;

	slurp(path, &b, TELL_MAX);
	(void)fwrite(b.data, 1, b.len, stdout);
	(void)putchar('\0');
}

/*
 * `tell PATH…` prints everything that could hold a secret: its variables, the environments and
 * command lines of all processes, and these files. The host knows the secrets and looks for them in
 * the output; they never come in.
 */
static int tell(int argc, char **argv)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;

	for (char **e = environ; *e; e++)
		(void)fwrite(*e, 1, strlen(*e) + 1, stdout);
	while (dir && (de = readdir(dir))) {
		char path[300];

		if (de->d_name[0] < '0' || de->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/environ", de->d_name);
		tell_file(path);
		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", de->d_name);
		tell_file(path);
	}
	if (dir)
		(void)closedir(dir);
	for (int i = 0; i < argc; i++)
		tell_file(argv[i]);
	return fflush(stdout) ? 1 : 0;
}

const struct attack host_attacks[] = {
	{"not-host", not_host},
	{"own-namespaces", own_namespaces},
	{"host-process", host_process},
	{"protected", protected},
	{"environment", environment},
	{"limits", limits},
	{"tell", tell},
	{0},
};
