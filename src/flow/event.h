#pragma once

#include "flow/gw.h"

/*
 * Decisions on their way to the supervisor. A token bucket lets EVENT_BURST at once and
 * EVENT_PER_S in the long run through; what comes faster, or does not fit the socket, is kept in
 * EVENT_GROUPS groups of events that are alike, each of which becomes one event with a count.
 */
struct events *events_new(struct gw *gw);

/* Fills in time and count; strings may be NULL and may hold any bytes. */
void event_send(struct gw *gw, const struct gw_event *e);
/* Sends the events that are still grouped, as far as the socket takes them. */
void events_flush(struct gw *gw);

/* Copies printable ASCII as it is and other bytes as \xHH, cut to what fits. */
const char *event_text(char *out, size_t cap, const char *s, size_t len);
