#pragma once

#include "engine/engine.h"
#include "wire/wire.h"

/*
 * The interface by which client.c and supervisor.c run commands in a sandbox:
 *
 *	start()   the engine is planned: brings the sandbox up; sup_up() is called when it is
 *	spawn()   a command; client_started(), client_exited() or client_failed() tell of it later
 *	kill()    a signal for a command; 0: everything of it ends
 *	stop()    what start() and spawn() hold is let go; the engine is stopped next
 *
 * runner_guest (and runner_machine) has a guest inside, which does it all (guest-link.c); runner_host has a program of
 * the host run each command (host-link.c).
 */
struct supervisor;
struct client;

/* A command that a client asks for. The frame owns the strings; the vectors are its own. */
struct exec_frame {
	uint32_t flags, rows, cols;
	const char *user, *cwd;
	struct strv argv, env;
};

/* The shell's count for a program that is not there or cannot be run. */
static inline int exec_exit_code(uint32_t eno)
{
	return eno == ENOENT ? 127 : eno == EACCES || eno == ENOEXEC ? 126 : EXIT_RALPH;
}

struct runner {
	uint64_t start_ms; /* until the sandbox must be up */
	int (*start)(struct supervisor *s, struct engine_launch *launch, struct err *err);
	/* Takes the frame's descriptors. -EMSGSIZE: too long; -EOPNOTSUPP: not with this engine;
	 * any other error ends the sandbox. */
	int (*spawn)(struct supervisor *s, struct client *c, const struct exec_frame *f,
		     struct wire_msg *m, struct err *err);
	void (*kill)(struct supervisor *s, struct client *c, uint32_t sig);
	void (*stop)(struct supervisor *s);
};

extern const struct runner runner_guest, runner_machine, runner_host;
