#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * One row of the requests that may be made with a provider's credential:
 *
 *	METHOD PATTERN [KIND] [URL]
 *
 * The pattern is the whole path, in canonical form (request.h): a star stands for one or more
 * characters of a segment, and for the rest of the path, whatever it is, when two of them end it.
 * GET allows HEAD. With a URL, the provider keeps the request elsewhere: the URL stands for its
 * origin and for what comes before the first star.
 *
 * The kind says what the request costs and how its body is read. A row without one is free with
 * GET; any other costs what ralph cannot know, and is refused while there is a budget.
 */
enum request_kind {
	REQUEST_UNKNOWN, /* costs money, and its answer does not say how much */
	REQUEST_FREE,
	/* Tokens: the answer says how many, and the body how many there can be. */
	REQUEST_MESSAGES,  /* Anthropic's, also of Bedrock's invoke and of Vertex AI */
	REQUEST_CHAT,	   /* OpenAI's chat completions */
	REQUEST_RESPONSES, /* OpenAI's */
	REQUEST_GEMINI,
	REQUEST_CONVERSE, /* Bedrock's */
	REQUEST_KIND_N,
};

struct request_row {
	const char *method, *pattern; /* into the text */
	size_t method_n, pattern_n;
	const char *url; /* up to the text's end; NULL: none */
	enum request_kind kind;
};

/* Returns false for a text that is no row: it allows nothing then. */
bool request_row_parse(const char *text, struct request_row *ret);
bool request_row_is(const struct request_row *r, const char *method);
/* How much of a path that fits the URL stands for. */
size_t request_row_fixed(const struct request_row *r);
/* The row's pattern at its server, whose URL has this path; on the heap. */
char *request_row_whole(const struct request_row *r, const char *base);
/* path: canonical, without its query. */
bool request_pattern_fits(const char *pattern, size_t pattern_n, const char *path, size_t n);

static inline bool request_has_tokens(enum request_kind k)
{
	return k >= REQUEST_MESSAGES;
}
