#pragma once

#include "base/json/json.h"
#include "base/text/term.h"

/* Returns one record of an event log as a line of text; the caller frees it. Text from inside
 * the sandbox is not escaped: the caller escapes it for display. */
char *event_text(const json_t *record);
/* Returns red for refusals and failures, yellow for warnings, else no style. */
enum term_style event_style(const json_t *record);
/* True for what the self-test did: its commands, and the refusals that it caused. */
bool event_is_selftest(const json_t *record);
/* True for a refusal: of a connection, a credential, or a request beyond the budget. A refusal that
 * the self-test caused is none. */
bool event_is_refusal(const json_t *record);
