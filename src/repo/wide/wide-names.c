#include "repo/wide/wide-names.h"

#include <string.h>

#include "base/buf.h"

#define NAMES_MAX ((size_t)16 * 1024 * 1024)
#define FIRST_CAP 4096
#define PROBES_MAX 1000 /* hashes that somebody chose can fall together */

struct slot {
	git_oid oid;
	unsigned char full[WIDE_LEN];
	bool used;
};

struct wide_names {
	struct slot *v;
	size_t n, cap;
};

struct wide_names *wide_names_new(void)
{
	struct wide_names *n = xcalloc(1, sizeof(*n));

	n->cap = FIRST_CAP;
	n->v = xcalloc(n->cap, sizeof(*n->v));
	return n;
}

void wide_names_free(struct wide_names *n)
{
	if (n)
		free(n->v);
	free(n);
}

/* NULL: there are too many others at its place. */
static struct slot *slot_of(const struct wide_names *n, const git_oid *oid)
{
	size_t at;

	memcpy(&at, oid->id, sizeof(at)); /* a hash already */
	for (size_t i = 0; i < PROBES_MAX; i++) {
		struct slot *s = &n->v[(at + i) & (n->cap - 1)];

		if (!s->used || git_oid_equal(&s->oid, oid))
			return s;
	}
	return NULL;
}

static int grow(struct wide_names *n)
{
	struct wide_names bigger = {.cap = 2 * n->cap, .n = n->n};

	if (n->n >= NAMES_MAX)
		return -ENOBUFS;
	bigger.v = xcalloc(bigger.cap, sizeof(*bigger.v));
	for (size_t i = 0; i < n->cap; i++) {
		struct slot *s = n->v[i].used ? slot_of(&bigger, &n->v[i].oid) : NULL;

		if (n->v[i].used && !s) {
			free(bigger.v);
			return -ENOBUFS;
		}
		if (s)
			*s = n->v[i];
	}
	free(n->v);
	*n = bigger;
	return 0;
}

int wide_names_alias(struct wide_names *n, const git_oid *oid, const unsigned char full[WIDE_LEN])
{
	struct slot *s;
	int r = 2 * n->n >= n->cap ? grow(n) : 0;

	s = r == 0 ? slot_of(n, oid) : NULL;
	if (!s)
		return -ENOBUFS;
	if (s->used)
		return memcmp(s->full, full, WIDE_LEN) == 0 ? 0 : -EEXIST;
	s->oid = *oid;
	s->used = true;
	memcpy(s->full, full, WIDE_LEN);
	n->n++;
	return 0;
}

int wide_names_add(struct wide_names *n, const unsigned char full[WIDE_LEN], git_oid *ret)
{
	(void)git_oid_fromraw(ret, full);
	return wide_names_alias(n, ret, full);
}

const unsigned char *wide_names_find(const struct wide_names *n, const git_oid *oid)
{
	const struct slot *s = slot_of(n, oid);

	return s && s->used ? s->full : NULL;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool wide_from_hex(const char *hex, unsigned char *ret)
{
	for (size_t i = 0; i < WIDE_LEN; i++) {
		int high = digit(hex[2 * i]), low = high < 0 ? -1 : digit(hex[2 * i + 1]);

		if (low < 0)
			return false;
		ret[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

void wide_to_hex(const unsigned char full[WIDE_LEN], char ret[WIDE_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < WIDE_LEN; i++) {
		ret[2 * i] = digits[full[i] >> 4];
		ret[2 * i + 1] = digits[full[i] & 0xf];
	}
	ret[WIDE_HEX] = '\0';
}

/* One name of `from` bytes in a tree; what stands before it is the same in both. */
static int put_name(struct wide_names *n, const struct wide_names *known, const char *name,
		    struct buf *out)
{
	const unsigned char *full;
	git_oid oid;
	int r;

	if (n) {
		r = wide_names_add(n, (const unsigned char *)name, &oid);
		return r < 0 ? r : buf_append(out, oid.id, GIT_OID_RAWSZ);
	}
	(void)git_oid_fromraw(&oid, (const unsigned char *)name);
	full = wide_names_find(known, &oid);
	return full ? buf_append(out, full, WIDE_LEN) : -ENOENT;
}

/* n: narrow, and note the names; NULL: widen with the known ones. */
static int convert_tree(struct wide_names *n, const struct wide_names *known, const char *bytes,
			size_t len, struct buf *out)
{
	size_t from = n ? WIDE_LEN : GIT_OID_RAWSZ;
	int r = 0;

	while (r == 0 && len) {
		const char *end = memchr(bytes, '\0', len);
		size_t head = end ? (size_t)(end + 1 - bytes) : 0;

		if (!end || len - head < from)
			return -EBADMSG;
		r = buf_append(out, bytes, head);
		if (r == 0)
			r = put_name(n, known, bytes + head, out);
		bytes += head + from;
		len -= head + from;
	}
	return r;
}

/* The name behind a word in the head of a commit or tag, as digits with a newline. */
static int put_hex(struct wide_names *n, const struct wide_names *known, const char *hex,
		   struct buf *out)
{
	char text[WIDE_HEX + 1];
	unsigned char raw[WIDE_LEN];
	const unsigned char *full;
	git_oid oid;
	int r;

	if (n) {
		if (!wide_from_hex(hex, raw))
			return -EBADMSG;
		r = wide_names_add(n, raw, &oid);
		return r < 0 ? r
			     : buf_append(out, git_oid_tostr(text, sizeof(text), &oid),
					  GIT_OID_HEXSZ);
	}
	if (git_oid_fromstrn(&oid, hex, GIT_OID_HEXSZ) < 0)
		return -EBADMSG;
	full = wide_names_find(known, &oid);
	if (!full)
		return -ENOENT;
	wide_to_hex(full, text);
	return buf_append(out, text, WIDE_HEX);
}

static size_t word_len(const char *line, size_t len)
{
	static const char *const words[] = {"tree ", "parent ", "object "};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (len > strlen(words[i]) && memcmp(line, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

/* Only the first lines name objects: they end with the first that begins with another word. */
static int convert_head(struct wide_names *n, const struct wide_names *known, const char *bytes,
			size_t len, struct buf *out)
{
	size_t hex = n ? WIDE_HEX : GIT_OID_HEXSZ, word;

	while ((word = word_len(bytes, len))) {
		int r;

		if (len < word + hex + 1 || bytes[word + hex] != '\n')
			return -EBADMSG;
		r = buf_append(out, bytes, word);
		if (r == 0)
			r = put_hex(n, known, bytes + word, out);
		if (r == 0)
			r = buf_putc(out, '\n');
		if (r < 0)
			return r;
		bytes += word + hex + 1;
		len -= word + hex + 1;
	}
	return buf_append(out, bytes, len);
}

static int convert(struct wide_names *n, const struct wide_names *known, git_object_t type,
		   const char *bytes, size_t len, struct buf *out)
{
	if (type == GIT_OBJECT_TREE)
		return convert_tree(n, known, bytes, len, out);
	if (type == GIT_OBJECT_COMMIT || type == GIT_OBJECT_TAG)
		return convert_head(n, known, bytes, len, out);
	return type == GIT_OBJECT_BLOB ? buf_append(out, bytes, len) : -EBADMSG;
}

int wide_narrow(struct wide_names *n, git_object_t type, const char *bytes, size_t len,
		struct buf *out)
{
	return convert(n, n, type, bytes, len, out);
}

int wide_widen(const struct wide_names *n, git_object_t type, const char *bytes, size_t len,
	       struct buf *out)
{
	return convert(NULL, n, type, bytes, len, out);
}
