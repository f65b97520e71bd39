#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The protocol between a loop at home and `ralph worker` on another machine, over any stream of bytes.
 *
 * DOC: Theory of operation
 *
 * A frame is u32 type, u32 id, u32 length (little-endian), a body of that length, and a newline: a
 * relay that passes on whole lines never holds a frame back. The id is the slot of a worker that runs
 * several tasks; 0 where it has one. A message is one frame, or several of one type and id of which all
 * but the last have FLEET_MORE set in their type. The frames of a message follow each other directly,
 * except those of FLEET_PACK and FLEET_LOG: these are passed on one by one and may come between others.
 *
 *	home                            node
 *	START                       →                silent until here
 *	                            ←   HELLO        home compares the versions
 *	TASK, PACK…, GO             →                one task, the commits it starts from
 *	                            ←   LINE EVENT   while it runs
 *	RULES                       →                whenever a person changes them
 *	ANSWER                      ↔   ASK          a question of a gateway
 *	REPLY                       ↔   QUESTION     a question of an agent
 *	                            ←   RECORD, PACK…, CHECKPOINT    after each iteration
 *	ACK                         →                home has it on disk
 *	                            ←   LOG…, PACK…, VERDICT         at the end
 *	ACK                         →
 *
 * PING and PONG go in both directions, every FLEET_PING_MS or more often (fleet_ping_ms()). Who hears nothing for the lease's time ends
 * the task. Either end may be hostile to the other's codec: a wrong type, direction, length or order is
 * -EPROTO, and the stream ends. START, HELLO and the head of a frame never change, so that two
 * versions can name each other.
 */
#define FLEET_PROTOCOL 1
#define FLEET_HEAD 12
#define FLEET_BODY_MAX (64 * KiB)   /* of one frame */
#define FLEET_MESSAGE_MAX (4 * MiB) /* of all frames of one message that is given as a whole */
#define FLEET_PACK_MAX (4096 * MiB) /* of all frames of one pack */
#define FLEET_LOG_MAX (256 * MiB)   /* of one file of FLEET_LOG */
#define FLEET_SLOTS_MAX 64	    /* of one stream */
#define FLEET_CHANNELS_MAX 256	    /* tunnels of one slot that are open */
#define FLEET_CREDIT (256 * KiB)    /* bytes of a tunnel that its other end has not yet taken */
#define FLEET_LINES_MAX 16	    /* lines to gateways of one slot */
#define FLEET_ASKS_MAX 64	    /* questions of one slot without an answer */
#define FLEET_PING_MS 10000
#define FLEET_LEASE_MS 60000
#define FLEET_TEXT_MAX 255 /* a name */

/* Several pings fit into a lease. */
static inline uint64_t fleet_ping_ms(uint64_t lease_ms)
{
	return lease_ms / 3 < FLEET_PING_MS ? lease_ms / 3 : FLEET_PING_MS;
}

#define FLEET_MORE 0x80000000u

enum fleet_type {
	FLEET_NONE,

	/* home → node */
	FLEET_START,  /* struct fleet_start */
	FLEET_TASK,   /* struct fleet_task */
	FLEET_GO,     /* struct fleet_pack_end: of the pack before it. The task starts */
	FLEET_ANSWER, /* struct fleet_ask with GW_HEADER_IS, CRED_USED or CRED_EVENT */
	FLEET_ACK,    /* struct fleet_ack */
	FLEET_STOP,   /* {"when": "now" | "after"}: after the iteration */
	FLEET_LIMIT,  /* {"for_ms": N}: the provider's limit holds that long; 0: it is over */
	FLEET_RULES,  /* struct fleet_rules: from now on, in place of those before */
	FLEET_REPLY,  /* struct fleet_reply: to FLEET_QUESTION */

	/* node → home */
	FLEET_HELLO,	  /* struct fleet_hello */
	FLEET_LINE,	  /* text without a newline: of the worker's output, for people */
	FLEET_EVENT,	  /* JSON: one line of a sandbox's log */
	FLEET_RECORD,	  /* struct fleet_record */
	FLEET_CHECKPOINT, /* struct fleet_pack_end: of the pack before it */
	FLEET_VERDICT,	  /* struct fleet_verdict: the end of the task */
	FLEET_ASK,	  /* struct fleet_ask with GW_HEADER */
	FLEET_LOG,	/* a file: its name is the first frame's body, its bytes are the others' */
	FLEET_QUESTION, /* struct fleet_question: of an agent, for a person */

	/* both ways */
	FLEET_PACK,   /* bytes of a git pack */
	FLEET_PING,   /* u64, any number */
	FLEET_PONG,   /* u64, that number, u64 CLOCK_REALTIME in ms of who answers */
	FLEET_OPEN,   /* node → home: struct fleet_open */
	FLEET_OPENED, /* home → node: u32 channel, u32 errno; 0: it is open */
	FLEET_DATA,   /* u32 channel, bytes */
	FLEET_CLOSE, /* u32 channel, u32 0: no more bytes this way; errno: nothing more either way */
	FLEET_WINDOW, /* u32 channel, u32 bytes that were taken */
	FLEET_TYPE_N,
};

const char *fleet_type_name(enum fleet_type t); /* NULL: there is none of that number */

/* ---- the stream ---- */

enum fleet_side { FLEET_HOME, FLEET_NODE };

/* What comes in. `from` is the side that sends. */
struct fleet_in {
	enum fleet_side from;
	struct buf in;	   /* bytes that are not yet a whole frame */
	struct buf whole;  /* the message so far */
	size_t used;	   /* of `in`: handed out */
	uint32_t type, id; /* of the message so far; FLEET_NONE: none is begun */
	bool given;	   /* `whole` was handed out */
};

struct fleet_msg {
	enum fleet_type type;
	uint32_t id;
	bool more; /* FLEET_PACK, FLEET_LOG: another frame follows */
	const char *data;
	size_t len; /* data[len] is not NUL */
};

void fleet_in_init(struct fleet_in *in, enum fleet_side from);
void fleet_in_done(struct fleet_in *in); /* wipes: answers to questions have values */
/* Reads once from a descriptor: 1, 0 at end of stream, -EAGAIN, -errno. Call fleet_next() until it
 * returns 0 before the next read. */
int fleet_in_read(struct fleet_in *in, int fd);
int fleet_in_add(struct fleet_in *in, const void *p, size_t n);
/* The next message: 1, 0 when more bytes are needed, -EPROTO. It is valid until the next call
 * of any of these three. */
int fleet_next(struct fleet_in *in, struct fleet_msg *ret);
/* A message with a value in it was handled. */
void fleet_wipe(const struct fleet_msg *m);

/* What goes out: a queue that the caller keeps short by fleet_out_room(). */
struct fleet_out {
	struct buf queue;
	size_t sent; /* of its front */
};

#define FLEET_QUEUE_MAX (8 * MiB)
#define FLEET_QUEUE_LOW (512 * KiB) /* bulk (packs, logs, tunnels) waits above that */

void fleet_out_init(struct fleet_out *out);
void fleet_out_done(struct fleet_out *out); /* wipes */
static inline size_t fleet_out_pending(const struct fleet_out *out)
{
	return out->queue.len - out->sent;
}
/* Adds a message, in as many frames as it takes. -ENOBUFS: the queue is full, or it is too long. */
int fleet_put(struct fleet_out *out, enum fleet_type type, uint32_t id, const void *p, size_t n);
/* Adds one frame of FLEET_PACK or FLEET_LOG. */
int fleet_put_piece(struct fleet_out *out, enum fleet_type type, uint32_t id, const void *p,
		    size_t n, bool more);
/* Takes the document. NULL is -EINVAL. */
int fleet_put_json(struct fleet_out *out, enum fleet_type type, uint32_t id, json_t *j);
/* Writes what can be written: 1 when nothing is left, 0 when something is, -errno. */
int fleet_out_write(struct fleet_out *out, int fd);

/* ---- bodies ---- */

/*
 * Every body with a document is read into a struct whose strings point into `doc`; fleet_done() frees
 * it. Readers check: a lease is 32 hex digits, a commit 40, a digest 64, a name is printable ASCII
 * of at most FLEET_TEXT_MAX. Writers return a new document.
 */
struct fleet_start {
	json_t *doc;
	uint64_t protocol;
	const char *version;
	const char *engine; /* what the tasks will use; "": the best there is */
	uint64_t lease_ms, slots;
	bool probe; /* the versions of agents are asked for, which takes seconds */
};

struct fleet_hello {
	json_t *doc;
	uint64_t protocol;
	const char *version;
	const char *node; /* its name */
	const char *job;  /* "slurm 4711", "pod NAME"; "": none is known */
	const char *engine;
	bool usable;	      /* the engine works here */
	const char *why;      /* why it does not, or the limits of what works; "": nothing to say */
	const json_t *agents; /* [{"name", "version", "path"}], version may be "" */
	uint64_t slots, pid, time_ms; /* CLOCK_REALTIME */
};

/*
 * One task. `request` is what the loop is asked on one machine (loop/loop-request.h), without a path of
 * home's: workspace, tasks, prompt, parent and settings are the node's to fill in.
 */
struct fleet_task {
	json_t *doc;
	const char *lease;
	uint64_t epoch;
	const char *loop, *task; /* names, for people */
	const char *base;	 /* commit that the task's branch is compared to */
	const char *start;	 /* commit it begins at: base, or that of a checkpoint */
	const char *branch;
	const char *author_name, *author_email;
	const char *config;  /* resolved settings as the text of a user's file */
	const json_t *flags; /* [KEY=VALUE]: its share of the limits, typed settings */
	const json_t *list;  /* a work list with the one task, as prd.json */
	const char *prompt;  /* the text of the prompt; NULL: the project's or none */
	const json_t *request;
	/* Rows of a spec (spec_credentials_to_json()), without a place of home's. "ca": trust for its origin, as text.
	 * "dial": "home": requests go to home's gateway by FLEET_OPEN_ROUTE, and the row has no origin. */
	const json_t *credentials;
	const char *egress; /* "node" or "home" */
};

/* FLEET_GO, FLEET_CHECKPOINT: after the last frame of a pack. */
struct fleet_pack_end {
	json_t *doc;
	const char *lease;
	const char *head;   /* commit that the pack makes complete */
	const char *since;  /* commit that its reader has; "": none, the pack stands alone */
	const char *sha256; /* of all its bytes */
	uint64_t bytes;	    /* 0: there was no pack, head is known */
};

struct fleet_record {
	json_t *doc;
	const char *lease;
	const json_t *summary; /* the worker's summary.json so far */
};

struct fleet_verdict {
	json_t *doc;
	struct fleet_pack_end
		pack;	       /* its doc is NULL; bytes 0: no commit since the last checkpoint */
	uint64_t code;	       /* exit code of the loop on the node */
	const char *why;       /* of a failure before the loop ran; "" */
	const json_t *summary; /* NULL: the loop wrote none */
};

struct fleet_ack {
	json_t *doc;
	const char *lease, *head;
	bool verdict; /* of FLEET_VERDICT; else of FLEET_CHECKPOINT */
};

/* The rules of `ralph net` that count for this task: "allow PATTERN" and "deny PATTERN". When one ends by
 * itself, home sends the others again, so no clock but home's counts. */
struct fleet_rules {
	json_t *doc;
	const json_t *rules;
};

/* What an agent asks a person for (record/asks.h). It is sent again when the agent waits on. */
struct fleet_question {
	json_t *doc;
	const char *id; /* the node's */
	const char *kind, *what, *why;
	const json_t *choices;
	uint64_t wait_s; /* for how long the agent waits from now on; 0: it does not */
};

struct fleet_reply {
	json_t *doc;
	const char *id;
	bool allow;
	const char *text, *scope;
};

int fleet_start_read(const struct fleet_msg *m, struct fleet_start *ret, struct err *err);
int fleet_hello_read(const struct fleet_msg *m, struct fleet_hello *ret, struct err *err);
int fleet_task_read(const struct fleet_msg *m, struct fleet_task *ret, struct err *err);
int fleet_pack_end_read(const struct fleet_msg *m, struct fleet_pack_end *ret, struct err *err);
int fleet_record_read(const struct fleet_msg *m, struct fleet_record *ret, struct err *err);
int fleet_verdict_read(const struct fleet_msg *m, struct fleet_verdict *ret, struct err *err);
int fleet_ack_read(const struct fleet_msg *m, struct fleet_ack *ret, struct err *err);
int fleet_rules_read(const struct fleet_msg *m, struct fleet_rules *ret, struct err *err);
int fleet_question_read(const struct fleet_msg *m, struct fleet_question *ret, struct err *err);
int fleet_reply_read(const struct fleet_msg *m, struct fleet_reply *ret, struct err *err);
/* "when" of FLEET_STOP: *ret_now. */
int fleet_stop_read(const struct fleet_msg *m, bool *ret_now, struct err *err);
int fleet_limit_read(const struct fleet_msg *m, uint64_t *ret_for_ms, struct err *err);
#define fleet_done(x) json_decref((x)->doc)

json_t *fleet_start_json(const struct fleet_start *s);
json_t *fleet_hello_json(const struct fleet_hello *h); /* agents: a reference of its own */
json_t *fleet_task_json(const struct fleet_task *t);
json_t *fleet_pack_end_json(const struct fleet_pack_end *p);
json_t *fleet_record_json(const struct fleet_record *r);
json_t *fleet_verdict_json(const struct fleet_verdict *v);
json_t *fleet_ack_json(const struct fleet_ack *a);
json_t *fleet_rules_json(const struct fleet_rules *r);
json_t *fleet_question_json(const struct fleet_question *q);
json_t *fleet_reply_json(const struct fleet_reply *r);
json_t *fleet_stop_json(bool now);
json_t *fleet_limit_json(uint64_t for_ms);

/* 0, or an error that names both versions. */
int fleet_same_version(uint64_t protocol, const char *version, const char *who, struct err *err);

/*
 * A question of a gateway on the node, and what home's credential helper says: the body of that
 * frame of wire/gateway-proto.h. Each line is one gateway's; answers repeat line and number. CRED_USED
 * and CRED_EVENT have number 0.
 */
struct fleet_ask {
	uint32_t line, number, kind;
	const char *body;
	size_t len;
};

int fleet_ask_read(const struct fleet_msg *m, struct fleet_ask *ret);
int fleet_ask_put(struct fleet_out *out, enum fleet_type type, uint32_t id,
		  const struct fleet_ask *a);

/* A tunnel that the node asks for. Its channel is a number that no open tunnel of the slot has. */
enum fleet_open_kind {
	FLEET_OPEN_HOST, /* to HOST:PORT, dialled at home: `egress: home` */
	FLEET_OPEN_ROUTE, /* to home's gateway, for the credentials that are used there: `dial: home` */
	FLEET_OPEN_N,
};

struct fleet_open {
	uint32_t channel;
	enum fleet_open_kind kind;
	char target[FLEET_TEXT_MAX + 8]; /* printable, with its end */
};

int fleet_open_read(const struct fleet_msg *m, struct fleet_open *ret);
int fleet_open_put(struct fleet_out *out, uint32_t id, const struct fleet_open *o);
/* OPENED, CLOSE, WINDOW. */
int fleet_pair_read(const struct fleet_msg *m, uint32_t *ret_channel, uint32_t *ret_value);
int fleet_pair_put(struct fleet_out *out, enum fleet_type type, uint32_t id, uint32_t channel,
		   uint32_t value);
int fleet_data_read(const struct fleet_msg *m, uint32_t *ret_channel, const char **ret,
		    size_t *ret_n);
int fleet_data_put(struct fleet_out *out, uint32_t id, uint32_t channel, const void *p, size_t n);
/* PING and PONG: the latter with a time. */
int fleet_ping_read(const struct fleet_msg *m, uint64_t *ret_number, uint64_t *ret_time_ms);
int fleet_ping_put(struct fleet_out *out, enum fleet_type type, uint64_t number, uint64_t time_ms);

/* A name of FLEET_LOG: letters, digits, ".", "-", "_", not first a dot, at most 100. */
bool fleet_log_name_valid(const char *p, size_t n);
/* The same, or FLEET_LOG_HOME with a path below a home: an agent's conversation. Each part has those
 * characters, and may begin with a dot but for "." and "..". */
#define FLEET_LOG_HOME "home/"
bool fleet_log_path_valid(const char *p, size_t n);

#define FLEET_LEASE_LEN 32
/* 128 random bits as hex, with the end. */
int fleet_lease_make(char ret[FLEET_LEASE_LEN + 1]);
