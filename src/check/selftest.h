#pragma once

/*
 * ROOM: check
 *
 * doctor, pre-flight and self-test: what holds on this machine and in this sandbox. Nothing here
 * repairs or widens anything.
 */

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "record/places.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The self-test: libexec/ralph/probe runs in the live sandbox and tries what must be refused and
 * what must work. The rows are derived from the spec and from what the host has, so that a wall
 * which is missing for whatever reason shows, in the plan or in what became of it. See
 * docs/internals/selftest.md.
 */
enum selftest_result {
	SELFTEST_HELD,	 /* as expected */
	SELFTEST_OUT,	 /* something got out, or what must work does not */
	SELFTEST_BROKEN, /* could not be tried: counts as failed */
	SELFTEST_ABSENT, /* the program is not installed: counts as passed */
	SELFTEST_RESULT_N,
};

struct selftest_row {
	const char *area; /* "files", "processes", "calls", "network", "keys", "work" */
	const char *what;
	bool works;	  /* must work; else: must be refused */
	struct strv argv; /* for the probe; empty: judged on the host */
	enum selftest_result result;
	char *got; /* the probe's text; may be empty */
};

#define SELFTEST_ROWS_MAX 96
#define SELFTEST_MOUNTS "mounts other than the plan's"

struct selftest {
	struct selftest_row rows[SELFTEST_ROWS_MAX];
	size_t n;
	bool passed;
	uint64_t ms;
	/* Of a sandbox with a kernel of its own: what is judged on the host. */
	struct strv host_mounts; /* as the attack `mounts` has them */
	struct strv host_files;	 /* each path, and behind it how it was before */
};

enum selftest_flags {
	SELFTEST_PROGRAMS = 1 << 0, /* also git, npm, python, compilers: they take longest */
};

/*
 * Tests the live sandbox of this spec. An error means that it could not be tested; whether it
 * passed is in *ret. Where hold is a connection, the last command is run on it: a sandbox that was
 * started for the test has ended then.
 */
int selftest_run(const struct places *p, const struct sandbox_spec *spec, enum selftest_flags flags,
		 int hold, struct selftest *ret, struct err *err);
void selftest_done(struct selftest *t);
json_t *selftest_to_json(const struct selftest *t);
bool selftest_row_failed(const struct selftest_row *row);
const char *selftest_expected(const struct selftest_row *row); /* "refused" or "works" */
char *selftest_got(const struct selftest_row *row);	       /* for people; the caller frees */

/*
 * The sandboxes that are tested at their first use. A pass is stamped in the sandbox's record and
 * for the machine, with the engine and the versions of ralph and the kernel. A stamp with other
 * values does not count.
 */
enum selftest_need {
	SELFTEST_OF_SANDBOX, /* this very sandbox must have passed: ralph up, agents, loops */
	SELFTEST_OF_MACHINE, /* one of this engine must have: the first `ralph run` that is kept */
};
/*
 * Tests the sandbox that conn holds, unless it is stamped. A sandbox that does not pass is stopped:
 * -EPERM with the rows that failed. -EAGAIN as live_wait_up().
 */
int selftest_first_use(const struct places *p, const struct sandbox_spec *spec,
		       enum selftest_need need, int conn, struct err *err);
/* True when the sandbox NAME of this machine has passed, which this one equals but for its tree. */
bool selftest_passed_by(const struct places *p, const struct sandbox_spec *spec, const char *name);
/* Stamps it after a pass that was asked for. */
void selftest_stamp(const struct places *p, const struct sandbox_spec *spec);

/*
 * Single questions, for the checks before a run: fill a selftest with rows, then have the probe
 * answer them in the live sandbox. hold as above.
 */
void selftest_answers(struct selftest *t, const struct sandbox_spec *spec);
int selftest_probe(struct selftest *t, const struct places *p, const struct sandbox_spec *spec,
		   int hold, struct err *err);

/* For the parts of the self-test only. */
struct selftest_row *selftest_add(struct selftest *t, const char *area, const char *what,
				  const char *attack);
struct selftest_row *selftest_add_work(struct selftest *t, const char *what, const char *attack);

/* selftest-files.c, selftest-net.c …: rows of one area each */
void selftest_files(struct selftest *t, const struct places *p, const struct sandbox_spec *spec);
void selftest_processes(struct selftest *t, const struct sandbox_spec *spec);
/* Sockets of the host that must be out of reach, open while the probe runs. */
struct selftest_bait {
	int tcp, tcp6, abstract;
};
void selftest_network(struct selftest *t, const struct sandbox_spec *spec,
		      struct selftest_bait *bait);
void selftest_bait_done(struct selftest_bait *b);
void selftest_programs(struct selftest *t);
void selftest_variables(struct selftest *t, const struct sandbox_spec *spec);
/*
 * selftest-kernel.c: rows of a sandbox with a kernel of its own, whose answers about mounts and files
 * are that kernel's. They are judged by what is so on the host. The first is called before the probe.
 */
void selftest_kernel(struct selftest *t, const struct sandbox_spec *spec);
void selftest_kernel_judge(struct selftest *t, const struct places *p,
			   const struct sandbox_spec *spec);
bool selftest_own_kernel(const struct sandbox_spec *spec);
/* selftest-keys.c: looks for the host's secrets in what the probe sees. */
int selftest_keys(struct selftest *t, const struct places *p, const struct sandbox_spec *spec,
		  int hold, struct err *err);
