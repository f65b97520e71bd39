#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "record/places.h"
#include "web/level.h"

#include <stdbool.h>
#include <stdint.h>

/* The hand: starts web and desk, holds the sessions, and runs the commands of web/verbs.h. */
struct hand_options {
	const struct places *places;
	int listener;		  /* taken over */
	const char *url;	  /* of the page, without its key: "http://127.0.0.1:8400/" */
	const struct strv *hosts; /* of --host */
	const char *cert, *key;	  /* PEM files: TLS; NULL: none */
	const char *inbox;	  /* where conversations are saved; NULL: nowhere */
	const char *from;	  /* a saved state, for pictures and tests; NULL */
	enum web_level most;
	void (*ready)(const char *link); /* called with the first link */
};

/* Serves until a signal: 128 + n, or -errno. */
int hand_serve(const struct hand_options *o, struct err *err);

/* ---- for the other commands: a running server is asked ---- */

#define HAND_NAME ".web" /* its directory beside those of the sandboxes; no sandbox is called so */
/* 1: it answered; 0: no server runs. *ret: {"sessions": […]}, {"link": …}, {} */
int hand_sessions(const struct places *p, json_t **ret, struct err *err);
int hand_link(const struct places *p, enum web_level level, json_t **ret, struct err *err);
int hand_revoke(const struct places *p, const char *session, json_t **ret, struct err *err);
