#pragma once

/*
 * ROOM: ask
 *
 * The program `ralph-ask` inside a sandbox, by which an agent asks a person: for a host, for a change of
 * a protected file, for a decision. It has no right that the agent does not have; it speaks to the
 * sandbox's own gateway, which judges everything.
 */

#include "base/buf.h"
#include "base/strv.h"

#define ASK_TEXT_MAX (64 * KiB) /* of an answer of the gateway, and of a request of MCP */
#define ASK_WAIT_MAX_S 300
#define ASK_POLL_S 25 /* that the gateway holds one question */

enum ask_exit { ASK_ALLOWED = 0, ASK_FAILED = 1, ASK_USAGE = 2, ASK_DENIED = 3, ASK_OPEN = 4 };

struct ask_words {
	const char *kind, *what, *why;
	struct strv choices;
	unsigned wait_s;
};

struct ask_result {
	enum ask_exit code;
	char *id, *text; /* text: for the agent, what the person or the gateway says */
};

/* Asks, and waits for an answer. The result's strings are the caller's. */
void ask_person(const struct ask_words *w, struct ask_result *ret);
/* The answer to an ask that was put before. */
void ask_again(const char *id, unsigned wait_s, struct ask_result *ret);
void ask_result_done(struct ask_result *r);

/* Serves the same as tools of MCP on stdin and stdout, until its end. */
int ask_mcp(void);
