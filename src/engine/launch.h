#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "wire/wire.h"

#include <sys/types.h>

/*
 * The guest in namespaces of its own, as every native sandbox needs it, whatever its spec says: it
 * waits to be told the rest. So it can be started before there is a spec:
 *
 *	launch_open()     descriptors and argument list
 *	launch_run()      in the process that is to be the supervisor, or to become it
 *	engine_adopt()    later, in the supervisor
 *
 * Nothing here needs a spec, or more than the C library.
 */
struct engine_launch {
	struct strv argv;
	int guest, complaint; /* our ends: the guest's line, and its stderr */
	int theirs[2];	      /* and the others, until it runs */
	pid_t pid;	      /* the guest, a child of this process; 0 until it runs */
	bool in_cgroup;	      /* it was born in what cgroup_ahead() made for this process */
};

void launch_init(struct engine_launch *l);
/* guest is its path on the host. */
int launch_open(struct engine_launch *l, const char *guest, struct err *err);

/* Optional: a program that becomes the guest's (systemd-run), a cgroup v2 directory to be born in. */
struct launch_how {
	const struct strv *before;
	int into_cgroup; /* -1: none */
};
#define LAUNCH_PLAIN ((const struct launch_how){.into_cgroup = -1})

/*
 * Returns 0 when the guest is pid 1 of its namespaces; a failure has the guest's own words. Waits
 * for as long as the kernel needs to make them, and not for the guest's work in there.
 */
int launch_run(struct engine_launch *l, struct launch_how how, struct err *err);
/* The number of the next frame, which is to be of that kind. A guest that failed has said why. */
int launch_answer(int line, enum wire_type want, int timeout_ms, uint32_t *ret, struct err *err);
void launch_kill(struct engine_launch *l);
void launch_done(struct engine_launch *l);
/* The guest's arguments, all but the descriptors. */
void launch_options(const char *guest, struct strv *out);

/*
 * launch_open() and launch_run() before there is a spec. On a machine with the second version of cgroups
 * alone the guest is born in one, see cgroup_ahead(); launch_drop() ends all of it. For the process that
 * is to become the supervisor. An error: the supervisor starts it, and can say why that fails.
 */
int launch_ahead(struct engine_launch *l, const char *guest, struct err *err);
void launch_drop(struct engine_launch *l);

/*
 * The directory of ralph's own programs. RALPH_LIBEXEC names another one, for builds in a tree: an
 * installed ralph ignores it, or any file could take the place of the guest, which may be the only
 * one that the system lets make user namespaces.
 */
char *launch_programs(void);

#define cleanup_launch cleanup_(launch_done)
