#include "gateway/parse/scrub.h"

#define HELD_MAX (2 * (size_t)SPELLED_MAX)

void scrub_init(struct scrub *s, struct needles *n)
{
	*s = (struct scrub){.needles = needles_ref(n)};
	buf_init(&s->held, HELD_MAX);
	buf_init(&s->before, HELD_MAX + SPELLED_MAX); /* see let_go() */
}

void scrub_renew(struct scrub *s, struct needles *n)
{
	(void)needles_unref(s->needles);
	s->needles = needles_ref(n);
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_done(b);
}

void scrub_done(struct scrub *s)
{
	wipe(&s->held);
	wipe(&s->before);
	s->needles = needles_unref(s->needles);
}

/* Line breaks stay, and the backslashes of an escape whose rest is behind the stretch. */
static void star_stretch(char *p, size_t n)
{
	while (n && p[n - 1] == '\\')
		n--;
	for (size_t i = 0; i < n; i++)
		if (p[i] != '\n' && p[i] != '\r')
			p[i] = '*';
}

/* Replaces what is found in a stretch, or in as much of a long one as is here. */
static void search(struct scrub *s, char *p, size_t n)
{
	size_t len, at = 0;

	if (n < needles_shape(s->needles)->least)
		return;
	for (;;) {
		at += needles_plain(s->needles, p + at, n - at, &len);
		if (!len)
			break;
		memset(p + at, '*', len);
		at += len;
		s->count++;
	}
	if (!needles_spelled(s->needles, p, n))
		return;
	star_stretch(p, n);
	s->count++;
}

static void search_stretches(struct scrub *s, char *p, size_t n)
{
	struct stretch r = {0};

	while (stretch_next(needles_shape(s->needles), p, n, r.end, &r))
		search(s, p + r.at, r.end - r.at);
}

void scrub_text(struct scrub *s, char *p, size_t n)
{
	while (s->needles && n) {
		const char *lf = memchr(p, '\n', n);
		size_t line = lf ? (size_t)(lf - p) + 1 : n;

		search_stretches(s, p, line);
		p += line;
		n -= line;
	}
}

/*
 * Holds the end of an open stretch, of which `len` bytes are at p: all of it, or what must wait of a
 * full one. Returns how many bytes.
 */
static size_t hold(struct scrub *s, char *p, size_t len, bool full, size_t line)
{
	size_t keep = full ? SPELLED_MAX : len;

	if (full)
		search(s, p, len);
	buf_clear(&s->held);
	(void)buf_append(&s->held, p + len - keep, keep);
	s->line = line;
	return keep;
}

/* Makes one text of the bytes that waited and the first `taken` of p, which go on with them. */
static void join(struct scrub *s, const char *p, size_t taken)
{
	buf_clear(&s->before);
	(void)buf_append(&s->before, s->held.data, s->held.len);
	if (taken)
		(void)buf_append(&s->before, p, taken);
	buf_clear(&s->held);
}

/*
 * Searches the bytes that waited with as many of p as a spelling that begins in them can reach, and
 * lets them go: the rest of the stretch is searched where it is.
 */
static void let_go(struct scrub *s, char *p, struct slice *ret_before)
{
	size_t old = s->held.len;

	join(s, p, SPELLED_MAX);
	search(s, s->before.data, s->before.len);
	memcpy(p, s->before.data + old, SPELLED_MAX);
	*ret_before = (struct slice){s->before.data, old};
}

/*
 * Goes on with the stretch that is open; *ret is the part of it in p. Returns how many bytes of p
 * are dealt with: all of that part, or none where it is too long to be joined.
 */
static size_t go_on(struct scrub *s, char *p, size_t n, bool over, struct stretch *ret,
		    struct slice *ret_before)
{
	size_t more = stretch_more(needles_shape(s->needles), p, n, &s->line), keep = 0;
	bool full = s->held.len + more >= HELD_MAX;

	*ret = (struct stretch){.end = more, .line = s->line};
	if (full && more > SPELLED_MAX) {
		let_go(s, p, ret_before);
		return 0;
	}
	join(s, p, more);
	if (over || more < n)
		search(s, s->before.data, s->before.len);
	else
		keep = hold(s, s->before.data, s->before.len, full, s->line);
	*ret_before = (struct slice){s->before.data, s->before.len - keep};
	return more;
}

void scrub_run(struct scrub *s, char *p, size_t n, bool over, struct slice *ret_before,
	       struct slice *ret_after)
{
	size_t from = 0, keep = 0;
	struct stretch r = {0};
	bool goes_on;

	*ret_before = (struct slice){0};
	if (s->needles && s->held.len)
		from = go_on(s, p, n, over, &r, ret_before);
	goes_on = from < r.end;
	while (s->needles && keep == 0 &&
	       (goes_on || stretch_next(needles_shape(s->needles), p, n, r.end, &r))) {
		size_t len = r.end - r.at;

		if (r.end < n || over)
			search(s, p + r.at, len);
		else
			keep = hold(s, p + r.at, len, goes_on || len >= HELD_MAX, r.line);
		goes_on = false;
	}
	*ret_after = (struct slice){n ? p + from : NULL, n - from - keep};
}
