#pragma once

#include "gateway/conn.h"

/*
 * Saying no, in the way the client's protocol understands: a 403 with one line of JSON, whose reason
 * phrase explains it where the request is CONNECT; a SOCKS reply; a TLS alert; or a reset. The event
 * goes with it. All of them leave the connection closing.
 */

/* Refuses c's target by policy. */
void refuse_verdict(struct conn *c, const struct verdict *v);
/* Policy has no say: the message is malformed, names disagree … deny is what the event says. */
void refuse_as(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason);
/* The same, and trying again would not help: also where it is an error and no decision. */
void refuse_final(struct conn *c, enum gw_verdict verdict, unsigned int status, const char *reason);
/* The same for first bytes that cannot be read; while c still waits for a name, that is the reason. */
void refuse_bytes(struct conn *c, unsigned int status, const char *reason);
/* Refuses a target that is no host: the event shows it as it was written. */
void refuse_host(struct conn *c, struct slice text, const struct err *err);
/* Ends c because the deadline of its state has passed. */
void refuse_late(struct conn *c);
/* Sends an answer of our own. final: trying again would not help, and the client is told so. */
void answer_json(struct conn *c, unsigned int status, bool final, const char *json);
/* Sends the event of a decision. */
void refuse_event(struct conn *c, enum gw_verdict verdict, const char *reason);
void conn_event(struct conn *c, enum gw_phase phase, enum gw_verdict verdict, const char *reason);
