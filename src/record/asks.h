#pragma once

#include "base/err.h"
#include "base/json/json.h"

/*
 * What agents ask a person for: one queue for each sandbox, a file in its record. The supervisor puts
 * in what comes from inside; any other process at home that speaks for a sandbox may do the same, and
 * the commands of the person answer. Each change holds a lock, and replaces the file in one step.
 *
 * All text is an agent's: whoever shows it escapes it.
 *
 * An ask: {"id", "kind": "host" | "file" | "decide", "what", "why", "choices", "at", "times",
 * "state": "open" | "allowed" | "denied", "waits": until this time the agent waits; and once it is
 * answered "answer", "scope", "answered", "heard": the agent knows}. Times are seconds since 1970.
 */
#define ASKS_FILE "asks.json"
#define ASKS_OPEN_MAX 8	   /* of one sandbox */
#define ASKS_MINUTE_MAX 6  /* new ones in a minute, */
#define ASKS_DAY_MAX 64	   /* and in a day */
#define ASKS_DENIALS_MAX 2 /* of the same thing; then it is not asked again */
#define ASKS_KEPT_MAX 128
#define ASK_ID_LEN 8
#define ASK_WHAT_MAX 255  /* bytes */
#define ASK_WHY_MAX 1024  /* bytes */
#define ASK_CHOICES_MAX 8 /* of ASK_WHAT_MAX bytes each */
#define ASK_ANSWER_MAX (16 * 1024)
#define ASK_WAIT_S 300 /* in all, that timers stand still for one ask */
#define ASK_ONCE_S 600 /* that "once" lasts */

enum ask_kind { ASK_HOST, ASK_FILE, ASK_DECIDE, ASK_KIND_N };
const char *ask_kind_name(enum ask_kind k);
enum ask_kind ask_kind_of(const char *name); /* ASK_KIND_N: there is none */

struct ask_wish {
	enum ask_kind kind;
	const char *what; /* "host:port", a path in the workspace; decide: "" */
	const char *why;  /* decide: the question */
	const struct strv *choices;
	uint64_t now; /* seconds */
};

/* record: the sandbox's directory. *ret: an array, oldest first; without a file an empty one. */
int asks_read(int record, json_t **ret, struct err *err);
/* The ask of this id in the array, or NULL. */
json_t *asks_find(const json_t *asks, const char *id);
bool ask_is_open(const json_t *ask);

/*
 * Puts it in. The same thing that is open already is joined. *ret: the ask, the caller's. -EAGAIN:
 * another process changes the queue right now; -EDQUOT: there are too many; -EPERM: it was denied
 * often enough.
 */
int asks_put(int record, const struct ask_wish *w, json_t **ret, struct err *err);
/* The agent waits for this answer until `until`, which is cut to ASK_WAIT_S behind the ask. */
int asks_wait(int record, const char *id, uint64_t until, struct err *err);
struct ask_answer {
	const char *id;
	bool allow;
	const char *text;  /* of the person; "" */
	const char *scope; /* of a host that is allowed; "" */
	uint64_t now;
};
/* -ENOENT: no such ask; -EALREADY: it has an answer. */
int asks_answer(int record, const struct ask_answer *a, json_t **ret, struct err *err);
/* Marks answers as known to the agent: of this id, or of all with NULL. */
int asks_heard(int record, const char *id, struct err *err);
/* Until when the agent waits, or waited, for the answer, in seconds; 0: it never did. */
uint64_t ask_waits_until(const json_t *ask);
/* Does an agent wait for an answer right now? */
bool asks_any_waits(const json_t *asks, uint64_t now);
