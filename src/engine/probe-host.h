#pragma once

#include "base/err.h"

#include <stdbool.h>

/*
 * The probes find what this machine offers by trying it. Every probe is bounded in time, runs what might fail
 * or hang in a child of its own, and leaves nothing behind. A probe that finds nothing returns 0
 * and says so in its result: only being unable to look is an error.
 */

/*
 * Can the native engine run here? 0, or an error that says what failed and names the remedy, with
 * exit code 125. It starts a guest, which takes a few milliseconds: on the fast path, start first
 * and ask this why it failed.
 */
int host_native_usable(struct err *err);
/* By a look at what is there: nothing is tried. */
bool host_native_likely(void);

/* How far a guest got that was given nothing but a /proc. */
struct host_native {
	bool usable;
	bool born;	/* the namespaces could be made; something in them failed */
	int failed;	/* errno */
	char said[256]; /* the guest's words */
};
int host_native_try(struct host_native *ret, struct err *err);

/* Reasons that this machine may have for it. */
struct host_facts {
	bool root;		/* the user is root: the next does not concern him */
	bool clone_off;		/* kernel.unprivileged_userns_clone = 0 (Debian) */
	bool max_zero;		/* user.max_user_namespaces = 0 */
	bool apparmor_restrict; /* kernel.apparmor_restrict_unprivileged_userns = 1 (Ubuntu) */
	bool selinux;		/* enforcing */
	bool container;		/* this is one, as far as its files and variables say */
	bool filtered;		/* a system call filter is in force for us */
	bool proc_masked;	/* parts of /proc are covered */
};
void host_facts(struct host_facts *ret);
/* One sentence that says what to do, for an errno of a guest that did not come up. */
const char *host_native_remedy(const struct host_facts *f, bool born, int failed);
/* Adds it to the text of a launch that failed with r, which is returned. */
int host_native_explain(int r, struct err *err);

bool host_seccomp(void);       /* filters can be installed */
bool host_seccomp_notif(void); /* and user notification is there */

/* A tiny guest is run in a child: opening /dev/kvm alone proves nothing. */
enum host_kvm { HOST_KVM_OK, HOST_KVM_ABSENT, HOST_KVM_DENIED, HOST_KVM_BROKEN, HOST_KVM_N };
enum host_kvm host_kvm(int timeout_ms);
