#pragma once

#include "base/ev.h"
#include "record/asks.h"
#include "spec/spec.h"
#include "wire/fleet.h"

#include <stdbool.h>

struct loop;
struct placed;
struct worker;

/*
 * DOC: Theory of operation
 *
 * A placed worker has a record at home, like the sandbox of a worker of this machine: with its own rules, a
 * queue of asks and an event log. So whatever looks at sandboxes (`ralph net log`, `ask`, `events`, `top`,
 * the page) sees what is elsewhere. Its spec says `place`; nothing is ever started from it.
 *
 *	placed-record.c  the record, and the node's events in its log
 *	placed-people.c  rules and answers on their way to the node, asks on their way back
 *
 * The loop hears of changes from the kernel: of a record with open asks, and of the lock that each change
 * of rules takes. It compares, and sends what is new. Rules go before answers, as they were given.
 *
 * An ask of a node is judged by home's own rules, with its own bounds (record/asks.h), whatever the node
 * has judged. Events are of known types, escaped, with times of this machine's clock, and "by": "node".
 */
struct placed_question {
	char node[ASK_ID_LEN + 1], home[ASK_ID_LEN + 1];
};

/* One worker's. */
struct placed_home {
	struct placed *p;
	struct sandbox_spec *spec; /* of the record */
	char *rules;		   /* as they were sent; NULL: nothing was */
	struct ev_timer again;	   /* a rule ends by itself */
	struct strv said;	   /* conversations that came, and are of no iteration yet */
	int watch;		   /* of the record; -1: nobody waits for an answer */
	struct placed_question asks[ASKS_OPEN_MAX];
	size_t n_asks;
	/* events that are not in the log yet */
	json_t *events;
	struct ev_timer flush;
	uint64_t n_events;  /* of all */
	uint64_t micro_usd; /* of all usage that it said */
};

/* placed-people.c: the task was told to the worker: so are its rules. */
void placed_people_begin(struct placed *p);
void placed_people_end(struct placed *p);
void placed_people_free(struct loop *l);
void placed_question(struct placed *p, const struct fleet_msg *m);

/* placed-record.c */
#define PLACED_EVENTS_MAX 20000 /* of one worker that are kept */
/* The record's name; the caller frees it. NULL: there is none. */
char *placed_record_name(const struct worker *w);
/* Makes or finds the record. */
int placed_record_open(struct placed_home *h, struct err *err);
void placed_event(struct placed *p, const struct fleet_msg *m);
/* An event of home's about this worker. Takes details. */
void placed_event_add(struct placed_home *h, const char *type, json_t *details);
void placed_events_flush(struct placed_home *h);
