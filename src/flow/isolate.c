#include "flow/isolate.h"

#include <cap-ng.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/landlock.h"

int isolate_rights(void)
{
	struct rlimit none = {0, 0};
	bool bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	capng_clear(CAPNG_SELECT_BOTH);
	/* The bounding set cannot be emptied without CAP_SETPCAP, and matters little then. */
	if (capng_apply(bounds ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0)
		return -EPERM;
	return capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE ? 0 : -EPERM;
}

int isolate_files(const char *const *paths, const char *file, const char *dir, unsigned more)
{
	cleanup_landlock struct landlock l;
	int r = landlock_begin(&l, landlock_abi(), more | LANDLOCK_NO_TCP_LISTENING);

	if (r < 0 || l.abi == 0)
		return r;
	/* A path that cannot be opened needs no permission. */
	for (; paths && *paths; paths++)
		(void)landlock_allow(&l, *paths, LANDLOCK_READ);
	if (file)
		(void)landlock_allow(&l, file, LANDLOCK_READ);
	if (dir)
		(void)landlock_allow(&l, dir, LANDLOCK_READ);
	r = landlock_enter(&l);
	return r < 0 ? r : 1;
}
