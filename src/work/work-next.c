#include "work/work.h"

#include <string.h>

static bool is_done(const struct work *w, const char *id)
{
	const struct task *t = work_task(w, id);

	return t && t->state == TASK_DONE;
}

static bool waits(const struct work *w, const struct task *t)
{
	for (size_t i = 0; i < t->depends.n; i++)
		if (!is_done(w, t->depends.v[i]))
			return true;
	return false;
}

static bool can_start(const struct work *w, const struct task *t, unsigned attempts_max)
{
	return t->state == TASK_READY && (attempts_max == 0 || t->attempts < attempts_max) &&
	       !waits(w, t);
}

struct task *work_next(const struct work *w, unsigned attempts_max)
{
	struct task *next = NULL;

	return work_independent(w, attempts_max, &next, 1) ? next : NULL;
}

/* A task can start only when all its dependencies are done. So no two of the result depend on
 * each other or on a busy task. */
size_t work_independent(const struct work *w, unsigned attempts_max, struct task **ret, size_t n)
{
	size_t found = 0;

	while (found < n) {
		struct task *best = NULL;

		for (size_t i = 0; i < w->n; i++) {
			struct task *t = w->tasks[i];
			bool taken = false;

			for (size_t k = 0; k < found; k++)
				taken |= ret[k] == t;
			if (!taken && (!best || t->priority < best->priority) &&
			    can_start(w, t, attempts_max))
				best = t;
		}
		if (!best)
			break;
		ret[found++] = best;
	}
	return found;
}

struct work_counts work_count(const struct work *w, unsigned attempts_max)
{
	struct work_counts c = {.total = w->n};
	size_t *const of[] = {
		[TASK_READY] = &c.ready,     [TASK_BUSY] = &c.busy,   [TASK_DONE] = &c.done,
		[TASK_BLOCKED] = &c.blocked, [TASK_STUCK] = &c.stuck, [TASK_DECIDE] = &c.decide,
	};

	for (size_t i = 0; i < w->n; i++) {
		const struct task *t = w->tasks[i];

		++*of[t->state];
		c.held += t->state == TASK_READY && !can_start(w, t, attempts_max);
	}
	return c;
}
