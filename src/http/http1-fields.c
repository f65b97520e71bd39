#include "http/http1-fields.h"

#include <assert.h>
#include <endian.h>

/* The class of each byte, by one look into the table; obs-text is a value byte. */
enum { TOKEN = 1, VALUE = 2 };

/* clang-format off */
static const uint8_t bytes[256] = {
	['\t'] = 2, [' '] = 2, ['!'] = 3, ['"'] = 2, ['#' ... '\''] = 3, ['('] = 2, [')'] = 2,
	['*'] = 3, ['+'] = 3, [','] = 2, ['-'] = 3, ['.'] = 3, ['/'] = 2, ['0' ... '9'] = 3,
	[':' ... '@'] = 2, ['A' ... 'Z'] = 3, ['['] = 2, ['\\'] = 2, [']'] = 2, ['^' ... 'z'] = 3,
	['{'] = 2, ['|'] = 3, ['}'] = 2, ['~'] = 3, [0x80 ... 0xff] = 2,
};
/* clang-format on */

static const char *skip_class(const char *s, const char *end, uint8_t bit)
{
	while (s < end && bytes[(unsigned char)*s] & bit)
		s++;
	return s;
}

size_t http1_token_span(const char *p, const char *end)
{
	return (size_t)(skip_class(p, end, TOKEN) - p);
}

/*
 * Eight bytes at a time while none is below ' ' or DEL. The lowest mark is exact, because only a
 * marked byte can borrow from the one behind it.
 */
static size_t value_span(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
	const char *s = p;
	uint64_t w, del, marks;

	while (end - s >= 8) {
		memcpy(&w, s, 8);
		w = le64toh(w);
		del = w ^ ones * 0x7f;
		marks = (((w - ones * ' ') & ~w) | ((del - ones) & ~del)) & high;
		if (!marks) {
			s += 8;
			continue;
		}
		s += __builtin_ctzll(marks) / 8;
		if (*s != '\t')
			return (size_t)(s - p);
		s++;
	}
	return (size_t)(skip_class(s, end, VALUE) - p);
}

bool http1_is_token(const char *p, size_t n)
{
	return n > 0 && http1_token_span(p, p + n) == n;
}

bool http1_is_value(const char *p, size_t n)
{
	return n == 0 || value_span(p, p + n) == n;
}

/* The known fields, sorted by length so that most names are told apart without a comparison. */
static const struct {
	const char *name;
	enum http1_id id;
	bool hop; /* by its nature */
	int once; /* the reason to refuse a second one; 0: may be repeated */
} known[] = {
	/* clang-format off */
	{"te",                  HTTP1_F_TE,                  true,  0},
	{"host",                HTTP1_F_HOST,                false, HTTP1_HOST_TWICE},
	{"cookie",              HTTP1_F_COOKIE,              false, 0},
	{"expect",              HTTP1_F_EXPECT,              false, HTTP1_EXPECT},
	/* Leads to another port, or to HTTP/3, for which there is no way out. */
	{"alt-svc",             HTTP1_F_ALT_SVC,             true,  0},
	{"trailer",             HTTP1_F_TRAILER,             false, 0},
	{"upgrade",             HTTP1_F_UPGRADE,             true,  HTTP1_UPGRADE},
	{"connection",          HTTP1_F_CONNECTION,          true,  0},
	{"keep-alive",          HTTP1_F_KEEP_ALIVE,          true,  0},
	{"set-cookie",          HTTP1_F_SET_COOKIE,          false, 0},
	{"content-type",        HTTP1_F_CONTENT_TYPE,        false, 0},
	{"authorization",       HTTP1_F_AUTHORIZATION,       false, 0},
	{"content-length",      HTTP1_F_CONTENT_LENGTH,      false, HTTP1_LENGTH_TWICE},
	{"http2-settings",      HTTP1_F_HTTP2_SETTINGS,      true,  0},
	{"content-encoding",    HTTP1_F_CONTENT_ENCODING,    false, 0},
	{"proxy-connection",    HTTP1_F_PROXY_CONNECTION,    true,  0},
	{"transfer-encoding",   HTTP1_F_TRANSFER_ENCODING,   true,  HTTP1_CODING},
	{"proxy-authenticate",  HTTP1_F_PROXY_AUTHENTICATE,  true,  0},
	{"proxy-authorization", HTTP1_F_PROXY_AUTHORIZATION, true,  0},
	/* clang-format on */
};
static_assert(ARRAY_SIZE(known) == HTTP1_F_N - 1, "one row per known field");

/*
 * Both are tokens of n bytes, the known one in lower case. 0x20 folds letters and leaves '-' and
 * digits alone; the bytes it would wrongly fold onto those are control bytes, which no token has.
 */
static bool same_token(const char *p, const char *lower, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((p[i] | 0x20) != lower[i])
			return false;
	}
	return true;
}

/* For each length, the first row of known[] that has it, and one past the last. */
static const uint8_t known_at[][2] = {
	[2] = {0, 1},	 [4] = {1, 2},	  [6] = {2, 4},	   [7] = {4, 7},
	[10] = {7, 10},	 [12] = {10, 11}, [13] = {11, 12}, [14] = {12, 14},
	[16] = {14, 16}, [17] = {16, 17}, [18] = {17, 18}, [19] = {18, 19},
};

/* The row of known[], or -1. */
static int find_known(const char *p, size_t n)
{
	if (n >= ARRAY_SIZE(known_at))
		return -1;
	for (size_t i = known_at[n][0]; i < known_at[n][1]; i++) {
		if (same_token(p, known[i].name, n))
			return (int)i;
	}
	return -1;
}

enum http1_id http1_field_id(const char *p, size_t n)
{
	int row = find_known(p, n);

	return row < 0 ? HTTP1_F_OTHER : known[row].id;
}

/* CGI-like servers read '_' as '-': such a twin of a framing field is refused. */
static bool is_framing_twin(const char *p, size_t n)
{
	static const struct slice framing[] = {{"content-length", 14}, {"transfer-encoding", 17}};

	for (size_t i = 0; i < ARRAY_SIZE(framing); i++) {
		size_t k = 0;

		if (n != framing[i].n)
			continue;
		while (k < n && (ascii_lower(p[k]) == framing[i].p[k] ||
				 (p[k] == '_' && framing[i].p[k] == '-')))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static int add_options(struct http1_known *s, struct slice v)
{
	const char *p = v.p, *end = v.p + v.n;

	while (p < end) {
		size_t n;

		if (*p == ' ' || *p == '\t' || *p == ',') {
			p++;
			continue;
		}
		n = http1_token_span(p, end);
		if (n == 0 || s->n_options == HTTP1_CONNECTION_MAX)
			return -HTTP1_CONNECTION;
		s->options[s->n_options++] = (struct slice){p, n};
		p += n;
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (p < end && *p != ',')
			return -HTTP1_CONNECTION;
	}
	return 0;
}

/* Files one field away by what it is; a second one of those that stand alone is refused. */
static int note_field(struct http1_known *s, struct http1_field *f)
{
	int row = find_known(f->name.p, f->name.n);

	if (row < 0) {
		f->id = HTTP1_F_OTHER;
		f->hop = false;
		return is_framing_twin(f->name.p, f->name.n) ? -HTTP1_NAME : 0;
	}
	f->id = known[row].id;
	f->hop = known[row].hop;
	if (s->one[f->id] && known[row].once)
		return -known[row].once;
	s->one[f->id] = f;
	return f->id == HTTP1_F_CONNECTION ? add_options(s, f->value) : 0;
}

/*
 * Parses one line at p, which is known to end with an LF before `end`; returns its length, or
 * -reason.
 */
static ssize_t parse_field(const char *p, const char *end, struct http1_field *f)
{
	size_t name = http1_token_span(p, end), n;
	const char *v, *stop;

	if (name == 0)
		return *p == ' ' || *p == '\t' ? -HTTP1_FOLD : -HTTP1_NAME;
	if (p[name] != ':' || name > HTTP1_NAME_MAX)
		return -HTTP1_NAME;
	v = p + name + 1;
	while (*v == ' ' || *v == '\t')
		v++;
	n = value_span(v, end);
	stop = v + n;
	if (*stop != '\r')
		return -HTTP1_VALUE;
	if (stop[1] != '\n')
		return -HTTP1_BARE_CR;
	while (n && (v[n - 1] == ' ' || v[n - 1] == '\t'))
		n--;
	f->name = (struct slice){p, name};
	f->value = (struct slice){v, n};
	return stop + 2 - p;
}

/* From behind the start line to the empty line, where `end` stands. */
int http1_read_fields(const char *p, const char *end, struct http1_head *h, struct http1_known *s)
{
	h->n_fields = 0;
	while (p < end) {
		struct http1_field *f = &h->fields[h->n_fields];
		ssize_t n;
		int r;

		if (h->n_fields == HTTP1_FIELDS_MAX)
			return -HTTP1_FIELDS_MANY;
		n = parse_field(p, end, f);
		if (n < 0)
			return (int)n;
		r = note_field(s, f);
		if (r < 0)
			return r;
		h->n_fields++;
		p += n;
	}
	return 0;
}

static int parse_length(struct slice v, uint64_t *ret)
{
	uint64_t n = 0;

	if (v.n < 1 || v.n > 19) /* 19 digits stay below 2^64 */
		return -HTTP1_LENGTH_BAD;
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return -HTTP1_LENGTH_BAD;
		n = n * 10 + (uint64_t)(v.p[i] - '0');
	}
	/* A length that a peer with signed sizes takes for negative is refused too. */
	if (n > INT64_MAX)
		return -HTTP1_LENGTH_BAD;
	*ret = n;
	return 0;
}

int http1_read_framing(const struct http1_known *s, struct http1_head *h)
{
	const struct http1_field *length = s->one[HTTP1_F_CONTENT_LENGTH];
	const struct http1_field *coding = s->one[HTTP1_F_TRANSFER_ENCODING];
	int r;

	if (length && coding)
		return -HTTP1_LENGTH_AND_CODING;
	if (length) {
		r = parse_length(length->value, &h->length);
		if (r < 0)
			return r;
		h->has_length = true;
	}
	if (coding) {
		if (h->minor == 0)
			return -HTTP1_CODING_OLD;
		if (!slice_is(coding->value, "chunked"))
			return -HTTP1_CODING;
		h->chunked = true;
	}
	return 0;
}

/* Marks what one option names; a field that frames or routes may not be taken away like that. */
static int mark_named(struct http1_head *h, struct slice option)
{
	enum http1_id id = http1_field_id(option.p, option.n);

	if (id == HTTP1_F_HOST || id == HTTP1_F_CONTENT_LENGTH)
		return -HTTP1_CONNECTION;
	for (size_t i = 0; i < h->n_fields; i++) {
		if (slice_ieq(h->fields[i].name, option))
			h->fields[i].hop = true;
	}
	return 0;
}

int http1_read_connection(const struct http1_known *s, struct http1_head *h)
{
	bool closes = false, keeps = false, upgrades = false;

	for (size_t i = 0; i < s->n_options; i++) {
		struct slice o = s->options[i];
		int r;

		if (slice_is(o, "close")) {
			closes = true;
		} else if (slice_is(o, "keep-alive")) {
			keeps = true;
		} else if (slice_is(o, "upgrade")) {
			upgrades = true;
		} else {
			r = mark_named(h, o);
			if (r < 0)
				return r;
		}
	}
	h->keep_alive = !closes && (h->minor == 1 || keeps);
	if (upgrades && s->one[HTTP1_F_UPGRADE] && h->minor == 1) {
		h->upgrade = s->one[HTTP1_F_UPGRADE]->value;
		h->websocket = slice_is(h->upgrade, "websocket");
	}
	return 0;
}
