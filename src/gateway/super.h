#pragma once

#include "gateway/gw.h"

/*
 * The conversation with the supervisor, and with the credential helper over a line of its own: their
 * frames in, questions with ids out.
 */
struct ask;
/* m is NULL when the credential helper has ended before its answer. */
typedef void ask_fn(struct ask *a, const struct wire_msg *m);

struct ask { /* embedded; zeroed before the first use */
	struct gw *gw;
	uint32_t id; /* 0: nothing asked */
	bool of_cred;
	ask_fn *fn;
	struct ask *next;
};

/* Blocking: GW_CONFIG, GW_LISTEN …, up to GW_START. */
int super_setup(struct gw *gw, struct err *err);
int super_attach(struct gw *gw, struct err *err);
void super_health(struct gw *gw, uint32_t id);
int ask_send(struct gw *gw, struct ask *a, enum gw_type type, const struct buf *body, ask_fn *fn);
/* GW_HEADER, to the credential helper. a NULL: it is only informed, and nobody waits. */
int ask_cred(struct gw *gw, struct ask *a, const struct buf *body, ask_fn *fn);
void ask_cancel(struct ask *a);
