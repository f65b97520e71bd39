#pragma once

#include "agent/agent.h"
#include "base/buf.h"

/*
 * The display of an agent's stream while it works: its own words, each tool that it calls with the
 * most telling argument, and the calls that failed. The agent wrote the text: the caller escapes it
 * for display.
 */
#define RENDER_MAX 400		      /* bytes of all but words */
#define RENDER_WORDS_MAX (16 * KiB)   /* of one message; more is left out */
#define RENDER_RECENT AGENT_PARTS_MAX /* calls that a failure can be told of */

enum render_kind {
	RENDER_WORDS,
	RENDER_CALL,   /* "Bash  npm test" */
	RENDER_FAILED, /* "Bash  npm test: Exit code 1" */
	RENDER_NOTICE, /* something else worth showing: a refusal, a retry */
};

struct render {
	struct {
		char id[64], call[RENDER_MAX / 2];
	} recent[RENDER_RECENT];
	size_t next;	   /* of the recent ones: the oldest */
	struct buf pieces; /* words that are not complete */
	char *words;	   /* the last that were shown; NULL: none */
};

typedef void render_fn(void *arg, enum render_kind kind, const char *text);

void render_init(struct render *r);
void render_done(struct render *r);
/* Tells fn what the line has to show, in its order. A stream of NULL has nothing to show. */
void render_line(struct render *r, const struct agent_stream *s, const char *line, size_t n,
		 render_fn *fn, void *arg);
/* Tells fn the words that were not complete when the stream ended. */
void render_end(struct render *r, render_fn *fn, void *arg);
/* True when these words were the last to be shown: agents repeat them in their result. */
bool render_shown(const struct render *r, const char *words);
