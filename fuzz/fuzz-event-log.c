/* A log as its readers see it: lines, records, the verifier, and what is summed of it. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "events/events-verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct head head = {.last = {.seq = size ? data[0] : 0}, .first = 1};
	cleanup_fd int fd = memfd_create("log", MFD_CLOEXEC);
	struct err err = {0};
	struct verify v;

	if (fd < 0 || fd_write_all(fd, data, size) < 0)
		return 0;
	verify_init(&v, size % 2 ? &head : NULL);
	(void)events_each_of(fd, 0, verify_line, &v, &err);
	verify_end(&v);
	verify_done(&v);
	return 0;
}
