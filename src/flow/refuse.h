#pragma once

#include "flow/conn.h"

/*
 * Saying no, in the way the client's protocol understands: a 403 with one line of JSON, whose reason
 * phrase explains it where the request is CONNECT; a SOCKS reply; a TLS alert; or a reset. The event
 * goes with it. All of them leave the connection closing. Edge and gateway each have the last word
 * about the form (struct program).
 */
struct refusal {
	enum gw_verdict verdict;
	unsigned int status;
	const char *reason, *remedy;
	bool final;	   /* trying again would not help, and the client is told so */
	const char *brief; /* the reason in fewer words; NULL: there are none */
};

/* Before files are out of reach: the first JSON needs a random seed from one. */
void refuse_init(void);
/* Refuses c's target by policy. */
void refuse_verdict(struct conn *c, const struct verdict *v);
/* Policy has no say: the message is malformed, names disagree … deny is what the event says. */
void refuse_as(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason);
/* The same, and trying again would not help: also where it is an error and no decision. */
void refuse_final(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason);
/* As the edge has told it. */
void refuse_told(struct conn *c, const struct refusal *no);
/* The same for first bytes that cannot be read; while c still waits for a name, that is the reason. */
void refuse_bytes(struct conn *c, unsigned int status, const char *reason);
/* Refuses a target that is no host: the event shows it as it was written. */
void refuse_host(struct conn *c, struct slice text, const struct err *err);
/* Ends c because the deadline of its state has passed. */
void refuse_late(struct conn *c);
/* Sends the event of a decision. */
void refuse_event(struct conn *c, enum gw_verdict verdict, const char *reason);
void conn_event(struct conn *c, enum gw_phase phase, enum gw_verdict verdict, const char *reason);

/* For struct program's refuse(). */
bool refuse_has_hello(const struct conn *c); /* c's bytes are a ClientHello that nobody answered */
void refuse_by_alert(struct conn *c, const struct refusal *no);
/* An answer of HTTP, with its body unless it is NULL; phrase NULL: the status's own. */
void refuse_answer(struct conn *c, unsigned int status, const char *phrase, bool final,
		   const char *json, bool with_body);
/* The body for a target that was refused. */
char *refuse_json(const struct conn *c, const struct refusal *no);
