#pragma once

#include "supervisor/git-host.h"
#include "supervisor/supervisor.h"

/*
 * The supervisor in two processes.
 *
 * DOC: Theory of operation
 *
 * The supervisor reads frames of the guest and of the gateway, which may have been taken over. So
 * when everything is set up, and before the first of these frames is read, it forks. The child, the
 * front, gives up all files but the record, all programs, processes, sockets and signals, and does
 * what the supervisor does. The parent, the broker, keeps what the front cannot have: the engine,
 * the user's environment, the watch over the workspace. It reads one number from the front at a
 * time, and does one of a fixed list of acts. Neither an argument list nor a path comes from the
 * front. What the broker tells the user or the log while it acts comes back with its answer.
 *
 * The end of the front without an END is the end of the sandbox; the end of the broker is the end
 * of the front. Engines without a guest have no broker: they read no frames of a guest, and their
 * commands are programs of the host that the supervisor starts itself.
 */
int broker_fork(struct supervisor *s, struct err *err); /* 0: this is the front */

int broker_spawn(struct supervisor *s, const char *program, struct child *ret, int *ret_sock,
		 struct err *err);
int broker_reap(struct supervisor *s, pid_t pid); /* kills what still runs; the exit code */
int broker_listen(struct supervisor *s, bool shared, uint16_t port, uint16_t *ret_port, int *ret,
		  struct err *err);
void broker_look(struct supervisor *s);
void broker_kill(struct supervisor *s); /* does not wait */
void broker_complaint(struct supervisor *s, char *ret, size_t size);
pid_t broker_init_pid(struct supervisor *s);
void broker_save(struct supervisor *s);
/* See git-host.h. The import is reaped by broker_reap(). */
int broker_import(struct supervisor *s, bool may_switch, pid_t *ret, int ret_fds[GIT_IMPORT_FDS],
		  struct err *err);
int broker_moved(struct supervisor *s, bool again, int *ret, struct err *err);
bool broker_end(struct supervisor *s); /* sup_take_down(); true: the record is as good as gone */
