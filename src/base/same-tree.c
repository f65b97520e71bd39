#include "base/same-tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

#define PIECE (64 * KiB)
#define LINK_MAX 4096

static ssize_t read_full(int fd, char *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = read(fd, p + got, n - got);

		if (k < 0)
			return -1;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

static bool same_content(int a, int b)
{
	cleanup_free char *x = xmalloc(PIECE), *y = xmalloc(PIECE);

	for (;;) {
		ssize_t n = read_full(a, x, PIECE), m = read_full(b, y, PIECE);

		if (n < 0 || n != m || memcmp(x, y, (size_t)n) != 0)
			return false;
		if (n < (ssize_t)PIECE)
			return true;
	}
}

static bool same_link(int a_dir, const char *a, int b_dir, const char *b)
{
	char x[LINK_MAX], y[LINK_MAX];
	ssize_t n = readlinkat(a_dir, a, x, sizeof(x)), m = readlinkat(b_dir, b, y, sizeof(y));

	return n >= 0 && n == m && memcmp(x, y, (size_t)n) == 0;
}

/* Counts the names in a directory, up to the limit. */
static size_t count(int dir, size_t limit)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	size_t n = 0;

	if (!d) {
		closep(&copy);
		return 0;
	}
	while (n < limit && readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static bool same_dir(int a, int b, unsigned depth_max)
{
	int copy = openat(a, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	bool same = d != NULL;
	size_t n = 0;

	if (!d)
		closep(&copy);
	while (same && (e = readdir(d))) {
		n++;
		if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
			same = tree_same(a, e->d_name, b, e->d_name, depth_max);
	}
	if (d)
		(void)closedir(d);
	return same && count(b, n + 1) == n;
}

bool tree_same(int a_dir, const char *a, int b_dir, const char *b, unsigned depth_max)
{
	cleanup_fd int x = -1, y = -1;
	int how = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat s, t;

	if (fstatat(a_dir, a, &s, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(b_dir, b, &t, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (s.st_mode & S_IFMT) != (t.st_mode & S_IFMT))
		return false;
	if (S_ISLNK(s.st_mode))
		return same_link(a_dir, a, b_dir, b);
	if ((s.st_mode & 0777) != (t.st_mode & 0777) || depth_max == 0 ||
	    (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) ||
	    (S_ISREG(s.st_mode) && s.st_size != t.st_size))
		return false;
	x = openat(a_dir, a, how);
	y = openat(b_dir, b, how);
	if (x < 0 || y < 0)
		return false;
	return S_ISDIR(s.st_mode) ? same_dir(x, y, depth_max - 1) : same_content(x, y);
}
