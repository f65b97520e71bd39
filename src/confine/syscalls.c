#include "confine/syscalls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

int confine_load(const uint64_t *insns, size_t n)
{
#if defined(__SANITIZE_ADDRESS__)
	(void)insns;
	(void)n;
	return 0;
#else
	struct sock_fprog prog = {.len = (unsigned short)n,
				  .filter = (struct sock_filter *)(void *)(uintptr_t)insns};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 ? -errno : 0;
#endif
}
