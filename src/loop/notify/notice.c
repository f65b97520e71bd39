#include "loop/notify/notice.h"

#include <assert.h>

#include "base/mem.h"
#include "loop/loop.h"

static const struct {
	const char *name, *title;
} events[] = {
	[NOTICE_DONE] = {"done", "done"},
	[NOTICE_STUCK] = {"stuck", "stuck"},
	[NOTICE_NEEDS_YOU] = {"needs-you", "needs you"},
	[NOTICE_BUDGET] = {"budget", "80 % of the budget is spent"},
	[NOTICE_OUTAGE] = {"outage", "the provider is not available"},
};
static_assert(ARRAY_SIZE(events) == NOTICE_N, "one row per event");

const char *notice_name(enum notice n)
{
	return events[n].name;
}

const char *notice_title(enum notice n)
{
	return events[n].title;
}

enum notice notice_of_exit(int code)
{
	if (code == LOOP_DONE)
		return NOTICE_DONE;
	if (code == LOOP_STUCK)
		return NOTICE_STUCK;
	return code == LOOP_PAUSED || code > 128 ? NOTICE_N : NOTICE_NEEDS_YOU;
}

uint64_t notices_due(const struct notice_facts *f, uint64_t *told)
{
	uint64_t on = 0, due;

	if (f->limit && f->spent >= f->limit - f->limit / 5)
		on |= 1U << NOTICE_BUDGET;
	if (f->outage && f->now >= f->outage + NOTICE_OUTAGE_S)
		on |= 1U << NOTICE_OUTAGE;
	due = on & ~*told;
	*told = on;
	return due;
}
