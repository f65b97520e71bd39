#include "workspace/gitindex.h"

#include <errno.h>
#include <sha1.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define HEAD_LEN 12
#define MTIME_AT 8
#define INO_AT 20
#define MODE_AT 24
#define MODE_LINK 0160000
#define SIZE_AT 36
#define HASH_AT 40 /* behind times, numbers and mode; flags follow it */
#define FLAGS_LEN 2
#define EXTENSION_HEAD 8
#define FLAG_EXTENDED 0x4000
#define FLAG_STAGE 0x3000
#define PATH_MAX_LEN (4 * KiB)
#define PATHS_LEN_MAX (512 * MiB)
#define TREE_LEN_MAX (64 * MiB)
#define DEPTH_MAX 400

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

void gitindex_links(const uint8_t *index, size_t len, size_t hash_len,
		    bool (*fn)(const char *path, void *arg), void *arg)
{
	struct reader r;
	const uint8_t *entry;

	for (int64_t n = begin(&r, index, len, hash_len); n > 0 && next_entry(&r, &entry) == 0; n--)
		if (get_u32(entry + MODE_AT) == MODE_LINK && fn(buf_str(&r.name), arg))
			break;
	buf_done(&r.name);
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

/* ---- as a list ---- */

uint32_t gitindex_mode(const struct gitindex_entry *e)
{
	return get_u32(e->raw + MODE_AT);
}

uint32_t gitindex_size(const struct gitindex_entry *e)
{
	return get_u32(e->raw + SIZE_AT);
}

uint16_t gitindex_flags(const struct gitindex_entry *e)
{
	const uint8_t *p = e->raw + HASH_AT + GITINDEX_HASH_LEN;

	return (uint16_t)(p[0] << 8 | p[1]);
}

const uint8_t *gitindex_oid(const struct gitindex_entry *e)
{
	return e->raw + HASH_AT;
}

/* The mode as a tree has it; NULL: no tree has it. */
static const char *mode_text(uint32_t mode)
{
	return mode == 0100644	   ? "100644 "
	       : mode == 0100755   ? "100755 "
	       : mode == 0120000   ? "120000 "
	       : mode == MODE_LINK ? "160000 "
				   : NULL;
}

static bool is_plain(const struct gitindex *g, const struct gitindex_entry *e)
{
	const struct gitindex_entry *before = g->n ? &g->v[g->n - 1] : NULL;

	return !(gitindex_flags(e) & FLAG_STAGE) && mode_text(gitindex_mode(e)) && e->len > 0 &&
	       (!before || strcmp(g->paths.data + before->path, g->paths.data + e->path) < 0);
}

static int add_entry(struct gitindex *g, const struct reader *r, const uint8_t *raw)
{
	struct gitindex_entry e = {.raw = raw, .path = g->paths.len, .len = r->name.len};

	if (buf_append(&g->paths, r->name.data, r->name.len) < 0 || buf_putc(&g->paths, '\0') < 0 ||
	    !is_plain(g, &e))
		return -EINVAL;
	g->v[g->n++] = e;
	return 0;
}

int gitindex_read(const uint8_t *index, size_t len, struct gitindex *ret)
{
	struct reader r;
	const uint8_t *raw;
	int64_t n = begin(&r, index, len, GITINDEX_HASH_LEN);
	int rc = n < 0 || (uint64_t)n > len / HASH_AT ? -EINVAL : 0;

	*ret = (struct gitindex){.v = rc == 0 ? xcalloc((size_t)n + 1, sizeof(*ret->v)) : NULL};
	buf_init(&ret->paths, PATHS_LEN_MAX);
	for (; rc == 0 && n > 0; n--)
		rc = next_entry(&r, &raw) < 0 ? -EINVAL : add_entry(ret, &r, raw);
	if (rc == 0 && is_split(&r))
		rc = -EINVAL;
	buf_done(&r.name);
	if (rc < 0)
		gitindex_done(ret);
	return rc;
}

void gitindex_done(struct gitindex *g)
{
	buf_done(&g->paths);
	free(g->v);
	*g = (struct gitindex){0};
}

static bool is_mode(uint32_t mode, mode_t is)
{
	if (mode == 0120000)
		return S_ISLNK(is);
	return S_ISREG(is) && mode == (is & S_IXUSR ? 0100755U : 0100644U);
}

/* A file system without fractions of a second says zero for both. */
static bool is_before(const struct timespec *t, const struct timespec *written)
{
	return t->tv_sec < written->tv_sec ||
	       (t->tv_sec == written->tv_sec && t->tv_nsec < written->tv_nsec);
}

/* A file that is as young as the index itself may have changed once more without another time. In
 * a new worktree that is the last moment of the checkout, not its last second: otherwise every look
 * at the worktree would read all of its files. */
bool gitindex_is_same(const struct gitindex_entry *e, const struct stat *st,
		      const struct timespec *written)
{
	const uint8_t *p = e->raw;

	if (gitindex_mode(e) == MODE_LINK)
		return S_ISDIR(st->st_mode);
	return is_mode(gitindex_mode(e), st->st_mode) && is_before(&st->st_mtim, written) &&
	       get_u32(p) == (uint32_t)st->st_ctim.tv_sec &&
	       get_u32(p + 4) == (uint32_t)st->st_ctim.tv_nsec &&
	       get_u32(p + MTIME_AT) == (uint32_t)st->st_mtim.tv_sec &&
	       get_u32(p + MTIME_AT + 4) == (uint32_t)st->st_mtim.tv_nsec &&
	       get_u32(p + INO_AT) == (uint32_t)st->st_ino &&
	       get_u32(p + SIZE_AT) == (uint32_t)st->st_size;
}

/* ---- as a tree ---- */

static void hash_tree(const struct buf *b, uint8_t ret[GITINDEX_HASH_LEN])
{
	char head[32];
	int n = snprintf(head, sizeof(head), "tree %zu", b->len);
	SHA1_CTX ctx;

	SHA1Init(&ctx);
	SHA1Update(&ctx, (const uint8_t *)head, (size_t)n + 1);
	SHA1Update(&ctx, (const uint8_t *)b->data, b->len);
	SHA1Final(ret, &ctx);
}

static int tree_of(const struct gitindex *g, size_t *i, size_t skip, unsigned depth,
		   uint8_t ret[GITINDEX_HASH_LEN]);

/* Adds the file or the directory that entry *i begins with, and steps over it. */
static int add_to_tree(const struct gitindex *g, size_t *i, size_t skip, unsigned depth,
		       struct buf *b)
{
	const char *name = gitindex_path(g, *i) + skip, *slash = strchr(name, '/');
	const struct gitindex_entry *e = &g->v[*i];
	uint8_t below[GITINDEX_HASH_LEN];
	int r = 0;

	(void)buf_puts(b, slash ? "40000 " : mode_text(gitindex_mode(e)));
	(void)buf_append(b, name, slash ? (size_t)(slash - name) : e->len - skip);
	(void)buf_putc(b, '\0');
	if (slash)
		r = tree_of(g, i, skip + (size_t)(slash - name) + 1, depth + 1, below);
	else
		(*i)++;
	(void)buf_append(b, slash ? below : gitindex_oid(e), GITINDEX_HASH_LEN);
	return b->full ? -EINVAL : r;
}

/* All entries from *i on whose first `skip` bytes are those of the first. */
static int tree_of(const struct gitindex *g, size_t *i, size_t skip, unsigned depth,
		   uint8_t ret[GITINDEX_HASH_LEN])
{
	const char *prefix = *i < g->n ? gitindex_path(g, *i) : "";
	cleanup_buf struct buf b;
	int r = depth > DEPTH_MAX ? -EINVAL : 0;

	buf_init(&b, TREE_LEN_MAX);
	while (r == 0 && *i < g->n && strncmp(gitindex_path(g, *i), prefix, skip) == 0)
		r = add_to_tree(g, i, skip, depth, &b);
	if (r == 0)
		hash_tree(&b, ret);
	return r;
}

int gitindex_tree(const struct gitindex *g, uint8_t ret[GITINDEX_HASH_LEN])
{
	size_t i = 0;

	return tree_of(g, &i, 0, 0, ret);
}
