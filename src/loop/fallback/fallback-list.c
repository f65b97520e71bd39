#include "loop/fallback/fallback.h"

#include "loop/loop-limits.h"

#define AGAIN_S                                                                                    \
	900 /* an outage and a credential have no announced end: then they are tried again */

size_t fallback_first(const uint64_t *away, size_t n, uint64_t now)
{
	size_t i = 0;

	while (i < n && away[i] > now)
		i++;
	return i;
}

uint64_t fallback_until(const struct fallback_facts *f)
{
	uint64_t again = f->now + (f->after > AGAIN_S ? f->after : AGAIN_S), end;

	if (f->verdict == VERDICT_CREDENTIAL)
		return again;
	if (f->verdict == VERDICT_LIMITED) {
		/* An end that is not announced, or not believed, is waited for as in
		 * limits_wait_until(). */
		end = f->resets_at && f->resets_at <= f->now + WAIT_MAX_S ? f->resets_at
									  : f->now + WAIT_UNKNOWN_S;
		return end > f->now + f->after || (f->no_wait && end > f->now) ? end : 0;
	}
	if (f->verdict != VERDICT_OUTAGE)
		return 0;
	/* A clock that was set back starts the time anew. */
	return f->no_wait || (f->since <= f->now && f->now - f->since >= f->after) ? again : 0;
}
