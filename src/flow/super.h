#pragma once

#include "flow/gw.h"

/* The conversation with the supervisor, as far as edge and gateway have it alike. */

/* m is NULL when the one who was asked has ended before its answer. */
typedef void ask_fn(struct ask *a, struct wire_msg *m);

struct ask { /* the gateway's; embedded; zeroed before the first use */
	struct gw *gw;
	uint32_t id; /* 0: nothing asked */
	int line;    /* that it was sent over */
	ask_fn *fn;
	struct ask *next;
};

/* Blocking: GW_CONFIG and the frames of the program's own, up to GW_START. */
int super_setup(struct gw *gw, struct err *err);
int super_attach(struct gw *gw, struct err *err);
void super_health(struct gw *gw, uint32_t id);
/* Takes n lines out of a frame that must have so many, not blocking; -EPROTO. */
int super_take_lines(struct wire_msg *m, int *ret, size_t n);
