#pragma once

#include "loop/placed/place.h"
#include "loop/placed/placed-people.h"
#include "loop/placed/placed-spool.h"
#include "loop/workers/parallel.h"
#include "wire/fleet.h"

/*
 * DOC: Theory of operation
 *
 * A placed worker: the task of a worker is done by `ralph worker` on another machine. A command of the
 * user's (place.c) gives a stream of bytes to it; wire/fleet.h says what goes over it. Home speaks
 * first. What comes back is a node's word and judged as an agent's: nothing of it is used before it was
 * read strictly, and commits pass the import's quarantine and the loop's own checks (placed-take.c).
 *
 *	placed.c         the worker's operations, and its end
 *	placed-message.c what it says
 *	placed-stream.c  the command's process, its descriptors, the lease
 *	placed-task.c    what a task is told
 *	placed-take.c    commits and results become the loop's
 *	placed-cred.c    questions of gateways about credentials
 *	placed-people.c  rules, questions of agents and answers of people
 *	placed-record.c  the worker's record at home, and its event log
 *	placed-logs.c    output and conversations
 *	placed-word.c    a node's summary, made harmless
 *	placed-resume.c  a loop that goes on
 *	placed-spool.c       results that were acknowledged, on the disk
 *
 * The stream is the lease: where nothing is heard for fleet.lease_ms, or the stream ends without a
 * verdict, the worker is lost, whatever the command exits with. Its task goes on from its last
 * checkpoint with the next epoch and a new lease, and no attempt is counted. What comes with another
 * lease than the row's is dropped, so a task may run several times, and is merged once.
 */
enum placed_state {
	PLACED_WAITS,	/* the command runs, and no worker has answered yet */
	PLACED_SENDS,	/* the task is on its way */
	PLACED_WORKS,	/* it was sent whole */
	PLACED_CLOSING, /* its verdict was acknowledged */
	PLACED_OVER,
	PLACED_STATE_N
};

#define PLACED_LINES_MAX 20000 /* of one worker that are shown */
#define PLACED_LINE_MAX 1000

struct placed {
	struct worker *w;
	enum placed_state state;
	struct child child;
	int in, out, errors;
	struct ev_io in_io, out_io, errors_io;
	struct ev_timer ping, lease, end, over;
	struct fleet_in from;
	struct fleet_out to;
	struct spool spool;
	struct buf tail; /* the last of the command's stderr */
	int pack;	 /* that is being sent; -1: none */
	off_t pack_at;
	uint64_t pack_bytes;
	char pack_sum[65];
	uint64_t lines;
	uint64_t pings;
	int64_t clock_ms;  /* the node's real-time clock minus ours */
	uint64_t asked_ms; /* when the last ping was sent, of CLOCK_REALTIME */
	uint64_t began_ms, began_s;
	bool stopping;
	bool eof, errors_eof;
	struct placed_home *home; /* its record; NULL: none */
	bool in_log;		  /* a file comes */
	int log;		  /* that file; -1: it is passed over */
	uint64_t log_bytes, log_total, log_files;
	char *said;	 /* why no loop ran there; NULL: it did */
	json_t *summary; /* the node's, made harmless; NULL: none */
};

/* placed.c */
extern const struct worker_ops worker_placed;
/* The node behaves as no worker does, or cannot be heard: the worker is lost. */
void placed_lost(struct placed *p, const char *fmt, ...) printf_like(2, 3);
/* The placement cannot do what is asked: nothing is tried again. */
void placed_refused(struct placed *p, const char *fmt, ...) printf_like(2, 3);
void placed_over(struct placed *p); /* its code and the rest are set: the pool is told */
/* placed-resume.c: rows of a loop that goes on: what is left of their workers is ended, and entries of the spool that
 * are nobody's go. */
void placed_reap_all(struct loop *l);
/* A row that has a lease: takes over what the spool has of it. */
int placed_pick_up(struct worker *w, struct err *err);

void placed_words(const struct worker *w, const struct config_place *place,
		  struct place_words *ret);
/* placed-message.c */
void placed_message(struct placed *p, const struct fleet_msg *m);
void placed_ended(struct placed *p); /* the stream did */

/* placed-stream.c */
int placed_open(struct placed *p, const struct config_place *place, struct err *err);
void placed_close(struct placed *p);
void placed_flush(struct placed *p); /* writes what is queued, now or as soon as that is possible */
void placed_heard(struct placed *p); /* the lease is renewed */
void placed_begin_lease(struct placed *p); /* the worker has answered for the first time */
void placed_pong(struct placed *p, uint64_t number, uint64_t time_ms);
void placed_read_errors(struct placed *p); /* what the command has said until now */

/* placed-task.c: puts TASK into the queue and opens the pack. */
int placed_task(struct placed *p, struct err *err);
void placed_forget_base(struct loop *l);
int placed_go(struct placed *p); /* the pack is in the queue: puts GO behind it */
/* The commit that the worker starts from. */
const char *placed_start(const struct worker *w);

/* placed-take.c: the pack of the spool and this head become the branch's. *ret_why: the commits are not
 * taken, because … (the caller frees it); then nothing has changed. */
int placed_take_head(struct worker *w, struct spool *s, const struct fleet_pack_end *end,
		     char **ret_why, struct err *err);
/* A verdict that is on the disk becomes the worker's. */
int placed_take_verdict(struct worker *w, struct spool *s, const json_t *doc, struct err *err);

/* placed-cred.c */
void placed_ask(struct placed *p, const struct fleet_msg *m);
void placed_cred_forget(struct placed *p); /* its questions: it ends */
void placed_cred_free(struct loop *l);

/* placed-logs.c: frames of FLEET_LOG */
void placed_log(struct placed *p, const struct fleet_msg *m);
void placed_logs_end(struct placed *p);
/* The directory where a node's output waits for the number of its iteration. */
int placed_logs_stage(const struct worker *w);
/* So many iterations were counted just now: the conversations that came are those of the last. */
void placed_logs_count(struct placed *p, size_t records);
void placed_logs_clear(const struct worker *w);

/*
 * placed-word.c: a copy of a summary with nothing but what a worker's summary has, and no more of it than
 * these bounds say. Pure.
 */
struct placed_bounds {
	const char *task;    /* its id, whatever the node says */
	uint64_t iterations; /* UINT64_MAX: any number; likewise */
	uint64_t micro_usd;
	uint64_t ms;	     /* for how long it can have worked */
	uint64_t began, now; /* seconds since 1970 */
	int64_t clock_ms;    /* the node's clock minus ours */
};
json_t *placed_word(const json_t *summary, const struct placed_bounds *b);
