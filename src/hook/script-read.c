#include "hook/script-read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "hook/shell/marks.h"

/* Directories that an agent without root cannot write. */
static const char *const system_dirs[] = {"/usr", "/bin", "/sbin", "/lib",  "/lib64",
					  "/etc", "/opt", "/nix",  "/snap", "/proc"};

static bool is_system(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++)
		if (path_under(path, system_dirs[i]))
			return true;
	return false;
}

static const char *read_text(struct arena *a, int fd, size_t size)
{
	char *text = arena_alloc(a, size + 1);
	size_t n = 0, to = 0;

	while (n < size) {
		ssize_t got = read(fd, text + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (n >= 4 && memcmp(text, "\177ELF", 4) == 0)
		return NULL;
	/* NULs are skipped, as in a shell. */
	for (size_t i = 0; i < n; i++)
		if (text[i])
			text[to++] = mark_plain(text[i]);
	text[to] = '\0';
	return text;
}

const char *script_read(struct arena *a, const char *path, const char **ret_why)
{
	cleanup_fd int fd = -1;
	struct stat st;

	if (is_system(path))
		return NULL;
	/* O_NONBLOCK: a pipe in place of the file must not block. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			*ret_why = "this script cannot be read, so it is not known what it does";
		return NULL;
	}
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		return NULL;
	if (!S_ISREG(st.st_mode)) {
		*ret_why = "what it runs is only known when it runs";
		return NULL;
	}
	if (st.st_size > SCRIPT_READ_MAX) {
		char magic[4] = "";

		if (pread(fd, magic, 4, 0) != 4 || memcmp(magic, "\177ELF", 4) != 0)
			*ret_why = "this script is too long to be looked at";
		return NULL;
	}
	return read_text(a, fd, (size_t)st.st_size);
}
