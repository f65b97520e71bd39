#include "gateway/parse/scrub.h"

#include "base/mem.h"

void scrub_init(struct scrub *s, struct needles *n)
{
	*s = (struct scrub){.needles = needles_ref(n)};
}

static void drop(char **p, size_t n)
{
	if (*p)
		explicit_bzero(*p, n);
	free(*p);
	*p = NULL;
}

void scrub_done(struct scrub *s)
{
	size_t n = s->needles ? needles_longest(s->needles) : 0;

	drop(&s->held, n);
	drop(&s->before, 2 * n);
	s->needles = needles_unref(s->needles);
}

/* Replaces what is found; where secrets overlap, all of them. How far the last one reaches. */
static size_t replace(struct scrub *s, char *p, size_t n)
{
	size_t done = 0, at = 0;

	for (;;) {
		size_t len, found = at + needles_find(s->needles, p + at, n - at, &len);
		size_t end = found + len;

		if (!len)
			return done;
		for (size_t i = found + 1; i < end; i++) {
			size_t more = needles_at(s->needles, p + i, n - i);

			if (i + more > end)
				end = i + more;
		}
		memset(p + found, '*', end - found);
		s->count++;
		done = at = end;
	}
}

void scrub_text(struct scrub *s, char *p, size_t n)
{
	if (s->needles && n)
		(void)replace(s, p, n);
}

/* Returns how many bytes at the end of p must wait; those before `done` are already replaced. */
static size_t wait_for(const struct scrub *s, const char *p, size_t n, size_t done)
{
	return needles_tail(s->needles, p + done, n - done);
}

static void hold(struct scrub *s, const char *p, size_t n)
{
	if (!n)
		return;
	if (!s->held)
		s->held = xmalloc(needles_longest(s->needles));
	memcpy(s->held, p, n);
	s->n_held = n;
}

/*
 * Joins the bytes that waited with the next piece, as far as a secret that began in them can reach.
 * Returns how many bytes of p are dealt with; ret_before gets the bytes that may be sent.
 */
static size_t join(struct scrub *s, char *p, size_t n, bool last, struct slice *ret_before)
{
	size_t longest = needles_longest(s->needles), old = s->n_held;
	size_t taken = n < longest ? n : longest, len = old + taken, done, keep;

	if (!s->before)
		s->before = xmalloc(2 * longest);
	memcpy(s->before, s->held, old);
	if (taken)
		memcpy(s->before + old, p, taken);
	done = replace(s, s->before, len);
	if (taken == n) {
		/* The joined bytes are all there is: only their end may have to wait. */
		keep = last ? 0 : wait_for(s, s->before, len, done);
		s->n_held = 0;
		hold(s, s->before + len - keep, keep);
		*ret_before = (struct slice){s->before, len - keep};
		return n;
	}
	/* The rest of p is searched in place, from behind the last secret that began before. */
	s->n_held = 0;
	done = done > old ? done - old : 0;
	*ret_before = (struct slice){s->before, old + done};
	return done;
}

size_t scrub_run(struct scrub *s, char *p, size_t n, bool last, struct slice *ret_before)
{
	size_t from = 0, done, keep;

	*ret_before = (struct slice){0};
	if (!s->needles || (!n && !s->n_held))
		return n;
	if (s->n_held) {
		from = join(s, p, n, last, ret_before);
		if (from == n)
			return 0;
		/* The joined bytes left with `before`: the caller sends from p. */
		if (from)
			memmove(p, p + from, n - from);
		n -= from;
	}
	done = replace(s, p, n);
	keep = last ? 0 : wait_for(s, p, n, done);
	hold(s, p + n - keep, keep);
	return n - keep;
}
