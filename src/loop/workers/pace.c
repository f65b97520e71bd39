#include "loop/workers/pace.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool pace_limited(struct pace *p, uint64_t now, uint64_t for_ms, size_t running)
{
	bool same = pace_holds(p, now) || (p->most && now < p->changed + PACE_ONCE_MS);
	size_t half = running / 2 ? running / 2 : 1;

	p->until = later(p->until, now + for_ms);
	if (same)
		return false;
	p->changed = now;
	if (p->most && p->most <= half)
		return false;
	p->most = half;
	return true;
}

uint64_t pace_holds(const struct pace *p, uint64_t now)
{
	return p->until > now ? p->until - now : 0;
}

size_t pace_slots(struct pace *p, uint64_t now, size_t slots)
{
	uint64_t quiet = later(p->until, p->changed);

	if (pace_holds(p, now))
		return 1;
	if (p->most && now >= quiet + PACE_QUIET_MS) {
		p->most += (now - quiet) / PACE_QUIET_MS;
		p->changed = now - (now - quiet) % PACE_QUIET_MS;
	}
	if (p->most >= slots)
		p->most = 0;
	return p->most ? p->most : slots;
}

uint64_t pace_next(const struct pace *p, uint64_t now)
{
	uint64_t at = later(p->until, p->changed) + PACE_QUIET_MS;

	if (pace_holds(p, now))
		return pace_holds(p, now);
	if (!p->most)
		return 0;
	return at > now ? at - now : 1;
}
