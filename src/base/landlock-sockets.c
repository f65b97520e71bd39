/* Sockets by path, apart from the rest of Landlock: only the guest gives them up. */
#include "base/landlock.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "base/fd.h"

#define RULE_PATH_BENEATH 1

/* Every layer forbids moves between directories that no rule of its own allows: hence REFER. */
int landlock_own_sockets(int abi)
{
	const uint64_t attr[3] = {LANDLOCK_RESOLVE_UNIX | LANDLOCK_REFER};
	cleanup_landlock struct landlock l = {.abi = abi, .fd = -1};
	struct {
		uint64_t access;
		int32_t fd;
	} __attribute__((packed)) rule = {.access = LANDLOCK_REFER};
	cleanup_fd int root = -1;

	if (abi < LANDLOCK_ABI_OWN_SOCKETS)
		return 0;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	rule.fd = root;
	l.fd = (int)syscall(SYS_landlock_create_ruleset, attr, sizeof(attr), 0UL);
	if (l.fd < 0 || syscall(SYS_landlock_add_rule, l.fd, RULE_PATH_BENEATH, &rule, 0UL) < 0)
		return -errno;
	return landlock_enter(&l);
}
