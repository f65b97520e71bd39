#pragma once

/*
 * ROOM: base
 *
 * Errors, buffers, descriptors, paths, processes, the event loop. This room knows nothing of
 * ralph: no sandbox, agent, policy or file format of ours enters it.
 */

#include "base/mem.h"

#include <errno.h>

/* The exit codes every command shares; run and exec pass a payload's own code on otherwise. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_RUNTIME = 1,
	EXIT_USAGE = 2,	   /* usage or configuration */
	EXIT_REFUSED = 64, /* refused environment */
	EXIT_IDENTITY = 78,
	EXIT_RALPH = 125, /* run and exec: ralph itself failed, not the payload */
};

/*
 * An error lives on its caller's stack: nothing to free, and fine to fill after fork. The
 * returned -errno is for code; msg is for people: a whole sentence, no newline, never a secret.
 */
struct err {
	int exit_code; /* 0 means 1, or 125 where a payload's code is passed on */
	char msg[512];
};

/* Our own verdict; returns -eno. */
int err_set(struct err *e, int eno, const char *fmt, ...) printf_like(3, 4);
/* A failed system call: adds ": strerror(eno)"; returns -eno. */
int err_sys(struct err *e, int eno, const char *fmt, ...) printf_like(3, 4);
/* The user's mistake: exit code 2; returns -EINVAL. */
int err_usage(struct err *e, const char *fmt, ...) printf_like(2, 3);
/* Puts "context: " in front of what is there; returns r. */
int err_wrap(struct err *e, int r, const char *fmt, ...) printf_like(3, 4);
/* Adds "; " and what to do about it behind what is there; returns r. */
int err_hint(struct err *e, int r, const char *fmt, ...) printf_like(3, 4);
/* The code to exit with: the error's own, else `fallback`. */
int err_exit_code(const struct err *e, int fallback);

/*
 * The results once more where compilers and analysers can see them: without this each of them
 * follows the path on which a failure returned 0 and finds things that cannot be. A zero eno is a
 * bug of the caller's and must not turn a failure into a success.
 */
#define err_set(e, eno, ...)                                                                       \
	({                                                                                         \
		int _eno = (eno);                                                                  \
		(void)(err_set)((e), _eno, __VA_ARGS__);                                           \
		_eno > 0 ? -_eno : -EIO;                                                           \
	})
#define err_sys(e, eno, ...)                                                                       \
	({                                                                                         \
		int _eno = (eno);                                                                  \
		(void)(err_sys)((e), _eno, __VA_ARGS__);                                           \
		_eno > 0 ? -_eno : -EIO;                                                           \
	})
#define err_usage(e, ...) ((void)(err_usage)((e), __VA_ARGS__), -EINVAL)
#define err_wrap(e, r, ...)                                                                        \
	({                                                                                         \
		int _r = (r);                                                                      \
		(void)(err_wrap)((e), _r, __VA_ARGS__);                                            \
		_r;                                                                                \
	})
