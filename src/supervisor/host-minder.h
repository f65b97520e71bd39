#pragma once

#include "engine/engine.h"
#include "supervisor/runner.h"

/*
 * One process per command of an engine without a guest: a fork of the supervisor, which may wait
 * where that may not. It starts the program that runs the command, passes signals on, and is the
 * last of the command to go. Its line speaks as a guest's does, with id 1 for the command:
 *
 *	supervisor → minder  WIRE_UP     (empty): the sandbox is up, and the command may begin
 *	                     WIRE_KILL   u32 signal; 0: everything of the command ends
 *	                     WIRE_STOP   (empty): the same, and the sandbox ends too
 *	minder → supervisor  WIRE_SPAWNED, WIRE_SUSPENDED, WIRE_ENDED, WIRE_ERROR as in wire/guest-proto.h;
 *	                     WIRE_ERROR with id 0: something of it may be left, only the
 *	                     sandbox's end helps
 *
 * The end of the line is as WIRE_STOP: neither command nor sandbox outlives the supervisor.
 */
struct minder {
	const struct engine *engine;
	const struct exec_frame *frame;
	int line;
	int stdio[3]; /* -1 where the command has a terminal */
	int keep[3];  /* descriptors that stay open as long as the command lives; -1: none */
	/* Adds to the command's environment, and lists the names whose values must not be shown. */
	int (*complete)(void *arg, struct strv *env, struct strv *secrets, struct err *err);
	void *arg;
};

/* In the fork; does not return. */
_Noreturn void minder_main(const struct minder *m);
