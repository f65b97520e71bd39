#include "events/refused.h"

#include <stdio.h>
#include <string.h>

static size_t find(const struct refused *r, const char *host)
{
	size_t i = 0;

	while (i < r->n && strncmp(r->v[i].host, host, REFUSED_HOST_SIZE - 1) != 0)
		i++;
	return i;
}

static size_t oldest(const struct refused *r)
{
	size_t best = 0;

	for (size_t i = 1; i < r->n; i++)
		if (r->v[i].at < r->v[best].at)
			best = i;
	return best;
}

void refused_add(struct refused *r, const char *host)
{
	size_t i = find(r, host);

	if (i == REFUSED_MAX) {
		i = oldest(r);
		r->lost = r->v[i].at;
	} else if (i == r->n) {
		r->n++;
	}
	(void)snprintf(r->v[i].host, REFUSED_HOST_SIZE, "%s", host);
	r->v[i].at = ++r->now;
}

bool refused_since(const struct refused *r, uint64_t mark, struct strv *ret)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].at > mark)
			strv_push(ret, r->v[i].host);
	return r->lost > mark;
}
