#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Running programs. argv vectors only, never a shell; env is the child's whole environment.
 *
 *	struct run run = RUN_INIT;
 *	run.argv = argv; run.env = env;
 *	r = run_start(&run, &child, err);   // 0 only after execve succeeded
 *	code = run_wait(&child);
 *
 * Descriptors: 0, 1 and 2 come from stdio[] (-1: /dev/null). keep[] lists what else crosses,
 * each at its own number; everything else is closed in the child.
 */
#define RUN_KEEP_MAX 80

enum run_flags {
	RUN_SEARCH_PATH = 1 << 0, /* look argv[0] up on this process's PATH */
	RUN_NEW_SESSION = 1 << 1, /* setsid() */
	RUN_DIE_WITH_US = 1 << 2, /* SIGKILL when this process ends */
};

/* The variables that name a proxy, in both spellings. Programs differ in which one they read. */
#define PROXY_ENV "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"
#define ALL_PROXY_ENV "ALL_PROXY", "all_proxy" /* where the others say nothing; not all read it */
#define NO_PROXY_ENV "NO_PROXY", "no_proxy"
/* The variables by which programs of the host find the network: passed on to those that use it. */
#define NETWORK_ENV PROXY_ENV, NO_PROXY_ENV, "SSL_CERT_FILE", "SSL_CERT_DIR"

struct run {
	char *const *argv;
	char *const *env; /* NULL: empty environment */
	const char *dir;  /* NULL: stay */
	int stdio[3];
	int keep[RUN_KEEP_MAX];
	size_t n_keep;
	enum run_flags flags;
	int into_cgroup; /* cgroup v2 directory to be born in; -1: this process's own */
	/* Called in the child just before exec, in this process's memory: async-signal-safe work
	 * that changes nothing but the kernel's state; -errno ends it. */
	int (*before_exec)(void *arg);
	void *arg;
};

#define RUN_INIT                                                                                   \
	{                                                                                          \
		.stdio = {-1, -1, -1}, .into_cgroup = -1,                                          \
	}

struct child {
	pid_t pid;
	int pidfd; /* readable when the child has ended */
};

void run_keep(struct run *run, int fd);
int run_start(const struct run *run, struct child *ret, struct err *err);
/* Does to this process what run_start() does to a child before it execs: signals, session,
 * directory and descriptors, of which those that are not kept close with the exec. 0 or -errno. */
int run_become(const struct run *run);
/* Waits and releases: 0..255, or 128 + n for a signal. */
int run_wait(struct child *child);
/* Decodes a wait status in the same way. */
int run_status(int wait_status);
void child_kill(struct child *child, int sig);
void child_done(struct child *child); /* kills and reaps what still runs */

/* Runs to the end and gives its stdout (at most out_max bytes) and exit code. stdin is empty,
 * stderr is dropped. -ETIMEDOUT kills it. */
int run_capture(char *const argv[], char *const env[], int timeout_ms, size_t out_max,
		char **ret_out, int *ret_code, struct err *err);
/* The same, started in that directory: for programs that read settings from where they stand. */
int run_capture_in(const char *dir, char *const argv[], char *const env[], int timeout_ms,
		   size_t out_max, char **ret_out, int *ret_code, struct err *err);
/* The same for a run that the caller has described, stdin included; its stdout is taken over. */
int run_collect(struct run *run, int timeout_ms, size_t out_max, char **ret_out, int *ret_code,
		struct err *err);
