#pragma once

#include "base/json/jscan.h"
#include "base/strv.h"
#include "http/slice.h"

/*
 * Reads the body of a request to a model while it passes: how much it can cost, and which of the
 * provider's own tools it asks for. The tools are what the provider runs or fetches on behalf of the
 * request (web search, other URLs, MCP servers, stored files), and so a way out of the sandbox.
 *
 * DOC: Theory of operation
 *
 * All providers are read by one table. Whether two readers agree on a document is the question that
 * an attacker asks, so the whole document is read strictly (RFC 8259): what this scanner cannot read
 * is refused, and nothing is skipped. Every occurrence of a repeated key counts. Keys are compared in
 * the spelling that the most lenient provider accepts: without case, '_' and '-'.
 *
 * In a list of tools a tool passes if it is one that the client runs itself; every other one needs
 * its name in the list of allowed tools, also those that nobody knows yet. Arguments, results and
 * schemas of the client's own tools are data, and are not looked into.
 */
enum outline_form {
	OUTLINE_ANY,	   /* which number limits the answer is not known */
	OUTLINE_MESSAGES,  /* max_tokens */
	OUTLINE_CHAT,	   /* max_completion_tokens, max_tokens */
	OUTLINE_RESPONSES, /* max_output_tokens */
	OUTLINE_GEMINI,	   /* generationConfig.maxOutputTokens */
	OUTLINE_CONVERSE,  /* inferenceConfig.maxTokens */
};

#define OUTLINE_MODEL_MAX 127
#define OUTLINE_NAME_MAX 63
#define OUTLINE_TOOLS_DEEP 3 /* lists of tools within tools; deeper ones are refused */
#define OUTLINE_NUMBER_MAX ((uint64_t)1 << 32) /* of tokens or answers: more is refused */

struct outline_tool {
	bool client; /* it has said so: a type that the client runs, or a name */
	char other[OUTLINE_NAME_MAX + 1]; /* the first key that no tool of a client has */
};

struct outline {
	struct jscan j;
	enum outline_form form;
	const struct strv *allowed;	     /* names of tools; NULL: all */
	bool bad;			     /* the body cannot be read */
	bool some;			     /* a byte has come */
	bool over;			     /* the document is complete */
	uint8_t place[JSCAN_DEPTH + 1], key; /* of the open values, and of what the key announces */
	uint8_t has[JSCAN_DEPTH + 1];	     /* of the open values: of enum has, in outline.c */
	struct outline_tool tools[OUTLINE_TOOLS_DEEP];
	uint8_t n_tools;
	char text[OUTLINE_MODEL_MAX + 1]; /* the beginning of the string that is being read */
	uint8_t n_text;

	/* What was found. */
	char refused[OUTLINE_NAME_MAX + 1]; /* a tool that is not allowed */
	char model[OUTLINE_MODEL_MAX + 1];
	bool two_models;
	bool limited;	   /* the body limits the answer in the way of its form, */
	uint64_t output;   /* to this many tokens */
	uint64_t answers;  /* so many of them */
	uint64_t pictures; /* whose tokens do not depend on their bytes */
	bool unseen;	   /* some of the input is not in the body */
	bool premium;	   /* it asks for a tier with other prices */
};

/* allowed: lives as long as the outline. */
void outline_init(struct outline *o, enum outline_form form, const struct strv *allowed);
/* false: the body is refused, see outline_why(). */
bool outline_feed(struct outline *o, const char *p, size_t n);
/* The body is complete; an empty one is fine. */
bool outline_end(struct outline *o);
/* The reason for the answer; the text is the caller's. */
char *outline_why(const struct outline *o);
/* May this tool be used? As part of the request that is not in its body: files, batches. */
bool outline_use(struct outline *o, const char *tool);
/* A body of this Content-Type (p NULL: none) is read by everybody as the JSON that it is. */
bool outline_type_is_plain(struct slice content_type);
