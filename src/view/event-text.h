#pragma once

#include "base/json/json.h"
#include "base/text/term.h"

/* One record of an event log in one line of words; the caller frees it. What came from inside is in
 * it as it came: it is to be escaped when it is shown. */
char *event_text(const json_t *record);
/* Red for what was refused or failed, yellow for what wants a look, nothing for the rest. */
enum term_style event_style(const json_t *record);
/* Something was refused: a connection, a credential, a request beyond the budget. */
bool event_is_refusal(const json_t *record);
