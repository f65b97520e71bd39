#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "web/level.h"

#include <stdbool.h>

/*
 * The acts of the page: a fixed table of commands of `ralph`, and nothing else. desk shows the line
 * that a row gives for its arguments, the hand runs the same words. Every argument has a grammar of
 * its own here, since desk, which names them, reads what agents wrote.
 */
#define VERB_WORDS_MAX 10
#define VERB_TEXT_MAX (8 * KiB) /* an answer or a note */
#define VERB_TASK_MAX 200

struct verb {
	const char *name;
	enum web_level level;
	const char *words[VERB_WORDS_MAX]; /* "%W" …: an argument, see struct verb_args */
	bool in_workspace;		   /* run there */
	bool detached;			   /* goes on without us: it is not waited for */
};

struct verb_args {
	const char *workspace;	/* %W: an absolute path; the caller knows that it is one of ours */
	const char *task;	/* %T: its id; "": the loop itself */
	const char *sandbox;	/* %S */
	const char *host;	/* %H: name:port, canonical; no address, no pattern */
	const char *quarantine; /* %Q */
	const char *ask;	/* %A: its id */
	const char *text;	/* %X: typed by the person */
};

extern const struct verb verbs[];
extern const size_t n_verbs;
const struct verb *verb_find(const char *name); /* NULL: there is none */
bool verb_takes_text(const struct verb *v);
/* Fills in the words behind "ralph". -EINVAL: an argument is missing or not of its form. */
int verb_words(const struct verb *v, const struct verb_args *a, struct strv *ret, struct err *err);
/* The same as a line for a shell; "…" stands for a text that is not there yet. NULL: -EINVAL. */
char *verb_line(const struct verb *v, const struct verb_args *a);
