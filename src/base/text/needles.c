#include "base/text/needles.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/spelling.h"

#define WORDS (NEEDLE_CORE / sizeof(uint64_t))
#define SPELLINGS 2 /* one over the other */
#define BLOCK (4 * (size_t)SPELLED_MAX)
#define TURN 64 /* places that are compared before the result is looked at */

static_assert((int)STRETCH_LINE >= NEEDLE_CORE, "a wrapped line is long enough to be found");

/* The core of one text, as words that overlap where it is shorter than NEEDLE_CORE. */
struct needle {
	size_t n;    /* length of the text */
	size_t core; /* and of its core */
	size_t at[WORDS];
	uint64_t word[WORDS];
};

struct needles {
	unsigned int refs;
	struct stretch_shape shape;
	size_t n;
	struct needle list[];
};

static uint64_t word_at(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Control characters are in no stretch: of a text in lines, the longest one stands for it. */
static const char *longest_line(const char *text, size_t *ret_n)
{
	const char *best = text;

	for (*ret_n = 0; *text; text++) {
		size_t n = 0;

		while ((unsigned char)text[n] >= ' ' && text[n] != 0x7f)
			n++;
		if (n > *ret_n) {
			best = text;
			*ret_n = n;
		}
		text += n;
		if (!*text)
			break;
	}
	return best;
}

static void add(struct needles *s, const char *text)
{
	struct needle *d = &s->list[s->n];

	text = longest_line(text, &d->n);
	if (d->n < NEEDLE_MIN)
		return;
	d->core = d->n < NEEDLE_CORE ? d->n : NEEDLE_CORE;
	for (size_t i = 0; i < WORDS; i++) {
		size_t at = i * sizeof(uint64_t), most = d->core - sizeof(uint64_t);

		d->at[i] = at < most ? at : most;
		d->word[i] = word_at(text + d->n - d->core + d->at[i]);
	}
	if (!stretch_is_token(text, d->n))
		s->shape.wide = true;
	if (d->core < s->shape.least)
		s->shape.least = d->core;
	s->n++;
}

struct needles *needles_new(const char *const *texts, size_t n)
{
	struct needles *s = xcalloc(1, sizeof(*s) + n * sizeof(s->list[0]));

	s->refs = 1;
	s->shape.least = NEEDLE_CORE;
	for (size_t i = 0; i < n; i++)
		add(s, texts[i]);
	return s->n ? s : needles_unref(s);
}

struct needles *needles_ref(struct needles *s)
{
	if (s)
		s->refs++;
	return s;
}

struct needles *needles_unref(struct needles *s)
{
	if (!s || --s->refs)
		return NULL;
	explicit_bzero(s->list, s->n * sizeof(s->list[0]));
	free(s);
	return NULL;
}

const struct stretch_shape *needles_shape(const struct needles *s)
{
	return &s->shape;
}

/* All words are compared, whichever differs. */
static bool stands_at(const struct needle *d, const char *p)
{
	uint64_t diff = 0;

	for (size_t i = 0; i < WORDS; i++)
		diff |= word_at(p + d->at[i]) ^ d->word[i];
	return diff == 0;
}

/* The place of the core in p, or n. */
static size_t core_in(const struct needle *d, const char *p, size_t n)
{
	size_t places = n < d->core ? 0 : n - d->core + 1;

	for (size_t i = 0; i < places;) {
		size_t turn = i + TURN < places ? i + TURN : places, at = i;
		unsigned int hit = 0;

		for (; i < turn; i++)
			hit |= stands_at(d, p + i);
		while (hit && !stands_at(d, p + at))
			at++;
		if (hit)
			return at;
	}
	return n;
}

/* Widens [*from, *to) to the whole text whose core ends at `end`. */
static void take_in(const struct needle *d, size_t end, size_t *from, size_t *to)
{
	size_t begin = end > d->n ? end - d->n : 0;

	*from = begin < *from ? begin : *from;
	*to = end > *to ? end : *to;
}

/* The first place of any core, or n. Not one text after the other: a text that is full of one would
 * be gone through for the others each time. */
static size_t first_core(const struct needles *s, const char *p, size_t n)
{
	size_t at = n;

	for (size_t i = 0; i < n && at == n; i += TURN)
		for (size_t k = 0; k < s->n; k++) {
			size_t end = TURN + s->list[k].core - 1;
			size_t part = n - i < end ? n - i : end;
			size_t found = core_in(&s->list[k], p + i, part);

			if (found < part && i + found < at)
				at = i + found;
		}
	return at;
}

size_t needles_plain(const struct needles *s, const char *p, size_t n, size_t *ret_len)
{
	size_t at = first_core(s, p, n), from = n, to = 0;

	for (size_t place = at; place < n && (place == at || place < to); place++)
		for (size_t i = 0; i < s->n; i++)
			if (n - place >= s->list[i].core && stands_at(&s->list[i], p + place))
				take_in(&s->list[i], place + s->list[i].core, &from, &to);
	*ret_len = at < n ? to - from : 0;
	return from;
}

static bool look(const struct needles *s, const char *p, size_t n, unsigned int depth);

static bool in_base64(const struct needles *s, const char *p, size_t n, unsigned int depth)
{
	size_t least = s->shape.least * 4 / 3; /* digits that the shortest one needs */
	char out[BLOCK];

	for (size_t at = 0; at + least <= n; at++) {
		size_t span = spelling_base64_span(p + at, n - at);

		for (size_t skip = 0; skip < 4 && span >= least; skip++)
			if (look(s, out, spelling_base64(p + at, span, skip, out), depth))
				return true;
		at += span;
	}
	return false;
}

static bool in_hex(const struct needles *s, const char *p, size_t n, unsigned int depth)
{
	size_t least = s->shape.least * 2;
	char out[BLOCK];

	for (size_t at = 0; at + least <= n; at++) {
		size_t span = spelling_hex_span(p + at, n - at);

		for (size_t skip = 0; skip < 2 && span >= least; skip++)
			if (look(s, out, spelling_hex(p + at, span, skip, out), depth))
				return true;
		at += span;
	}
	return false;
}

static bool in_escapes(const struct needles *s, const char *p, size_t n, unsigned int depth)
{
	static const char escapes[] = {'%', '\\', '&'};
	char out[BLOCK];

	for (size_t i = 0; i < sizeof(escapes); i++)
		if (memchr(p, escapes[i], n) &&
		    look(s, out, spelling_unescape(p, n, escapes[i], out), depth))
			return true;
	return false;
}

static bool needs_squeeze(const char *p, size_t n)
{
	return memchr(p, '\0', n) || memchr(p, '\n', n) || memchr(p, '\r', n);
}

static bool look_at_stretch(const struct needles *s, const char *p, size_t n, unsigned int depth)
{
	char text[BLOCK];
	bool other = depth < SPELLINGS; /* not as it is in the stream, which was searched before */

	if (needs_squeeze(p, n)) {
		n = spelling_squeeze(p, n, text);
		p = text;
		other = true;
	}
	for (size_t i = 0; i < s->n && other; i++)
		if (core_in(&s->list[i], p, n) < n)
			return true;
	return n && depth &&
	       (in_base64(s, p, n, depth - 1) || in_hex(s, p, n, depth - 1) ||
		in_escapes(s, p, n, depth - 1));
}

/* At most BLOCK bytes. Bytes that are no spelling make no stretches, which ends the search in them. */
static bool look(const struct needles *s, const char *p, size_t n, unsigned int depth)
{
	struct stretch r = {0};

	while (stretch_next(&s->shape, p, n, r.end, &r))
		if (r.end - r.at >= s->shape.least &&
		    look_at_stretch(s, p + r.at, r.end - r.at, depth))
			return true;
	return false;
}

bool needles_spelled(const struct needles *s, const char *p, size_t n)
{
	for (; n > BLOCK; p += BLOCK - SPELLED_MAX, n -= BLOCK - SPELLED_MAX)
		if (look_at_stretch(s, p, BLOCK, SPELLINGS))
			return true;
	return n >= s->shape.least && look_at_stretch(s, p, n, SPELLINGS);
}

size_t needles_find(const struct needles *s, const char *p, size_t n, size_t *ret_len)
{
	struct stretch r = {0};

	while (stretch_next(&s->shape, p, n, r.end, &r)) {
		size_t len = r.end - r.at, plain = needles_plain(s, p + r.at, len, ret_len);

		if (plain < len && !needles_spelled(s, p + r.at, plain))
			return r.at + plain;
		*ret_len = plain;
		if (plain < len || needles_spelled(s, p + r.at, len))
			return r.at;
	}
	*ret_len = 0;
	return n;
}
