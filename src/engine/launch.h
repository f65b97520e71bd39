#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <sys/types.h>

/*
 * What every native sandbox needs, whatever its spec says: bwrap, and in it the guest, which waits
 * to be told the rest. So it can be started before there is a spec:
 *
 *	launch_open()     descriptors and argument list
 *	launch_run()      in the process that is to be the supervisor, or to become it
 *	engine_adopt()    later, in the supervisor
 *
 * Nothing here needs a spec, or more than the C library.
 */
#define LAUNCH_GUEST "/guest" /* where the guest finds itself */

struct run;

struct engine_launch {
	struct strv argv;
	int guest, status, complaint; /* our ends: the guest's line, bwrap's status and stderr */
	int theirs[3];		      /* and the others, until it runs */
	pid_t pid;		      /* 0 until it runs */
};

void launch_init(struct engine_launch *l);
/* bwrap and guest are paths of the host. */
int launch_open(struct engine_launch *l, const char *bwrap, const char *guest, struct err *err);
int launch_run(struct engine_launch *l, struct err *err);
/* For run.before_exec of a bwrap whose stderr is the other end of `complaint`, in a session of its
 * own: nothing of it outlives who holds that. */
int launch_leash(void *arg);
void launch_keep(const struct engine_launch *l, struct run *run);
void launch_kill(struct engine_launch *l); /* our child */
void launch_done(struct engine_launch *l);
/* bwrap's options, all but the descriptors. */
void launch_options(const char *guest, struct strv *out);

/*
 * bwrap where no sandbox can have put it: before a spec says which directories one can write, only
 * the first of PATH counts, and only if it is the system's own. NULL: no.
 */
const char *launch_safe_bwrap(void);
/* bwrap need not be born in a cgroup of the sandbox's, as far as can be told without one. */
bool launch_likely(void);

#define cleanup_launch cleanup_(launch_done)
