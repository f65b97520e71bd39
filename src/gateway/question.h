#pragma once

#include "flow/super.h"

/*
 * Questions with ids, and their answers: to the supervisor, to the credential helper, to the reader and
 * to the edge, each over its own line. An answer counts only if it comes over the line of its question.
 */

/* a NULL: the other side is only informed, and nobody waits. */
int ask_line(struct gw *gw, int line, struct ask *a, enum gw_type type, const struct buf *body,
	     ask_fn *fn);
/* GW_HEADER, to the credential helper. */
int ask_cred(struct gw *gw, struct ask *a, const struct buf *body, ask_fn *fn);
void ask_cancel(struct ask *a);
/* To the reader, with a file or without (-1); takes the content of body. It waits for room. */
int ask_reader(struct gw *gw, struct ask *a, enum gw_type type, struct buf *body, int file,
	       ask_fn *fn);
/* The lines to credential helper, reader and edge are watched from now on. */
int ask_attach(struct gw *gw, struct err *err);

/* For struct program. */
int ask_set_up(struct gw *gw, struct wire_msg *m, struct err *err);
void ask_frame(struct gw *gw, struct wire_msg *m);
