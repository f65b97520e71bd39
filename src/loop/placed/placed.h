#pragma once

#include "compose/place.h"
#include "loop/placed/placed-people.h"
#include "loop/placed/placed-spool.h"
#include "loop/workers/parallel.h"
#include "wire/fleet.h"

/*
 * DOC: Theory of operation
 *
 * A placed worker: the task of a worker is done by `ralph worker` on another machine. A command of the
 * user's (compose/place.c) gives a stream of bytes to it; wire/fleet.h says what goes over it. Home speaks
 * first. What comes back is a node's word and judged as an agent's: nothing of it is used before it was
 * read strictly, and commits pass the import's quarantine and the loop's own checks (placed-take.c).
 *
 *	placed.c         the worker's operations, and its end
 *	placed-message.c what it says
 *	placed-stream.c  the command's process, its descriptors, the lease
 *	placed-slots.c   which worker has which slot of which stream; the ends of streams
 *	placed-task.c    what a task is told
 *	placed-take.c    commits and results become the loop's
 *	placed-taking.c  the process that does so, and the line of those that wait for it
 *	placed-cred.c    questions of gateways about credentials
 *	placed-gate.c    home's own edge and gateway, for what home dials
 *	placed-tunnel.c  the tunnels to them
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
 *
 * A placement with `slots: N` has one stream for N workers: a hub. Each worker has a slot, whose number
 * is in the frames, and a lease of its own. A hub whose stream ends, falls silent, or mixes up slots
 * or leases loses all its workers. A slot whose worker is lost alone (its commits cannot be taken, or
 * it was told to stop) drains: it gets no other task before the node has given the verdict of
 * this one. A hub without a worker is ended after the time of a lease, and all are at the pool's end.
 */
enum placed_state {
	PLACED_WAITS, /* for the stream to be open, and to have room for the task */
	PLACED_SENDS, /* the task is on its way */
	PLACED_WORKS, /* it was sent whole */
	PLACED_OVER,
	PLACED_STATE_N
};

enum stream_state {
	STREAM_WAITS,  /* the command runs, and no worker has answered yet */
	STREAM_OPEN,   /* it greeted */
	STREAM_ENDING, /* nothing is awaited but its end */
	STREAM_OVER,   /* its process has ended, and its descriptors are closed */
	STREAM_STATE_N
};

#define PLACED_LINES_MAX 20000 /* of one worker that are shown */
#define PLACED_LINE_MAX 1000
#define PLACED_TAKE_MS (5 * 60 * 1000) /* for the commits of one pack to be taken over */
/* Of a node's pack. More than REPO_DATA_MAX of files is not taken over, so a larger one need not come. */
#define PLACED_PACK_MAX (512 * MiB)

/* Commits that are being taken over, or wait for that. */
struct placed_taking {
	char *head;	 /* NULL: there are none */
	json_t *verdict; /* that they came with, as it is in the spool; NULL: a checkpoint */
	json_t *before;	 /* the summary that counts if they are not taken over; NULL: none */
	struct placed *next;
	struct child child;
	int from;
	struct ev_io io;
	struct ev_timer late;
	struct buf answer;
};

struct placed;

struct placed_slot {
	struct placed *p;		  /* NULL: free */
	char drains[FLEET_LEASE_LEN + 1]; /* the lease whose verdict is awaited; "": none is */
};

/* What the command of a placement gives. */
struct placed_stream {
	struct loop *l;
	const struct config_place *place;
	struct placed_stream *next;
	enum stream_state state;
	uint64_t number; /* of a hub, in its name; 0: it has one slot */
	struct child child;
	int in, out, errors;
	struct ev_io in_io, out_io, errors_io;
	struct ev_timer ping, lease, end, idle;
	struct fleet_in from;
	struct fleet_out to;
	struct buf tail; /* the last of the command's stderr */
	uint64_t pings;
	int64_t clock_ms;  /* the node's real-time clock minus ours */
	uint64_t asked_ms; /* when the last ping was sent, of CLOCK_REALTIME */
	bool eof, errors_eof;
	char *node, *job; /* as HELLO says */
	size_t takes;	  /* slots whose commits are being taken over: nothing is read */
	size_t n_slots;
	struct placed_slot slots[FLEET_SLOTS_MAX];
};

/* A worker's part: from its start to its end. */
struct placed {
	struct worker *w;
	struct placed_stream *s; /* NULL: it could not be started */
	uint32_t slot;
	enum placed_state state;
	struct ev_timer end, over, due;
	struct spool spool;
	int pack; /* that is being sent; -1: none */
	off_t pack_at;
	uint64_t pack_bytes;
	char pack_sum[65];
	uint64_t lines;
	uint64_t checkpoints; /* that brought commits */
	struct placed_taking taking;
	uint64_t began_ms, began_s;
	bool stopping;
	bool acked;			/* its verdict */
	size_t seen;			/* records that were looked at for a limit */
	char *said;			/* why no loop ran there; NULL: it did */
	json_t *summary;		/* the node's, made harmless; NULL: none */
	struct placed_tunnels *tunnels; /* NULL: none was asked for */
	struct placed_home *home;	/* its record; NULL: none */
	bool in_log;			/* a file comes */
	int log;			/* that file; -1: it is passed over */
	uint64_t log_bytes, log_total, log_files;
};

/* placed.c */
extern const struct worker_ops worker_placed;
/* Nothing more comes of this worker. */
void placed_lost(struct placed *p, const char *fmt, ...) printf_like(2, 3);
/* The placement cannot do what is asked: nothing is tried again. */
void placed_refused(struct placed *p, const char *fmt, ...) printf_like(2, 3);
/* Home cannot go on with it: likewise. */
void placed_failed(struct placed *p, const char *fmt, ...) printf_like(2, 3);
/* Its code and the rest are set: the pool is told. drains: the node still works on it. */
void placed_over(struct placed *p, bool drains);
/* placed-resume.c: rows of a loop that goes on: what is left of their workers is ended, and entries of the spool that
 * are nobody's go. */
void placed_reap_all(struct loop *l);
/* A row that has a lease: takes over what the spool has of it. */
int placed_pick_up(struct worker *w, struct err *err);

/* placed-message.c */
void placed_message(struct placed_stream *s, const struct fleet_msg *m);
/* The commits of placed_take() are taken over, or not: as placed_take_commits() says. Takes `why`. */
void placed_taken(struct placed *p, const char *head, int r, char *why, struct err *err);

/* placed-stream.c */
int stream_start(struct placed_stream *s, const struct place_words *words, struct err *err);
void stream_stop(struct placed_stream *s);  /* ends the process at once, and closes everything */
void stream_flush(struct placed_stream *s); /* writes what is queued, now or as soon as possible */
void stream_open(struct placed_stream *s);  /* it greeted: the lease begins */
void stream_pause(struct placed_stream *s); /* nothing is read, and its silence means nothing */
void stream_go_on(struct placed_stream *s); /* what came meanwhile, and what comes */
void stream_pong(struct placed_stream *s, uint64_t number, uint64_t time_ms);
/* The last line that the command said on stderr until now, which is what people look for. */
const char *stream_said(struct placed_stream *s);
static inline void placed_flush(struct placed *p)
{
	if (p->s)
		stream_flush(p->s);
}

/* placed-slots.c */
/* Finds a slot for the worker, or a new stream with one, which is not started. */
void placed_attach(struct placed *p);
/* The name by which the engine knows the stream of this worker. */
void placed_words(const struct worker *w, const struct config_place *place,
		  struct place_words *ret);
/* The worker's slot is free, or drains; a stream with one slot ends. */
void placed_release(struct placed *p, bool drains);
/* True: the message was for a slot that drains. */
bool placed_drains(struct placed_stream *s, const struct fleet_msg *m);
/* All workers of the stream are lost, or cannot be had there. */
void stream_lost(struct placed_stream *s, const char *fmt, ...) printf_like(2, 3);
void stream_refused(struct placed_stream *s, const char *fmt, ...) printf_like(2, 3);
void stream_ended(struct placed_stream *s); /* its bytes did */
/* The worker goes by itself, or because its input ends: a few seconds for that. */
void stream_end(struct placed_stream *s, bool close);
/* Ends all streams, and waits for them. No worker has one any more. */
void streams_end(struct loop *l);
/* Frees those that are over; not while events are handled, as one of them may be theirs. */
void streams_sweep(struct loop *l);

/* placed-task.c: puts TASK into the queue and opens the pack. */
int placed_task(struct placed *p, struct err *err);
void placed_forget_base(struct loop *l);
int placed_go(struct placed *p); /* the pack is in the queue: puts GO behind it */
/* The stream is open and has room: the worker's row gets the node's name, and the task is sent. */
void placed_begin(struct placed *p);
/* Tells the worker for how long the provider's limit holds. */
void placed_tell_limit(const struct worker *w);
/* The commit that the worker starts from. */
const char *placed_start(const struct worker *w);

/* placed-take.c: the pack of the spool and this head become the branch's. *ret_why: the commits are not
 * taken, because … (the caller frees it); then nothing has changed. The worker does not know it yet. */
int placed_take_commits(const struct worker *w, struct spool *s, const char *head, char **ret_why,
			struct err *err);
/* Nothing that came with this lease is held below refs/ralph any more. */
void placed_drop_held(const struct worker *w, const char *lease);
/* Nothing new comes with this head. */
bool placed_is_known(const struct worker *w, const char *head);
void placed_took(struct worker *w, const char *head); /* the worker knows */
/* A verdict whose commits were taken over becomes the worker's. Takes `why`. */
void placed_take_verdict(struct worker *w, const json_t *doc, char *why);
/* All of it, here and now: a verdict that is on the disk. */
int placed_take_spool(struct worker *w, struct spool *s, const json_t *doc, struct err *err);

/* placed-taking.c: does so in a process of its own, and calls placed_taken(). Until then nothing is read. */
void placed_take(struct placed *p, const char *head);
void placed_take_stop(struct placed *p);

/* placed-cred.c */
void placed_ask(struct placed *p, const struct fleet_msg *m);
void placed_cred_forget(struct placed *p); /* its questions: it ends */
void placed_cred_free(struct loop *l);
/* Tells a credential helper what it judges by: home's own rows and rules. */
int placed_cred_introduce(const struct loop *l, int sock, struct err *err);
/* The task has none of its share of the cost left. */
bool placed_share_is_used(const struct placed *p);

/* placed-tunnel.c */
void placed_tunnel(struct placed *p, const struct fleet_msg *m);
void placed_tunnels_resume(struct placed *p); /* the stream has room again */
void placed_tunnels_judge(struct placed *p);  /* the share may be used up */
void placed_tunnels_free(struct placed *p);

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
/* A node with n checkpoints has had as many iterations: those that it does not tell of are added. */
void placed_word_at_least(json_t **summary, uint64_t n, const struct placed_bounds *b);
