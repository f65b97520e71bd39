#pragma once

#include "policy/request-row.h"
#include "wire/gateway-proto.h"

/*
 * The protocol of the reader (libexec/ralph/reader), which reads what requests to providers and their
 * answers say, and is given no credential.
 *
 * The supervisor makes a line between gateway and reader when it starts the gateway (GW_READER), and
 * starts the reader with the first frame on it: READER_SETUP comes on descriptor 3, with the reader's
 * end. The gateway hands over a request (READER_REQUEST) before any byte of it goes to the provider,
 * and sends it only after READER_IS with status 0. With a budget the reader asks the
 * supervisor first (GW_SPEND), with the id of the gateway's question. When an exchange is over the
 * gateway hands over the answer (READER_ANSWER), searched for secrets, and the reader reports what it
 * has used (GW_USAGE). Nobody waits for that.
 *
 * GW_HEALTH of the supervisor, and the same in answer, say that all frames which the gateway had sent
 * before were read. When the reader ends, requests that wait are refused, what was reserved is spent, and both ends get
 * another line. The reader ends with the gateway's line, after the frames that are still in it.
 */

/* A body: bytes of the frame, or, if it is a long one, the first n bytes of a file of memory. */
struct reader_body {
	const char *p; /* NULL: fd */
	size_t n;
	int fd; /* -1: p */
};

#define READER_FILE_MAX (1 * GiB)

struct reader_request {
	const char *credential, *target; /* target: as it will be sent */
	enum request_kind kind;
	const char *head; /* as the client sent it */
	size_t n_head;
	struct reader_body body; /* without its framing */
};

/* reservation: the id of the request's question, if something is reserved for it. cost: USED if the
 * answer is complete. */
struct reader_answer {
	const char *credential, *target;
	uint32_t reservation, status;
	enum gw_cost cost;
	const char *head; /* of the answer; empty: there is none */
	size_t n_head;
	struct reader_body body;
};

/* A request to /_ralph/asks or /_ralph/refused. Its READER_IS is u32 status, str JSON. */
struct reader_ask {
	const char *method, *target;
	const char *body;
	size_t n;
};

struct reader_verdict {
	uint32_t status; /* of HTTP, for the client; 0: the request may be sent */
	const char *why;
	bool reserved;
};

struct reader_setup {
	bool budget;
	struct strv tools; /* of providers, that requests may use; GW_TOOLS_ALL: any */
};

/* The gateway's side. The frame's only descriptor is body.fd, if there is one. */
void reader_put_request(struct buf *b, const struct reader_request *q);
void reader_put_answer(struct buf *b, const struct reader_answer *a);
void reader_put_ask(struct buf *b, const struct reader_ask *q);
int reader_get_verdict(const struct wire_msg *m, struct reader_verdict *ret);

/* The reader's. Texts and bytes point into the message, and fd is the message's. */
int reader_get_request(const struct wire_msg *m, struct reader_request *ret);
int reader_get_ask(const struct wire_msg *m, struct reader_ask *ret);
int reader_get_answer(const struct wire_msg *m, struct reader_answer *ret);
void reader_put_verdict(struct buf *b, const struct reader_verdict *v);
int reader_get_setup(const struct wire_msg *m,
		     struct reader_setup *ret); /* strv_done() the tools */

/* The supervisor's. */
void reader_put_setup(struct buf *b, const struct reader_setup *s);
