#include "loop/loop-limits.h"

#include "base/mem.h"

char *limits_reached(const struct loop_limits *l, const struct loop_used *u)
{
	if (l->iterations && u->iterations >= l->iterations)
		return xasprintf("%llu iteration%s", (unsigned long long)l->iterations,
				 l->iterations == 1 ? "" : "s");
	if (l->micro_usd && u->micro_usd >= l->micro_usd)
		return xasprintf("a cost of $%llu.%02llu",
				 (unsigned long long)(l->micro_usd / 1000000),
				 (unsigned long long)(l->micro_usd / 10000 % 100));
	if (l->duration_ms && u->active_ms >= l->duration_ms)
		return xasprintf("%llu s of work", (unsigned long long)(l->duration_ms / 1000));
	return NULL;
}

static uint64_t left(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

struct loop_used limits_left(const struct loop_limits *l, const struct loop_used *u)
{
	return (struct loop_used){
		.iterations = left(l->iterations, u->iterations),
		.micro_usd = left(l->micro_usd, u->micro_usd),
		.active_ms = left(l->duration_ms, u->active_ms),
	};
}

uint64_t limits_wait_until(uint64_t now, uint64_t resets_at, uint64_t random)
{
	uint64_t end = resets_at, jitter;

	if (end == 0 || end > now + WAIT_MAX_S)
		end = now + WAIT_UNKNOWN_S;
	if (end < now)
		end = now;
	jitter = (end - now) / 10 + 1;
	return end + 1 + random % (jitter < WAIT_JITTER_S ? jitter : WAIT_JITTER_S);
}

uint64_t limits_outage_until(uint64_t now, uint64_t since, uint64_t tries, uint64_t max_s,
			     uint64_t random)
{
	uint64_t step = OUTAGE_FIRST_S;

	/* A clock that was set back starts the time anew. */
	if (since > now)
		since = now;
	if (max_s && now - since >= max_s)
		return 0;
	for (uint64_t i = 1; i < tries && step < OUTAGE_STEP_S; i++)
		step *= 2;
	if (step > OUTAGE_STEP_S)
		step = OUTAGE_STEP_S;
	step += random % (step / 10 + 1);
	return max_s && now + step > since + max_s ? since + max_s : now + step;
}

bool limits_reserve_reached(uint64_t reserve, uint64_t used)
{
	return reserve > 0 && used > 0 && used + reserve >= 100;
}
