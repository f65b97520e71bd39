#include "work/listing.h"

#include <stdio.h>
#include <string.h>

#include "work/text.h"

void listing_done(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		(void)task_free(l->tasks[i]);
	free(l->tasks);
	free(l->project);
	free(l->branch);
	free(l->base);
	free(l->description);
	strv_done(&l->verify);
	strv_done(&l->depends);
	*l = (struct listing){0};
}

struct task *listing_add(struct listing *l)
{
	if (l->n == WORK_TASKS_MAX)
		return NULL;
	l->tasks = xrealloc(l->tasks, l->n + 1, sizeof(struct task *));
	return l->tasks[l->n++] = task_new();
}

struct task *listing_find(const struct listing *l, const char *id)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->tasks[i]->id && streq(l->tasks[i]->id, id))
			return l->tasks[i];
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;
	int r = strcmp(x->id, y->id);

	return r ? r : (x->line > y->line) - (x->line < y->line);
}

/* Returns the tasks sorted by id, for lookup(); the caller frees the array. */
static struct task **sorted(const struct listing *l)
{
	struct task **v = xcalloc(l->n + 1, sizeof(struct task *));

	for (size_t i = 0; i < l->n; i++)
		v[i] = l->tasks[i];
	qsort(v, l->n, sizeof(struct task *), by_id);
	return v;
}

/* Returns the index of the id in the sorted array, or n. */
static size_t lookup(struct task *const *v, size_t n, const char *id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int r = strcmp(id, v[mid]->id);

		if (r == 0)
			return mid;
		if (r < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return n;
}

static int check_dependencies(struct task *const *v, size_t n, const char *name, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i]->depends.n; k++) {
			const char *on = v[i]->depends.v[k];

			if (streq(on, v[i]->id))
				return err_usage(err, "%s:%u: '%s' depends on itself; take it out",
						 name, v[i]->line, on);
			if (lookup(v, n, on) == n)
				return err_usage(err,
						 "%s:%u: '%s' depends on '%.80s', which is not in "
						 "the file; name a task that is",
						 name, v[i]->line, v[i]->id, on);
		}
	return 0;
}

enum visit { NOT_YET, ON_THE_WAY, OVER };

/* Depth-first search, at most as deep as there are tasks. Returns a task in a cycle, or n. */
static size_t visit(struct task *const *v, size_t n, size_t at, enum visit *seen)
{
	size_t circle = n;

	if (seen[at] != NOT_YET)
		return seen[at] == ON_THE_WAY ? at : n;
	seen[at] = ON_THE_WAY;
	for (size_t k = 0; circle == n && k < v[at]->depends.n; k++)
		circle = visit(v, n, lookup(v, n, v[at]->depends.v[k]), seen);
	seen[at] = OVER;
	return circle;
}

static int check_circles(struct task *const *v, size_t n, const char *name, struct err *err)
{
	cleanup_free enum visit *seen = xcalloc(n, sizeof(*seen));
	size_t circle = n;

	for (size_t i = 0; circle == n && i < n; i++)
		circle = visit(v, n, i, seen);
	if (circle == n)
		return 0;
	return err_usage(err,
			 "%s:%u: '%s' depends on itself by way of others; take one of the "
			 "dependencies out",
			 name, v[circle]->line, v[circle]->id);
}

int listing_check(const struct listing *l, const char *name, struct err *err)
{
	cleanup_free struct task **v = NULL;
	int r;

	if (l->n == 0)
		return err_usage(err, "%s: there is no task in it; write at least one", name);
	v = sorted(l);
	for (size_t i = 1; i < l->n; i++)
		if (streq(v[i - 1]->id, v[i]->id))
			return err_usage(err,
					 "%s:%u: the id '%.80s' is used at line %u already; give "
					 "each task an id of its own",
					 name, v[i]->line, v[i]->id, v[i - 1]->line);
	r = check_dependencies(v, l->n, name, err);
	if (r == 0)
		r = check_circles(v, l->n, name, err);
	for (size_t i = 0; r == 0 && i < l->n; i++)
		task_fingerprint(l->tasks[i]);
	return r;
}

void proposals_offence(struct proposals *p, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	if (p->n_offences++ >= PROPOSAL_OFFENCES_MAX)
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	strv_take(&p->offences, text_short(text, strlen(text), 300));
}

void proposals_done(struct proposals *p)
{
	free(p->notes);
	strv_done(&p->offences);
	strv_done(&p->moved);
	strv_done(&p->moved_to);
	*p = (struct proposals){0};
}
