#include "workspace/gitindex.h"

#include <sha1.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define HEAD_LEN 12
#define MTIME_AT 8
#define HASH_AT 40 /* behind times, numbers and mode; flags follow it */
#define FLAGS_LEN 2
#define EXTENSION_HEAD 8
#define FLAG_EXTENDED 0x4000
#define PATH_MAX_LEN (4 * KiB)

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

struct reader {
	const uint8_t *p, *end;
	size_t hash_len;
	unsigned version;
	struct buf name; /* of the entry before: version 4 keeps only what differs */
};

/* The number of bytes that version 4 takes off the name before. */
static int read_strip(struct reader *r, size_t *ret)
{
	size_t v = 0;
	uint8_t c;

	do {
		if (r->p == r->end || v > PATH_MAX_LEN)
			return -1;
		c = *r->p++;
		v = (v << 7) + (c & 127);
		v += c & 128 ? 1 : 0;
	} while (c & 128);
	*ret = v;
	return 0;
}

/* Reads one entry's name and steps over it; *ret points into the index. */
static int next_entry(struct reader *r, const uint8_t **ret)
{
	const uint8_t *start = r->p, *nul;
	size_t strip = 0, fixed = HASH_AT + r->hash_len + FLAGS_LEN;

	if ((size_t)(r->end - r->p) < fixed)
		return -1;
	*ret = start;
	if (start[HASH_AT + r->hash_len] & (FLAG_EXTENDED >> 8))
		fixed += 2;
	if ((size_t)(r->end - start) < fixed)
		return -1;
	r->p = start + fixed;
	if (r->version == 4 && (read_strip(r, &strip) < 0 || strip > r->name.len))
		return -1;
	nul = memchr(r->p, 0, (size_t)(r->end - r->p));
	if (!nul)
		return -1;
	r->name.len = r->version == 4 ? r->name.len - strip : 0;
	if (buf_append(&r->name, r->p, (size_t)(nul - r->p)) < 0)
		return -1;
	if (r->version == 4) {
		r->p = nul + 1;
		return 0;
	}
	/* One to eight NULs fill it up to a multiple of eight. */
	strip = ((size_t)(nul - start) + 8) & ~(size_t)7;
	if ((size_t)(r->end - start) < strip)
		return -1;
	r->p = start + strip;
	return 0;
}

/* The number of its entries, or -1; r is to be ended by buf_done(&r->name). */
static int64_t begin(struct reader *r, const uint8_t *index, size_t len, size_t hash_len)
{
	*r = (struct reader){.end = index + len, .hash_len = hash_len};
	buf_init(&r->name, PATH_MAX_LEN);
	if (len < HEAD_LEN || memcmp(index, "DIRC", 4) != 0)
		return -1;
	r->p = index + HEAD_LEN;
	r->version = get_u32(index + 4);
	return r->version < 2 || r->version > 4 ? -1 : (int64_t)get_u32(index + 8);
}

bool gitindex_lists(const uint8_t *index, size_t len, const char *path,
		    const uint8_t hash[GITINDEX_HASH_LEN])
{
	struct reader r;
	const uint8_t *entry;
	bool found = false;

	for (int64_t n = begin(&r, index, len, GITINDEX_HASH_LEN);
	     n > 0 && !found && next_entry(&r, &entry) == 0; n--)
		found = streq(buf_str(&r.name), path) &&
			memcmp(entry + HASH_AT, hash, GITINDEX_HASH_LEN) == 0;
	buf_done(&r.name);
	return found;
}

/* Behind the entries: a name of four letters, a length, and so many bytes. */
static bool is_split(const struct reader *r)
{
	const uint8_t *p = r->p;

	while ((size_t)(r->end - p) >= EXTENSION_HEAD + r->hash_len) {
		size_t n = get_u32(p + EXTENSION_HEAD / 2);

		if (memcmp(p, "link", EXTENSION_HEAD / 2) == 0 ||
		    n > (size_t)(r->end - p) - EXTENSION_HEAD)
			return true;
		p += EXTENSION_HEAD + n;
	}
	return false;
}

bool gitindex_lists_young(const uint8_t *index, size_t len, size_t hash_len, int64_t second)
{
	struct reader r;
	const uint8_t *entry;
	int64_t n = begin(&r, index, len, hash_len);
	bool found = n < 0;

	for (; n > 0 && !found; n--)
		found = next_entry(&r, &entry) < 0 || get_u32(entry + MTIME_AT) >= second;
	found = found || is_split(&r);
	buf_done(&r.name);
	return found;
}

void gitindex_hash(const void *content, size_t len, uint8_t ret[GITINDEX_HASH_LEN])
{
	char head[32];
	int n = snprintf(head, sizeof(head), "blob %zu", len);
	SHA1_CTX ctx;

	SHA1Init(&ctx);
	SHA1Update(&ctx, (const uint8_t *)head, (size_t)n + 1);
	SHA1Update(&ctx, content, len);
	SHA1Final(ret, &ctx);
}
