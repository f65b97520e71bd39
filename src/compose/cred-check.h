#pragma once

#include "agent/agent.h"
#include "base/err.h"
#include "base/json/json.h"
#include "config/config.h"
#include "record/places.h"

/*
 * The state of the host's credentials now, for `ralph check-token` and for the checks before a run.
 * The probe is the one that puts them into a spec. It uses no network and returns no value.
 */
enum cred_state {
	CRED_STATE_OK,
	CRED_STATE_MISSING,  /* the agent may log in by itself */
	CRED_STATE_UNUSABLE, /* `problem` says why and what to run */
	CRED_STATE_OFF,	     /* the user wants none */
	CRED_STATE_N,
};

struct cred_status {
	char *service;	/* "anthropic" */
	char *provider; /* "anthropic-oauth"; NULL unless it is OK */
	char *where;	/* for people: where the host has it; NULL unless it is OK */
	char *source;	/* as in the spec; NULL unless it is OK */
	char *problem;	/* UNUSABLE: a sentence; MISSING: what would get one; else NULL */
	char *warning;	/* NULL: none */
	enum cred_state state;
	uint64_t expires_ms; /* 0: never, or not known */
	uint64_t left_ms;    /* until then; 0: it has expired, or expires_ms is 0 */
	int64_t days_left;   /* -1 when expires_ms is 0 */
	bool renewable;	     /* ralph renews it */
};

struct cred_report {
	struct cred_status *v;
	size_t n;
};

#define CRED_EXIT 8 /* of loops, preflight and check-token when there is no usable credential */
/* Says so, in the words that are the same everywhere. Returns -EKEYREJECTED, with that exit code. */
int cred_unusable(const char *service, const char *problem, struct err *err);

/* One row per service of the agent. project: the workspace, whose settings of Claude Code count. */
int cred_check(const struct places *p, const struct config *c, char *const *environ,
	       const char *project, const struct agent *a, struct cred_report *ret,
	       struct err *err);
void cred_report_done(struct cred_report *r);
const char *cred_state_name(enum cred_state s); /* "ok" … */
json_t *cred_report_json(const struct cred_report *r);
/* At least one usable, none unusable. */
bool cred_report_ok(const struct cred_report *r);

/* Keeping a token for a service, see cred/token-store.h. The provider is asked about it first: one
 * that is refused is not kept, and one that nobody could be asked about is. */
struct cred_kept {
	char *where, *checked; /* for people; checked: "not checked: …" */
};
int cred_keep(const struct places *p, const struct config *c, char *const *environ,
	      const char *service, const char *token, struct cred_kept *ret, struct err *err);
void cred_kept_done(struct cred_kept *k);
/* -ENOENT: nothing was kept. */
int cred_forget(const struct places *p, char *const *environ, const char *service, struct err *err);
