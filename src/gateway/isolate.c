#include "gateway/isolate.h"

#include <cap-ng.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/landlock.h"
#include "confine/syscalls.h"
#include "confine/filters.h"

/* The directories to which the links in a certificate directory lead. */
static const char *const trust_paths[] = {
	"/etc/ssl",
	"/etc/pki",
	"/etc/ca-certificates",
	"/usr/lib/ssl",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/pki",
	"/var/lib/ca-certificates",
	"/nix/store",
	"/gnu/store",
	NULL,
};

/* The directories that getaddrinfo reads: its settings, and the modules that nsswitch names. */
static const char *const lookup_paths[] = {
	"/etc",	    "/lib",	    "/lib64",	      "/usr/lib",   "/usr/lib64", "/run",
	"/var/run", "/var/lib/sss", "/usr/local/lib", "/nix/store", "/gnu/store", NULL,
};

static int drop_caps(void)
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

/* 1: in force; 0: the kernel has no Landlock. */
static int close_files(const char *const *paths, const char *file, const char *dir, unsigned more)
{
	cleanup_landlock struct landlock l;
	int r = landlock_begin(&l, landlock_abi(), more | LANDLOCK_NO_TCP_LISTENING);

	if (r < 0 || l.abi == 0)
		return r;
	/* A path that cannot be opened needs no permission. */
	for (; *paths; paths++)
		(void)landlock_allow(&l, *paths, LANDLOCK_READ);
	if (file)
		(void)landlock_allow(&l, file, LANDLOCK_READ);
	if (dir)
		(void)landlock_allow(&l, dir, LANDLOCK_READ);
	r = landlock_enter(&l);
	return r < 0 ? r : 1;
}

int isolate_files(struct isolate *i, struct err *err)
{
	int r = drop_caps();

	if (r < 0)
		return err_sys(err, -r, "cannot give up capabilities");
	r = close_files(trust_paths, i->ca_file, i->ca_dir,
			LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (r < 0)
		return err_sys(err, -r, "cannot give up files");
	i->landlock = r == 1;
	return 0;
}

int isolate_calls(const struct isolate *i, struct err *err)
{
	int r = i->landlock ? confine_calls(gateway) : confine_calls(gateway_closed);

	return r < 0 ? err_sys(err, -r, "cannot give up system calls") : 0;
}

int isolate_helper(int sock)
{
	int r;

	/* Standard error stays for what the C library may have to say; all else but sock goes. */
	if ((sock > 3 && close_range(3, (unsigned)sock - 1, 0) < 0) ||
	    close_range((unsigned)sock + 1, ~0u, 0) < 0)
		return -errno;
	r = drop_caps();
	if (r == 0)
		r = close_files(lookup_paths, NULL, NULL, 0);
	return r < 0 ? r : confine_calls(helper);
}

int isolate_worker(void)
{
	return confine_calls(worker);
}
