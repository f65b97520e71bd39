#include "transcript/text-filter.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/mask.h"

#define WINDOW (64 * KiB)
#define HOLD_MAX (4 * KiB)     /* a longer word is not a key */
#define FRAME_MAX 64	       /* "-----BEGIN ENCRYPTED PRIVATE KEY-----" */
#define PRIVATE_MAX (16 * KiB) /* of a private key, with its frame */
#define LINE_MIN 20	       /* of a private key without an end */
#define UNKNOWN_MAX 32	       /* a longer beginning of a key is seen to be one */

static const char removed[] = "[secret removed]";
static_assert(sizeof(removed) <= 3 * KNOWN_SHORTEST, "TR_FILTERED() holds");
static const char begin_mark[] = "-----BEGIN ", end_mark[] = "-----END ";

void tr_filter_init(struct tr_filter *f, const struct known *known)
{
	*f = (struct tr_filter){.known = known};
	buf_init(&f->b, TR_FILTERED(WINDOW));
}

void tr_filter_done(struct tr_filter *f)
{
	buf_done(&f->b);
}

static void out(struct tr_filter *f, const char *p, size_t n)
{
	if (n)
		f->to(f->arg, p, n);
}

static void take_out(struct tr_filter *f)
{
	f->removed++;
	out(f, removed, sizeof(removed) - 1);
}

/* The text may be JSON inside of JSON, where "\n" and "\u000a" are two letters or six and end a
 * word as a line feed does. */
static size_t escape_len(const char *p, size_t n)
{
	size_t i = 2;

	if (n < 2 || p[0] != '\\')
		return 0;
	if (strchr("nrtbf", p[1]))
		return 2;
	while (p[1] == 'u' && i < n && i < 6 && isxdigit((unsigned char)p[i]))
		i++;
	return i == 6 ? 6 : 0;
}

static size_t gap_len(const char *p, size_t n)
{
	size_t i = 0;

	for (;;) {
		size_t gap = mask_gap_len(p + i, n - i), escape;

		i += gap;
		escape = gap ? escape_len(p + i - 1, n - i + 1) : 0;
		if (!escape)
			return i;
		i += escape - 1;
	}
}

static bool is_private_key(const char *p, size_t n)
{
	return n > sizeof(begin_mark) && memcmp(p, begin_mark, sizeof(begin_mark) - 1) == 0 &&
	       memmem(p, n < FRAME_MAX ? n : FRAME_MAX, "PRIVATE KEY", 11);
}

/* The length of the line "-----BEGIN … KEY-----" or "-----END … KEY-----". */
static size_t frame_len(const char *p, size_t n)
{
	const char *close = memmem(p + 5, (n < FRAME_MAX ? n : FRAME_MAX) - 5, "-----", 5);

	/* The text may end behind "-----END ", which is shorter than "-----BEGIN ". */
	return close ? (size_t)(close - p) + 5 : sizeof(end_mark) - 1;
}

/* Without an end nobody knows how far it goes: only lines of it are taken out. */
static size_t lines_len(const char *p, size_t n)
{
	size_t i = frame_len(p, n);

	for (;;) {
		size_t gap = gap_len(p + i, n - i), word = mask_word_len(p + i + gap, n - i - gap);

		if (word < LINE_MIN || i + gap + word > PRIVATE_MAX)
			return i;
		i += gap + word;
	}
}

/* Prose between the frames is no key: an agent must not hide what it says. */
static bool is_prose(const char *p, size_t n)
{
	size_t words = 0;

	for (size_t i = 1; i + 1 < n; i++)
		words += p[i] == ' ' && p[i - 1] != ' ' && p[i + 1] != ' ';
	return words * LINE_MIN > n + 200;
}

static size_t private_key_len(const char *p, size_t n)
{
	size_t window = n < PRIVATE_MAX ? n : PRIVATE_MAX;
	const char *end = memmem(p, window, end_mark, sizeof(end_mark) - 1);
	size_t len = end ? (size_t)(end - p) : 0;

	return end && !is_prose(p, len) ? len + frame_len(end, n - len) : lines_len(p, n);
}

static bool is_secret(const struct tr_filter *f, const char *p, size_t n)
{
	return mask_is_key_word(p, n) || (f->known && known_in_word(f->known, p, n));
}

/* Passes on what is no secret; `all`: nothing follows. Returns the number of bytes handled: what is
 * at the end may continue. */
static size_t pass(struct tr_filter *f, const char *p, size_t n, bool all)
{
	size_t hold = f->known ? f->known->longest_text : 0, from = 0, i = 0;

	while ((i += gap_len(p + i, n - i)) < n) {
		bool key = is_private_key(p + i, n - i);
		size_t len = mask_word_len(p + i, n - i);

		if (!all && (p[i] == '-' || key) && n - i < PRIVATE_MAX)
			break;
		if (!all && len < HOLD_MAX && i + len + hold >= n)
			break;
		if (key)
			len = private_key_len(p + i, n - i);
		if (key || is_secret(f, p + i, len)) {
			out(f, p + from, i - from);
			take_out(f);
			from = i + len;
		}
		i += len;
	}
	i = i < n ? i : n;
	out(f, p + from, i - from);
	return i;
}

/* Writes the text in f->b anew, without the i-th value; its first place is known. */
static void take_out_text(struct tr_filter *f, size_t i, size_t at)
{
	const char *p = f->b.data;
	size_t n = f->b.len, len = f->known->v[i].len;
	struct buf b;

	buf_init(&b, f->b.max);
	for (; at < n; at = known_find(f->known, i, p, n)) {
		(void)buf_append(&b, p, at);
		(void)buf_append(&b, removed, sizeof(removed) - 1);
		f->removed++;
		p += at + len;
		n -= at + len;
	}
	(void)buf_append(&b, p, n);
	buf_done(&f->b);
	f->b = b;
}

/* Values that are no words, in what is still to be passed on. */
static void take_out_texts(struct tr_filter *f)
{
	for (size_t i = 0; f->known && f->known->longest_text && i < f->known->n; i++) {
		size_t at = f->known->v[i].is_word ? f->b.len
						   : known_find(f->known, i, f->b.data, f->b.len);

		if (at < f->b.len)
			take_out_text(f, i, at);
	}
}

static void flush(struct tr_filter *f, bool all)
{
	if (f->b.len == 0)
		return;
	take_out_texts(f);
	buf_consume(&f->b, pass(f, f->b.data, f->b.len, all));
}

void tr_filter_begin(struct tr_filter *f, tr_piece_fn *to, void *arg)
{
	f->to = to;
	f->arg = arg;
}

void tr_filter_put(void *filter, const char *p, size_t n)
{
	struct tr_filter *f = filter;

	while (n) {
		size_t part = n < WINDOW / 2 ? n : WINDOW / 2;

		if (f->b.len + part > WINDOW)
			flush(f, false);
		if (f->b.len + part > WINDOW)
			flush(f, true);
		(void)buf_append(&f->b, p, part);
		p += part;
		n -= part;
	}
}

void tr_filter_end(struct tr_filter *f)
{
	flush(f, true);
}

static void append(void *arg, const char *p, size_t n)
{
	(void)buf_append(arg, p, n);
}

char *tr_filter_string(struct tr_filter *f, const char *s)
{
	struct buf b;

	buf_init(&b, TR_FILTERED(strlen(s)) + 1);
	tr_filter_begin(f, append, &b);
	tr_filter_put(f, s, strlen(s));
	tr_filter_end(f);
	return buf_take(&b);
}

size_t tr_filter_tail(const struct tr_filter *f, const char *p, size_t n)
{
	size_t longest = f->known ? f->known->longest_text : 0, len = 0;

	while (len < n && mask_word_len(p + n - len - 1, 1))
		len++;
	/* A longer word is seen to be a key, or not, whatever follows it. */
	if (len >= UNKNOWN_MAX && (!f->known || !f->known->n || len >= KNOWN_LONGEST))
		len = 0;
	len = len > longest ? len : longest;
	return len < n ? len : n;
}
