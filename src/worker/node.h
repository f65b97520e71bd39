#pragma once

/*
 * ROOM: worker
 *
 * `ralph worker`: runs tasks that come from a loop on another machine, with the loop's own program.
 * It decides nothing about a task, and no value of a credential stays in it.
 */

#include "base/err.h"
#include "base/ev.h"
#include "base/proc.h"
#include "wire/fleet.h"

#include <sha2.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * DOC: Theory of operation
 *
 *	node-main.c    arguments, standard input and output
 *	node.c         the stream: the lease, pings, signals; gives messages to slots
 *	node-hello.c   what this machine offers
 *	node-hold.c    the process of a pod, beside which a worker runs
 *	node-dir.c     the directory with everything that a worker makes, and its end
 *	slot.c         one task: from TASK to the ACK of its VERDICT
 *	slot-files.c   a task's files, and the environment of its loop
 *	slot-send.c    packs and logs on their way home
 *	slot-git.c     libgit2, in programs of its own: takes the pack of the base, and makes packs
 *	slot-relay.c   questions of gateways for credentials, and home's answers
 *	slot-people.c  what agents ask and people answer
 *	slot-tunnel.c  connections that home dials
 *
 * Everything of a worker lies in one directory of its own, /tmp/rw-…, which the next worker of this
 * user removes if this one was killed. Each slot has a directory in it: a home, a state, the
 * repository. No setting and no login of this machine's user reaches a task.
 *
 * A slot is in one of the states below; slot_go() is the only writer. Whatever ends the stream or the
 * lease ends the loop (SIGTERM, later SIGKILL), and with it everything inside its sandbox.
 *
 *	PACKS    TASK came; the pack of the base comes
 *	UNPACKS  a program of ours makes the repository of it
 *	RUNS     the loop runs; each iteration's record and commits go home
 *	SENDS    the loop has ended; what is left goes home, last the verdict
 *	WAITS    for the ACK
 *	GONE
 */
enum slot_state { SLOT_PACKS, SLOT_UNPACKS, SLOT_RUNS, SLOT_SENDS, SLOT_WAITS, SLOT_GONE, SLOT_N };

/* Exit codes of `ralph worker`, besides those of every command. */
enum node_exit {
	NODE_STREAM = 3, /* the stream ended, or was no stream of ours */
	NODE_LEASE = 4,	 /* home was silent for the time of the lease */
	NODE_NO_ACK = 5, /* home did not take the verdict */
};

#define NODE_START_MS 120000 /* for home's first word */
#define NODE_LAST_MS 5000    /* after SIGTERM, for the ACK */
#define NODE_KILL_MS 15000   /* for a loop to end after SIGTERM */

struct slot;
struct people;
struct relay;
struct tunnels;

struct node {
	struct ev *ev;
	int in_fd, out_fd;
	int hold; /* to who holds this container; -1: nobody does */
	struct ev_io in_io, out_io, signals_io, hold_io;
	struct ev_timer ping, lease, kill;
	int signals;
	struct fleet_in in;
	struct fleet_out out;
	uint64_t heard;	   /* now_ms() of the last frame */
	uint64_t lease_ms; /* 0: home did not speak yet */
	uint64_t pings;
	size_t max_slots;
	char *dir; /* NULL: not made yet */
	int lock;
	struct slot *slots[FLEET_SLOTS_MAX];
	unsigned tasks; /* that came: names of their directories */
	bool started;	/* START came */
	bool keep_job;	/* it is not this worker's to cancel */
	bool ending;	/* slots end, then this does */
	bool deaf;	/* the stream is of no use any more */
	int code;	/* exit code; -1: not known yet */
	char *why;	/* for stderr; NULL: nothing to say */
};

/* node.c */
int node_run(struct node *n, struct err *err);
/* Something was put into the queue; it goes out with the next turn of the event loop. */
void node_flush(struct node *n);
bool node_has_room(const struct node *n); /* for bulk */
/* The node ends with this code: all slots end first. */
void node_end(struct node *n, int code, const char *fmt, ...) printf_like(3, 4);
void node_slot_gone(struct node *n, struct slot *s); /* frees it later */

/* node-hello.c: the caller releases it. */
json_t *node_hello(const struct fleet_start *start, size_t slots);
char *node_name(void);
char *node_job(void);
/* Cancels the batch job that this process is in, if it is in one. */
void node_cancel_job(void);

/* node-dir.c */
const char *node_place(void); /* where workers make their directories */
int node_dir_make(struct node *n, struct err *err);
/* Ends every process that is left, and removes the directory. */
void node_dir_remove(struct node *n);

/*
 * node-hold.c: the process of a pod's own, in which workers are started by `kubectl exec`. It prints what
 * they say for people, passes SIGTERM on, and ends with the exit code of a worker that was done; with
 * NODE_STREAM when none came for HOLD_MS.
 */
#define HOLD_MS 120000
int hold_run(struct err *err);
/* The same from the worker's side: -1 where nothing holds this container. */
int hold_join(void);
void hold_tell(int fd, const char *fmt, ...) printf_like(2, 3);
void hold_done(int fd, int code);

/* ---- a task ---- */

struct slot {
	struct node *n;
	uint32_t id;
	enum slot_state state;
	struct fleet_task task;
	char *dir, *workspace;
	int root;    /* the directory */
	char *acked; /* commit that home has */
	char *head;  /* of the last pack that was sent */
	/* the pack that comes */
	int pack;
	uint64_t pack_bytes;
	bool pack_done;
	SHA2_CTX pack_sum;
	/* the loop */
	struct child loop, work; /* work: unpacks or packs */
	struct ev_io loop_io, work_io, out_io, err_io, work_out_io;
	int out, err, work_out;
	struct lines *out_lines, *err_lines;
	json_t *summary; /* the last one that the loop printed; NULL: none */
	bool ended;	 /* the loop */
	int code;	 /* its exit code; -1: home has not taken the verdict */
	char *why;	 /* why there was no loop; NULL */
	bool stopping;
	struct ev_timer kill;
	/* what goes home */
	struct slot_send *send;
	struct relay *relay;
	struct people *people;
	struct tunnels *tunnels; /* NULL: home makes no connection for the task */
	struct ev_defer gone;
};

/* slot.c. Messages that make no sense are -EPROTO. */
int slot_new(struct node *n, const struct fleet_msg *m, struct err *err);
int slot_take(struct slot *s, const struct fleet_msg *m, struct err *err);
void slot_stop(struct slot *s, bool now);
/* The stream has room again. */
void slot_resume(struct slot *s);
void slot_free(struct slot *s);
/* Ends the task with this code and reason: there was no loop, or it is of no use. */
void slot_fail(struct slot *s, int code, const char *why);
void slot_sent(struct slot *s);	       /* the verdict is in the queue */
void slot_people_over(struct slot *s); /* the line to its loop has ended */

/* slot-files.c */
int slot_files_make(struct slot *s, struct err *err);
bool slot_row_dials_home(const json_t *row); /* its key is used at home */
/* The request to the loop, as a memory file; and its environment. */
int slot_request(const struct slot *s, int *ret_fd, struct err *err);
/* No iteration begins for that time; 0: now one does. */
int slot_limit(const struct slot *s, uint64_t for_ms);
void slot_environ(const struct slot *s, struct strv *ret);

/* slot-send.c */
struct slot_send *slot_send_new(struct slot *s);
struct slot_send *slot_send_free(struct slot_send *x);
/* An iteration is over: its record and commits go home. */
void slot_send_checkpoint(struct slot *s);
/* The loop is over: logs, what is left of the commits, the verdict. */
void slot_send_end(struct slot *s);
void slot_send_more(struct slot *s);

/* slot-git.c: programs of their own. */
int slot_git_main(int argc, char **argv, struct err *err);

/* slot-relay.c */
struct relay *relay_new(struct slot *s, const char *path, struct err *err);
struct relay *relay_free(struct relay *r);
int relay_answer(struct relay *r, const struct fleet_ask *a);

/* slot-people.c */
struct people *people_new(struct slot *s, struct err *err);
struct people *people_free(struct people *p);
/* The loop's end of the line, until it is given. */
int people_theirs(const struct people *p);
void people_given(struct people *p);
bool people_over(const struct people *p); /* nothing more comes of the loop */
int people_take(struct people *p, const struct fleet_msg *m);
void people_resume(struct people *p);

/* slot-tunnel.c */
/* proxy: for `egress: home`; endpoints: for `dial: home`. */
struct tunnels *tunnels_new(struct slot *s, bool proxy, bool endpoints, struct err *err);
struct tunnels *tunnels_free(struct tunnels *t);
/* http://NAME:TOKEN@127.0.0.1:PORT, for the environment; the tunnels' own. NULL: there is no proxy. */
const char *tunnels_url(const struct tunnels *t);
/* The port of this machine that leads to home's gateway. */
uint16_t tunnels_endpoints(const struct tunnels *t);
int tunnels_take(struct tunnels *t, const struct fleet_msg *m);
void tunnels_resume(struct tunnels *t);
