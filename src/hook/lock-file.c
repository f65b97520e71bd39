#include "hook/lock-file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

#define LEVELS_MAX 32 /* directories above */

static const char *const files[] = {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock",
				    "pnpm-lock.yaml", "bun.lock"};

/* A name stands alone: "node_modules/NAME", "NAME@1.2", NAME: and the like. */
static bool has_name(const char *text, size_t len, const char *name)
{
	const size_t n = strlen(name);
	const char *end = text + len, *p = text;

	while ((p = memmem(p, (size_t)(end - p), name, n))) {
		char before = p == text ? '\n' : p[-1], after = p + n == end ? '\n' : p[n];

		if (strchr("\"'/ \n", before) && strchr("\"'@/:", after))
			return true;
		p += n;
	}
	return false;
}

static bool file_has(int fd, const char *name)
{
	struct stat st;
	void *text;
	bool found;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
	    st.st_size > LOCK_FILE_MAX)
		return false;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return false;
	found = has_name(text, (size_t)st.st_size, name);
	(void)munmap(text, (size_t)st.st_size);
	return found;
}

static bool is_installed(int dir, const char *name)
{
	cleanup_free char *bin = path_join("node_modules/.bin", name);
	cleanup_free char *package = path_join("node_modules", name);
	struct stat st;

	return fstatat(dir, bin, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       fstatat(dir, package, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* 1: it is here; 0: a lock file without it is; -1: there is no lock file. */
static int look(int dir, const char *name)
{
	bool any = false;

	if (is_installed(dir, name))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_fd int fd = openat(dir, files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 && file_has(fd, name))
			return 1;
		any = any || fd >= 0;
	}
	return any ? 0 : -1;
}

bool lock_file_has(const char *path, const char *name)
{
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 && errno == ENOENT)
		return true; /* nothing can run there */
	if (name[0] == '/' || strstr(name, ".."))
		return false;
	for (int i = 0; dir >= 0 && i < LEVELS_MAX; i++) {
		int up, r = look(dir, name);

		if (r >= 0)
			return r > 0;
		up = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		closep(&dir);
		dir = up;
	}
	return false;
}
