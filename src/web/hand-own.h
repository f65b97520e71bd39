#pragma once

#include "base/ev.h"
#include "base/proc.h"
#include "events/events.h"
#include "web/frames.h"
#include "web/hand.h"
#include "web/web-key.h"
#include "web/web-session.h"
#include "web/verbs.h"

/* Inside of the hand. Nobody else includes this. */
#define HAND_ACTS_MAX 8	   /* commands at once */
#define HAND_ACT_MS 120000 /* then the page hears that it still runs */
#define HAND_BEGUN_MS 3000 /* a command that goes on by itself has failed before, if it fails */
#define HAND_SAID_MAX (16 * KiB)
#define HAND_LAST_MAX 50 /* acts that the page of sessions shows */

enum act_state { ACT_FREE, ACT_ASKED, ACT_RUNS };

struct act {
	struct hand *hand;
	enum act_state state;
	uint32_t id;  /* of web's question; 0: it was answered */
	uint32_t own; /* of the question to desk */
	char session[SESSION_ID_LEN + 1];
	const struct verb *verb;
	char *seen, *text, *line;
	struct child child;
	struct ev_io ended;
	struct ev_timer limit;
	int out;
};

#define HAND_VIEWS_MAX 4
#define HAND_VIEW_MS 60000

/* A command that reads for the page. */
struct view {
	struct hand *hand;
	uint32_t id; /* of web's question; 0: free */
	struct child child;
	struct ev_io ended;
	struct ev_timer limit;
	int out, said;
};

struct helper {
	struct hand *hand;
	const char *name;
	struct child child;
	struct ev_io ended; /* of its pidfd */
	struct ev_io sock;
	uint64_t starts_ms[8]; /* a ring: one that cannot stay up ends the server */
	size_t next;
};

struct hand {
	const struct hand_options *o;
	struct ev *ev;
	struct helper web, desk, tls; /* tls: in front of web, where it is wanted */
	struct ev_io alive, ctl, signals;
	struct ev_timer again;
	struct sessions sessions;
	char told[SESSIONS_MAX][SESSION_ID_LEN + 1]; /* those that web may have streams of */
	struct ev_timer expiry;			     /* when the first of them ends by itself */
	struct act acts[HAND_ACTS_MAX];
	struct view views[HAND_VIEWS_MAX];
	uint32_t last_own;
	struct events log; /* of STATE/web */
	int log_dir;
	json_t *last; /* acts, newest last */
	int ended;    /* the signal */
	struct err *err;
	bool failed;
};

/* Answers a question of web; takes j. */
void hand_answer(struct hand *h, uint32_t id, unsigned status, json_t *j);
void hand_error(struct hand *h, uint32_t id, unsigned status, const char *why);
/* A POST of /api/act, whose session is known. */
void act_begin(struct hand *h, uint32_t id, struct session *s, const struct web_ask *a);
void act_resolved(struct hand *h, uint32_t own, const struct web_answer *a);
void acts_end(struct hand *h);
/* A GET that a command answers; the session is known. */
void view_begin(struct hand *h, uint32_t id, const char *path);
void views_end(struct hand *h);
/* After a session was made or ended. */
void hand_sessions_changed(struct hand *h);
