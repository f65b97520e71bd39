#pragma once

#include "base/err.h"
#include "base/find-program.h"

#include <stdbool.h>

/*
 * The probes find what this machine offers by trying it. Every probe is bounded in time, runs what might fail
 * or hang in a child of its own, and leaves nothing behind. A probe that finds nothing returns 0
 * and says so in its result: only being unable to look is an error.
 */

/* Path of bwrap on PATH; -ENOENT with the remedy, exit code 125. *ret is the caller's. */
int host_bwrap_path(char **ret, struct err *err);

/*
 * Is there a bwrap that will do, and may this user make namespaces? 0, or an error whose text
 * names the remedy, with exit code 125. It tries, which takes about as long as a start of bwrap:
 * on the fast path, start first and ask this why it failed.
 */
int host_native_usable(struct err *err);
/* By a look at what is there: nothing is tried. */
bool host_native_likely(void);

struct host_userns {
	bool usable;	/* by this program, or by bwrap where a profile lets only that one */
	int failed;	/* errno of the attempt */
	bool clone_off; /* kernel.unprivileged_userns_clone = 0 (Debian) */
	bool apparmor_restrict; /* kernel.apparmor_restrict_unprivileged_userns = 1 (Ubuntu) */
	bool max_zero;		/* user.max_user_namespaces = 0 */
};
int host_userns(struct host_userns *ret, struct err *err);
/* One sentence that says what to do, for a machine where it is not usable. */
const char *host_userns_remedy(const struct host_userns *u);

struct host_bwrap {
	char *path; /* NULL: not there */
	unsigned major, minor, patch;
	bool setuid; /* then it does not let the guest keep capabilities */
	bool usable; /* not setuid, and new enough */
};
int host_bwrap(struct host_bwrap *ret, struct err *err);
void host_bwrap_done(struct host_bwrap *b);

bool host_seccomp(void);       /* filters can be installed */
bool host_seccomp_notif(void); /* and user notification is there */

/* A tiny guest is run in a child: opening /dev/kvm alone proves nothing. */
enum host_kvm { HOST_KVM_OK, HOST_KVM_ABSENT, HOST_KVM_DENIED, HOST_KVM_BROKEN, HOST_KVM_N };
enum host_kvm host_kvm(int timeout_ms);
