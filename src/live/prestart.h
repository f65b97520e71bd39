#pragma once

#include "engine/launch.h"
#include "record/places.h"

/*
 * A start that begins before it is known what is started. The program that the user calls (`ralph`,
 * which loads in no time) forks a process that launches the guest and is to become the supervisor; then
 * it becomes the command line itself, which takes a while to load and to make the spec. That sends
 * WIRE_NAME when the sandbox has a name, WIRE_START when all is known. Should it need no
 * supervisor, it closes the connection, and all that was started ends.
 */
#define SUPERVISOR_FD 3 /* the supervisor's end of the connection */

/* In `ralph`, before it becomes the command line. Does nothing where anything is in the way. */
void prestart_fork(const struct places *p);
/* In the command line: the connection to what was forked; -1: nothing was. */
int prestart_take(void);
/* In the supervisor: what was launched; l->pid is 0 where nothing was. */
void prestart_take_launch(struct engine_launch *l);

/* The supervisor's environment: what it needs to find its places and the user's service manager,
 * and nothing of the rest, secrets included. */
void prestart_supervisor_env(struct strv *env);
