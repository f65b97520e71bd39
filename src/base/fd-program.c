/* Programs in memory. */
#include "base/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd-own.h"

/* Linux 6.3; it must be said where the system makes memory files not executable by default. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static int empty_program(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("ralph-program", flags | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("ralph-program", flags);
	return fd;
}

int fd_program_of(const void *p, size_t n)
{
	return fd_fill(empty_program(), p, n);
}

int fd_program(const char *path)
{
	cleanup_fd int from = open(path, O_RDONLY | O_CLOEXEC), fd = -1;
	char piece[16 * 1024];
	ssize_t n;
	int r;

	if (from < 0)
		return -errno;
	fd = empty_program();
	if (fd < 0)
		return -errno;
	while ((n = read(from, piece, sizeof(piece))) > 0) {
		r = fd_write_all(fd, piece, (size_t)n);
		if (r < 0)
			return r;
	}
	r = n < 0 ? -errno : fd_seal(fd);
	return r < 0 ? r : take_fd(fd);
}
