#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * DOC: Theory of operation
 *
 * Limits on everything in a sandbox together, where the kernel lets this user have them. The
 * probe says what can be had, strongest first:
 *
 *	CGROUP_V2     a directory of our own below this process's cgroup or an ancestor of it
 *	CGROUP_V1     one directory per hierarchy (memory, pids, cpu) where this process is
 *	CGROUP_SCOPE  a scope from the user's service manager: cgroup_scope_argv() goes in front of
 *	              the command, and the manager removes the scope when its last process ends
 *	CGROUP_NONE   rlimits only
 *
 * A process is born inside, or enters itself before it runs anything of the sandbox's. Nobody is
 * moved later: what is born inside stays inside. All functions may block
 * for the time a file in cgroupfs takes; only cgroup_remove() waits for others, and says how long.
 */
enum cgroup_method { CGROUP_NONE, CGROUP_V1, CGROUP_V2, CGROUP_SCOPE, CGROUP_METHOD_N };

enum cgroup_controllers {
	CGROUP_MEMORY = 1 << 0,
	CGROUP_PIDS = 1 << 1,
	CGROUP_CPU = 1 << 2,
};
#define CGROUP_ALL (CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPU)

#define CGROUP_PLACES_MAX 3 /* memory, pids, cpu */

/* One directory below which ours can be made. */
struct cgroup_place {
	char *dir;
	unsigned controllers; /* set of enum cgroup_controllers */
	bool v2;
};

struct cgroup_support {
	enum cgroup_method method;
	unsigned controllers; /* all that limits can be set with */
	struct cgroup_place place[CGROUP_PLACES_MAX];
	size_t n_places;
};

/* The places the probe reads; NULL members mean the running system. Tests give their own tree. */
struct cgroup_source {
	char *proc_cgroup;     /* content of /proc/self/cgroup */
	char *mountinfo;       /* content of /proc/self/mountinfo */
	bool (*manager)(void); /* does the user's service manager answer? */
};

/* Reads both files once, for several questions; the strings are the caller's. */
int cgroup_source_read(struct cgroup_source *ret, struct err *err);
void cgroup_source_done(struct cgroup_source *s);

/* src may be NULL. Never fails for want of cgroups: that is CGROUP_NONE. Makes nothing; enables
 * nothing, and takes a fraction of a millisecond. */
int cgroup_probe(const struct cgroup_source *src, struct cgroup_support *ret, struct err *err);
void cgroup_support_done(struct cgroup_support *s);
/* "cgroup v1 (memory, pids, cpu)", "cgroup v2 (…)", "cgroup v2 scope (…)", "rlimits". */
char *cgroup_support_text(const struct cgroup_support *s);

/* The spec's form of it, and back: what was shown is what is used. */
void cgroup_support_to_spec(const struct cgroup_support *s, struct spec_limits *ret);
void cgroup_support_from_spec(const struct spec_limits *l, struct cgroup_support *ret);

struct cgroup_limits {
	uint64_t memory; /* bytes; swap included where it is accounted; 0: no limit */
	uint64_t pids;	 /* 0: no limit */
	uint64_t cpu;	 /* percent of one core; 0: no limit */
};

/* The files that hold these limits, and what is written to them, in order. Pure. */
#define CGROUP_SETTINGS_MAX 6
struct cgroup_setting {
	const char *file;
	char value[48];
	bool optional; /* the kernel may have been built without this one */
};
size_t cgroup_settings(const struct cgroup_limits *l, bool v2, unsigned controllers,
		       struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);

struct cgroup {
	char *name; /* of the directory */
	struct {
		int parent; /* O_PATH of the place */
		int dir;    /* O_PATH of our directory */
		int enter;  /* cgroup.procs or tasks, open for writing */
		bool v2;
	} at[CGROUP_PLACES_MAX];
	size_t n;
};

/*
 * Makes the directory `name` ([A-Za-z0-9_.-], at most 128 bytes; unique on the machine, so not a
 * bare sandbox name) in every place and sets the limits; a limit that cannot be set is an error
 * and nothing is left behind. An empty directory of that name is what a crash left, and is taken
 * over; one with processes in it is -EEXIST. Only for CGROUP_V1 and CGROUP_V2.
 */
int cgroup_create(const struct cgroup_support *s, const char *name,
		  const struct cgroup_limits *limits, struct cgroup *ret, struct err *err);
/* The same for a directory that is there, with what lives in it. */
int cgroup_take(const struct cgroup_support *s, const char *name,
		const struct cgroup_limits *limits, struct cgroup *ret, struct err *err);
/*
 * Two ways in, both for a process with one thread: it is born inside by a clone3() with
 * CLONE_INTO_CGROUP and the descriptor of cgroup_clone_fd(), -1 where there is more than one
 * hierarchy or an old one; or it writes "0" to each of cgroup_entries(), which are none in the
 * first case. A thread that moves itself in v1 takes no global lock; anything else would wait for
 * an RCU grace period of 5 to 15 ms.
 */
size_t cgroup_entries(const struct cgroup *c, int ret[CGROUP_PLACES_MAX]);
int cgroup_clone_fd(const struct cgroup *c);
/* SIGKILL to everything inside: cgroup.kill, else signals until nothing is left or deadline_ms
 * have passed (-ETIMEDOUT). */
int cgroup_kill(const struct cgroup *c, int deadline_ms);
/* Everything inside stands still, or goes on; cgroup.events says when that is so. v2 only. */
int cgroup_freeze(const struct cgroup *c, bool on);
/* Removes our directories and those made inside; waits until deadline_ms for dying processes to
 * leave them. Idempotent. The object stays valid until cgroup_done(). */
int cgroup_remove(struct cgroup *c, int deadline_ms, struct err *err);
void cgroup_done(struct cgroup *c); /* descriptors and memory only; safe on a zeroed object */
/* Kills and removes what a crashed supervisor of that name left. 0 when there is nothing. */
int cgroup_stale_remove(const struct cgroup_support *s, const char *name, int deadline_ms,
			struct err *err);

/*
 * For a sandbox that has no spec yet: a directory whose name says which process will be its
 * supervisor, without limits, where a guest can be born (CGROUP_V2). That process takes it by
 * cgroup_ahead_name(), which gives the limits; or removes it. Returns -ENOTSUP where a guest has to be
 * born elsewhere, and 0 with no place in *ret where it need not be born in any cgroup.
 */
int cgroup_ahead(const struct cgroup_source *src, pid_t supervisor, struct cgroup *ret,
		 struct err *err);
/* The caller frees it. */
char *cgroup_ahead_name(pid_t supervisor);
/* Removes those of processes that have ended, where nothing lives in them; others stay. */
void cgroup_ahead_sweep(const struct cgroup_support *s);

/* CGROUP_SCOPE: appends "systemd-run --user --scope … --", to be followed by the command. */
void cgroup_scope_argv(const char *name, const struct cgroup_limits *limits, struct strv *out);

/* The smallest memory limit that already holds for this process (an enclosing cgroup's, any
 * version); UINT64_MAX when there is none. */
uint64_t cgroup_memory_limit(const struct cgroup_source *src);
