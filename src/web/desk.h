#pragma once

#include "base/ev.h"
#include "base/json/json.h"
#include "record/places.h"
#include "view/survey.h"
#include "web/web-key.h"
#include "web/web-route.h"
#include "web/verbs.h"
#include "web/web.h"

/*
 * The process that reads. Everything that it reads may have been written by an agent; it can open
 * what lies below its paths, for reading, and has no other right. Its answers are JSON in ASCII.
 */
#define DESK_TICK_MS 250    /* while somebody looks */
#define DESK_SURVEY_MS 1000 /* between two surveys */
#define DESK_TOPICS_MAX 8

struct desk_topic {
	char name[ROUTE_WORD_MAX * 2];
	struct route route;
	uint64_t cursor; /* a number of an event, or an offset */
	uint64_t sent;	 /* hash of the state that was sent; 0: none */
};

struct desk_stream {
	uint32_t id; /* 0: free */
	bool credit; /* web has taken the last answer */
	struct desk_topic topics[DESK_TOPICS_MAX];
	size_t n_topics, next;
};

struct desk {
	struct ev *ev;
	struct ev_io hand, web;
	struct ev_timer tick;
	struct places places;
	struct survey survey;
	char *talks;	  /* where conversations are saved; NULL: nowhere */
	const char *from; /* a saved state instead of the machine's, for pictures and tests */
	uint64_t surveyed_ms;
	struct strv workspaces; /* that may be read */
	bool usage;		/* usage.jsonl may be read */
	bool saved;		/* the conversations may be read */
	struct desk_stream streams[WEB_CONNS_MAX];
};

/* Makes the survey new, unless it is younger than DESK_SURVEY_MS. */
int desk_look(struct desk *d, struct err *err);

/* The answers: an object, which is the caller's, and the status of HTTP. */
json_t *desk_overview(struct desk *d);
json_t *desk_loop(struct desk *d, const char *key, unsigned *status);
json_t *desk_log(struct desk *d, const struct route *r, unsigned *status);
json_t *desk_checks(struct desk *d, const struct route *r, unsigned *status);
json_t *desk_net(struct desk *d, const char *name, unsigned *status);
json_t *desk_events(struct desk *d, const char *name, uint64_t after, unsigned *status);
json_t *desk_events_new(struct desk *d, const char *name, uint64_t *cursor);
json_t *desk_verify(struct desk *d, const char *name, unsigned *status);
json_t *desk_usage(struct desk *d);
json_t *desk_quarantine(struct desk *d);
json_t *desk_asks(struct desk *d);
json_t *desk_ask(struct desk *d, const char *id, unsigned *status);
json_t *desk_ask_row(const struct survey_sandbox *b, const json_t *ask);
json_t *desk_held(struct desk *d, const char *id, unsigned *status);
json_t *desk_talks(struct desk *d);
json_t *desk_talk(struct desk *d, const struct route *r, unsigned *status);

/* At most so many bytes of a text, and a sign where there are more: an answer has a limit, and no agent
 * may fill it. */
json_t *desk_text(const char *text, size_t most);
/* An error as an answer. */
json_t *desk_error(unsigned *status, unsigned code, const char *why);

/* ---- the things that can be acted on ---- */

/* What was shown, as a hash: an act repeats it, and is refused when it has changed. */
char *desk_seen(const json_t *shown);
/* Appends {"verb", "id", "seen", "cmd", "level"} to acts. Takes shown. */
void desk_put_act(json_t *acts, const char *verb, const char *id, json_t *shown,
		  const struct verb_args *args);
json_t *desk_loop_acts(const struct survey_loop *l);
json_t *desk_refusal_acts(const struct survey_sandbox *b, const struct sandbox_log_refused *r);
/* → {"seen", "args"} for the hand. */
json_t *desk_resolve(struct desk *d, const char *verb, const char *id, unsigned *status);

const struct survey_loop *desk_find_loop(const struct desk *d, const char *key);
const struct survey_sandbox *desk_find_sandbox(const struct desk *d, const char *name);
/* A file of the loop's state, as JSON; NULL: none, or not readable. */
json_t *desk_state_file(struct desk *d, const struct survey_loop *l, const char *name);
