#include "policy/request.h"

#include "policy/git.h"

#include <ctype.h>
#include <string.h>

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte an escape at p[0] == '%' stands for, or -1. */
static int escaped(const char *p, size_t n)
{
	int hi, lo;

	if (n < 3)
		return -1;
	hi = hex_value(p[1]);
	lo = hex_value(p[2]);
	return hi < 0 || lo < 0 ? -1 : hi << 4 | lo;
}

static bool is_unreserved(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

/*
 * Characters that become a dot, a slash, a backslash or a percent sign, alone or among others, where
 * a server folds them (NFKC, or the nearest character of an older set).
 */
static bool folds_to_separator(uint32_t c)
{
	static const uint32_t chars[] = {
		0x2024, 0x2025, 0x2026, 0x2044, 0x2100, 0x2101, 0x2105, 0x2106,
		0x2215, 0x2216, 0x29f5, 0x29f8, 0x29f9, 0xfe19, 0xfe30, 0xfe52,
		0xfe68, 0xfe6a, 0xff05, 0xff0e, 0xff0f, 0xff3c, 0xff61, 0x3002,
	};

	for (size_t i = 0; i < ARRAY_SIZE(chars); i++)
		if (chars[i] == c)
			return true;
	return c >= 0x2488 && c <= 0x249b; /* numbers with a full stop */
}

/* The escapes at p as one character of UTF-8 in its shortest form: how many they are, or 0. */
static size_t escaped_utf8(const char *p, size_t n, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	int lead = escaped(p, n);
	size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
	uint32_t c = (uint32_t)lead & (0x3fu >> more);

	if (more == 0 || lead > 0xf4)
		return 0;
	for (size_t i = 1; i <= more; i++) {
		int next = 3 * i < n && p[3 * i] == '%' ? escaped(p + 3 * i, n - 3 * i) : -1;

		if (next < 0x80 || next > 0xbf)
			return 0;
		c = c << 6 | ((uint32_t)next & 0x3f);
	}
	*ret = c;
	return c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : more + 1;
}

/* Is what begins at p a byte of ASCII, or a whole character that is no separator in disguise? */
static bool is_plain_character(const char *p, size_t n, size_t *ret_escapes)
{
	uint32_t c;

	*ret_escapes = 1;
	if (escaped(p, n) < 0x80)
		return true;
	*ret_escapes = escaped_utf8(p, n, &c);
	return *ret_escapes && !folds_to_separator(c);
}

static int canon_escape(const char *p, size_t n, struct buf *ret)
{
	static const char digits[] = "0123456789ABCDEF";
	int c = escaped(p, n);
	char out[3];

	if (c < 0x20 || c == 0x7f || c == '\\')
		return -EINVAL;
	if (is_unreserved(c))
		return buf_putc(ret, (char)c);
	out[0] = '%';
	out[1] = digits[c >> 4];
	out[2] = digits[c & 15];
	return buf_append(ret, out, sizeof(out));
}

static int canon_path(const char *p, size_t n, struct buf *ret)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c == '%') {
			size_t escapes;

			if (!is_plain_character(p + i, n - i, &escapes))
				return -EINVAL;
			for (; escapes && r == 0; escapes--, i += 3)
				r = canon_escape(p + i, n - i, ret);
			i--;
		} else if (c <= 0x20 || c >= 0x7f || strchr("\\\"<>^`{|}#", c)) {
			r = -EINVAL;
		} else {
			r = buf_putc(ret, (char)c);
		}
	}
	return r;
}

static bool is_slash(const char *p, size_t n)
{
	return p[0] == '/' || (n >= 3 && memcmp(p, "%2F", 3) == 0);
}

/* "." and "..", alone or before a ';', where parameters may begin. */
static bool is_dots(const char *p, size_t n)
{
	const char *semi = memchr(p, ';', n);

	if (semi)
		n = (size_t)(semi - p);
	return (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.');
}

/* "%25" and two hex digits: what would stand there if a server decoded once more? A separator, a
 * dot, or a part of a character that could be one must not hide so. Asked of the canonical path, where no digit is itself escaped. */
static bool hides_separator(const char *p, size_t n)
{
	for (size_t i = 0; i + 5 <= n; i++) {
		int hi = hex_value(p[i + 3]), lo = hex_value(p[i + 4]), c;

		if (memcmp(p + i, "%25", 3) != 0 || hi < 0 || lo < 0)
			continue;
		c = hi << 4 | lo;
		if (c == '.' || c == '/' || c == '\\' || c == '%' || c < 0x20 || c >= 0x80)
			return true;
	}
	return false;
}

/* Leaves "." segments out: all servers read "/a/./b" as "/a/b", and "/a/." as "/a/". */
static void drop_dots(struct buf *b, size_t start)
{
	const char *p = b->data;
	size_t to = start;

	for (size_t i = start; i < b->len; i++) {
		bool dot = p[i] == '/' && i + 1 < b->len && p[i + 1] == '.' &&
			   (i + 2 == b->len || p[i + 2] == '/');

		if (!dot || i + 2 == b->len)
			b->data[to++] = p[i];
		i += dot;
	}
	b->len = to;
	b->data[to] = '\0';
}

/* Segments of a canonical path, with %2F taken for a slash: none empty but the last, no dots. */
static bool segments_are_plain(const char *p, size_t n)
{
	size_t start = 1;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && !is_slash(p + i, n - i))
			continue;
		if ((i < n && i == start) || is_dots(p + start, i - start))
			return false;
		start = i < n && p[i] == '%' ? i + 3 : i + 1;
		i = start - 1;
	}
	return true;
}

static bool query_is_plain(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] <= 0x20 || (unsigned char)p[i] >= 0x7f || p[i] == '#')
			return false;
	return true;
}

int request_canon(const char *target, size_t n, struct buf *ret, size_t *ret_path_n)
{
	const char *query = memchr(target, '?', n);
	size_t path_n = query ? (size_t)(query - target) : n, start = ret->len;
	int r;

	if (n == 0 || target[0] != '/')
		return -EINVAL;
	r = canon_path(target, path_n, ret);
	if (r < 0)
		return r;
	drop_dots(ret, start);
	if (!segments_are_plain(ret->data + start, ret->len - start) ||
	    hides_separator(ret->data + start, ret->len - start))
		return -EINVAL;
	*ret_path_n = ret->len - start;
	if (!query)
		return 0;
	if (!query_is_plain(query, n - path_n))
		return -EINVAL;
	return buf_append(ret, query, n - path_n);
}

static bool path_under(const char *path, size_t n, const char *prefix)
{
	size_t prefix_n = strlen(prefix);

	if (prefix_n == 0 || n < prefix_n || memcmp(path, prefix, prefix_n) != 0)
		return false;
	return n == prefix_n || prefix[prefix_n - 1] == '/' || path[prefix_n] == '/';
}

/* The path as a server may read it that is less strict: %2F is a slash, parameters of a segment do
 * not count, nor do capitals. */
static int loosen(const char *path, size_t n, struct buf *ret)
{
	bool parameter = false;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		bool slash = is_slash(path + i, n - i);

		parameter = !slash && (parameter || path[i] == ';');
		if (slash && path[i] == '%')
			i += 2;
		if (!parameter)
			r = buf_putc(ret, slash ? '/' : (char)tolower((unsigned char)path[i]));
	}
	return r;
}

static bool method_allowed(const struct policy_rule *r, const char *method)
{
	if (streq(method, "CONNECT"))
		return false;
	return r->text.methods.n == 0 || strv_has(&r->text.methods, method) ||
	       (streq(method, "HEAD") && strv_has(&r->text.methods, "GET"));
}

/* The rules that decide together with the verdict's own: equals of it that inspect as well. */
static bool is_peer(const struct policy *p, const struct verdict *v, size_t i, const struct host *h,
		    uint16_t port)
{
	const struct policy_rule *r = &p->rules[i], *own = policy_rule_of(p, v);

	return own && !r->text.deny && r->inspects && pattern_has_host(&r->pattern, h) &&
	       pattern_has_port(&r->pattern, port) &&
	       pattern_specificity(&r->pattern) == pattern_specificity(&own->pattern);
}

struct asked {
	const char *method;
	const char *target; /* canonical */
	size_t path_n, n;
	bool is_git;
	bool loosely; /* as request_loosen() made it: capitals do not count */
};

static bool covers(const char *prefix, const struct asked *a)
{
	cleanup_buf struct buf loose;

	buf_init(&loose, REQUEST_TARGET_MAX);
	if (!a->loosely)
		return path_under(a->target, a->path_n, prefix);
	return loosen(prefix, strlen(prefix), &loose) == 0 &&
	       path_under(a->target, a->path_n, buf_str(&loose));
}

/* The length of the longest of the rule's prefixes that covers the path; 0 without prefixes. */
static bool path_allowed(const struct policy_rule *r, const struct asked *a, size_t *ret_len)
{
	const struct strv *paths = &r->text.paths;
	size_t longest = 0;

	for (size_t i = 0; i < paths->n; i++)
		if (covers(paths->v[i], a) && strlen(paths->v[i]) > longest)
			longest = strlen(paths->v[i]);
	*ret_len = longest;
	return longest || paths->n == 0;
}

/*
 * How narrowly the rule describes the request, for the choice between several: by its repository or
 * its path first, then by its method. 0: the rule does not allow it, for the reason in *ret_why.
 */
static size_t rule_fit(const struct policy_rule *r, const struct asked *a,
		       enum policy_reason *ret_why)
{
	size_t len = 0;

	if (a->is_git) {
		*ret_why = POLICY_DENY_GIT;
		return git_fit(&r->text.git, a->method, a->target, a->path_n, a->n);
	}
	*ret_why = POLICY_DENY_GIT;
	if (r->text.git.n > 0 && r->text.methods.n == 0 && r->text.paths.n == 0)
		return 0;
	*ret_why = POLICY_DENY_METHOD;
	if (!method_allowed(r, a->method))
		return 0;
	*ret_why = POLICY_DENY_PATH;
	if (!path_allowed(r, a, &len))
		return 0;
	return 1 + 2 * len + (r->text.methods.n > 0);
}

static void deny(struct verdict *v, enum policy_reason reason)
{
	v->allow = false;
	v->reason = reason;
}

/* Of two rules that fit as well as each other: true when the second one is to be used. */
static bool prefers(const struct policy_rule *a, const struct policy_rule *b, bool *torn)
{
	const char *x = a->text.credential, *y = b->text.credential;

	if (x && y && !streq(x, y))
		*torn = true;
	return !x && y;
}

/* The verdict's rule becomes the one that describes the request most narrowly. */
static void judge(const struct policy *p, const struct host *h, uint16_t port,
		  const struct asked *a, struct verdict *v)
{
	enum policy_reason why = POLICY_DENY_PATH;
	const struct verdict name = *v;
	bool torn = false;
	size_t best = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		enum policy_reason refused;
		size_t fit;

		if (!is_peer(p, &name, i, h, port))
			continue;
		fit = rule_fit(&p->rules[i], a, &refused);
		if (fit == 0)
			why = refused;
		if (fit == 0 || fit < best)
			continue;
		if (fit > best)
			torn = false;
		else if (!prefers(&p->rules[v->rule], &p->rules[i], &torn))
			continue;
		best = fit;
		v->rule = (int)i;
	}
	if (best == 0)
		deny(v, why);
	else if (torn)
		deny(v, POLICY_DENY_CREDENTIALS);
}

static bool same_credential(const struct policy_rule *a, const struct policy_rule *b)
{
	const char *x = a->text.credential, *y = b->text.credential;

	return x == y || (x && y && streq(x, y));
}

/* Would a server that reads the path less strictly take the request for one of another credential? */
static bool is_two_faced(const struct policy *p, const struct host *h, uint16_t port,
			 const struct asked *a, const struct verdict *name,
			 const struct verdict *out)
{
	struct asked other = *a;
	struct verdict v = *name;
	cleanup_buf struct buf b;

	buf_init(&b, REQUEST_TARGET_MAX);
	if (loosen(a->target, a->path_n, &b) < 0)
		return true;
	other.target = buf_str(&b);
	other.path_n = other.n = b.len;
	other.loosely = true;
	judge(p, h, port, &other, &v);
	return v.allow ? !same_credential(&p->rules[v.rule], &p->rules[out->rule])
		       : v.reason == POLICY_DENY_CREDENTIALS;
}

void policy_request(const struct policy *p, const struct verdict *v, const struct host *h,
		    uint16_t port, const char *method, const char *target, size_t target_n,
		    struct buf *ret_target, struct verdict *ret)
{
	bool by_path = false, by_git = false, mixed = false;
	const struct policy_rule *own = policy_rule_of(p, v);
	struct asked a = {.method = method};
	struct verdict out = *v;
	int r = 0;

	buf_clear(ret_target);
	for (size_t i = 0; i < p->n_rules; i++) {
		if (!is_peer(p, v, i, h, port))
			continue;
		by_git |= p->rules[i].text.git.n > 0;
		by_path |= p->rules[i].text.paths.n > 0;
		mixed |= own && !same_credential(own, &p->rules[i]);
	}
	if (!v->allow) {
		*ret = out;
		return;
	}
	if (by_path || by_git) {
		r = request_canon(target, target_n, ret_target, &a.path_n);
		a.target = ret_target->data;
		a.n = ret_target->len;
		a.is_git = r == 0 && by_git && git_is_request(a.target, a.path_n, a.n);
	} else {
		/* Methods alone: the target is neither judged nor changed. */
		r = buf_append(ret_target, target, target_n);
	}
	if (r < 0)
		deny(&out, POLICY_DENY_AMBIGUOUS);
	else
		judge(p, h, port, &a, &out);
	if (out.allow && by_path && mixed && !a.is_git && is_two_faced(p, h, port, &a, v, &out))
		deny(&out, POLICY_DENY_AMBIGUOUS);
	if (!out.allow)
		buf_clear(ret_target);
	*ret = out;
}

const char *policy_credential(const struct policy *p, const struct verdict *v)
{
	const struct policy_rule *r = policy_rule_of(p, v);

	return v->allow && r ? r->text.credential : NULL;
}

bool policy_by_path(const struct policy *p, const struct verdict *v)
{
	const struct policy_rule *r = policy_rule_of(p, v);

	return r && r->text.paths.n > 0;
}

bool policy_has_credential(const struct policy *p, const struct host *h)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].text.credential && pattern_has_host(&p->rules[i].pattern, h))
			return true;
	return false;
}
