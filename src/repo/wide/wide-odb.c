/* Objects for libgit2, with their names cut; what it writes (merges) becomes loose objects. */
#include "repo/wide/wide-parts.h"

#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <sha256.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/path.h"

#define NARROW_MAX (512 * MiB)
#define STORED_MAX 65535 /* bytes of one block that deflate leaves as they are */
#define ADLER 65521u

struct backend {
	git_odb_backend parent;
	struct wide *w;
	bool received;
};

/* The whole name, where the object is one of this store. */
static const unsigned char *name_of(const struct backend *b, const git_oid *oid)
{
	const unsigned char *full = wide_names_find(b->w->names, oid);

	if (full && b->received && !wide_pack_has(&b->w->received, full, WIDE_LEN))
		return NULL;
	return full;
}

static int give(git_odb_backend *be, struct buf *out, void **ret, size_t *ret_len)
{
	char *p = git_odb_backend_data_alloc(be, out->len + 1);

	if (!p)
		return GIT_ERROR;
	memcpy(p, out->len ? out->data : "", out->len);
	p[out->len] = '\0';
	*ret = p;
	*ret_len = out->len;
	return 0;
}

static int read_object(void **ret, size_t *ret_len, git_object_t *ret_type, git_odb_backend *be,
		       const git_oid *oid)
{
	struct backend *b = (struct backend *)be;
	const unsigned char *full = name_of(b, oid);
	cleanup_free char *bytes = NULL;
	cleanup_buf struct buf out;
	size_t len;
	int r = full ? wide_git_read(&b->w->git, full, ret_type, &len, &bytes) : -ENOENT;

	buf_init(&out, NARROW_MAX);
	if (r == 0)
		r = wide_narrow(b->w->names, *ret_type, bytes, len, &out);
	if (r < 0)
		return r == -ENOENT ? GIT_ENOTFOUND : GIT_ERROR;
	return give(be, &out, ret, ret_len);
}

static int read_header(size_t *ret_len, git_object_t *ret_type, git_odb_backend *be,
		       const git_oid *oid)
{
	struct backend *b = (struct backend *)be;
	const unsigned char *full = name_of(b, oid);
	int r = full ? wide_git_read(&b->w->git, full, ret_type, ret_len, NULL) : -ENOENT;

	return r == -ENOENT ? GIT_ENOTFOUND : r < 0 ? GIT_ERROR : 0;
}

static int exists(git_odb_backend *be, const git_oid *oid)
{
	struct backend *b = (struct backend *)be;
	const unsigned char *full = name_of(b, oid);

	return full && (b->received || wide_store_has(&b->w->store, full));
}

static int find_prefix(const struct backend *b, git_oid *ret, const git_oid *prefix, size_t len)
{
	char hex[GIT_OID_HEXSZ + 1];
	unsigned char full[WIDE_LEN];

	(void)git_oid_tostr(hex, sizeof(hex), prefix);
	hex[len] = '\0';
	if (b->received || !wide_store_find(&b->w->store, hex, full))
		return GIT_ENOTFOUND;
	return wide_names_add(b->w->names, full, ret) < 0 ? GIT_ERROR : 0;
}

static int exists_prefix(git_oid *ret, git_odb_backend *be, const git_oid *prefix, size_t len)
{
	return find_prefix((struct backend *)be, ret, prefix, len);
}

static int refresh(git_odb_backend *be)
{
	struct backend *b = (struct backend *)be;

	return b->received || wide_store_look(&b->w->store) == 0 ? 0 : GIT_ERROR;
}

static int foreach(git_odb_backend *be, git_odb_foreach_cb cb, void *arg)
{
	struct backend *b = (struct backend *)be;
	const struct wide_pack *p = &b->w->received;
	int r = b->received ? 0 : GIT_ERROR;

	for (size_t i = 0; r == 0 && i < p->n; i++) {
		git_oid oid;

		r = wide_names_add(b->w->names, p->names + i * WIDE_LEN, &oid) < 0 ? GIT_ERROR
										   : cb(&oid, arg);
	}
	return r;
}

/* ---- writing ---- */

static int put32(struct buf *out, uint32_t v)
{
	const char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};

	return buf_append(out, bytes, sizeof(bytes));
}

/* A stream of zlib's that leaves everything as it is. */
static int deflate(const char *p, size_t n, struct buf *out)
{
	uint32_t a = 1, c = 0;
	int r = buf_append(out, "\x78\x01", 2);

	for (size_t i = 0; i < n; i++) {
		a = (a + (unsigned char)p[i]) % ADLER;
		c = (c + a) % ADLER;
	}
	do {
		size_t k = n < STORED_MAX ? n : STORED_MAX;
		const char head[] = {(char)(k == n), (char)k, (char)(k >> 8), (char)~k,
				     (char)(~k >> 8)};

		r = r < 0 ? r : buf_append(out, head, sizeof(head));
		r = r < 0 ? r : buf_append(out, p, k);
		p += k;
		n -= k;
	} while (r == 0 && n);
	return r < 0 ? r : put32(out, c << 16 | a);
}

static int write_loose(const struct wide *w, const unsigned char full[WIDE_LEN],
		       const struct buf *b)
{
	char hex[WIDE_HEX + 1];
	cleanup_free char *dir = NULL, *path = NULL;
	cleanup_buf struct buf out;
	struct err ignored;
	int r;

	wide_to_hex(full, hex);
	dir = xasprintf("%s/%.2s", w->objects, hex);
	path = path_join(dir, hex + 2);
	buf_init(&out, 2 * NARROW_MAX);
	r = deflate(b->data, b->len, &out);
	if (r == 0)
		r = path_mkdirs(dir, 0777, &ignored);
	return r < 0 ? r : path_write_atomic(AT_FDCWD, path, out.data, out.len, 0444, 0);
}

/* An object by its own bytes; ret: its name. */
static int write_whole(const struct wide *w, git_object_t type, const char *p, size_t n,
		       unsigned char ret[WIDE_LEN])
{
	cleanup_buf struct buf all;
	SHA256_CTX sum;
	int r;

	buf_init(&all, NARROW_MAX + 64);
	r = buf_printf(&all, "%s %zu", git_object_type2string(type), n);
	if (r == 0)
		r = buf_putc(&all, '\0');
	if (r == 0 && n)
		r = buf_append(&all, p, n);
	if (r < 0)
		return r;
	SHA256Init(&sum);
	SHA256Update(&sum, (const uint8_t *)all.data, all.len);
	SHA256Final(ret, &sum);
	return wide_store_has(&w->store, ret) ? 0 : write_loose(w, ret, &all);
}

static int write_object(git_odb_backend *be, const git_oid *oid, const void *p, size_t n,
			git_object_t type)
{
	struct backend *b = (struct backend *)be;
	unsigned char full[WIDE_LEN];
	cleanup_buf struct buf body;
	int r;

	buf_init(&body, NARROW_MAX);
	r = wide_widen(b->w->names, type, p, n, &body);
	if (r == 0)
		r = write_whole(b->w, type, buf_str(&body), body.len, full);
	if (r == 0)
		r = wide_names_alias(b->w->names, oid, full);
	return r < 0 ? GIT_ERROR : 0;
}

/* The store that is looked at must not have the quarantine, or everything is there already. */
int wide_unpack(struct wide *w, struct err *err)
{
	const struct wide_pack *p = &w->received;
	char *quarantine = w->store.dirs.v[0];
	int r;

	w->store.dirs.v[0] = w->objects;
	r = wide_store_look(&w->store);
	for (size_t i = 0; r == 0 && i < p->n; i++) {
		const unsigned char *name = p->names + i * WIDE_LEN;
		unsigned char is[WIDE_LEN];
		cleanup_free char *bytes = NULL;
		git_object_t type;
		size_t n;

		r = wide_git_read(&w->git, name, &type, &n, &bytes);
		if (r == 0)
			r = write_whole(w, type, bytes, n, is);
		if (r == 0 && memcmp(is, name, WIDE_LEN) != 0)
			r = -EBADMSG;
	}
	w->store.dirs.v[0] = quarantine;
	return r < 0 ? err_sys(err, -r, "cannot write the objects") : 0;
}

static void backend_free(git_odb_backend *be)
{
	free(be);
}

int wide_odb_new(struct wide *w, bool received, git_odb **ret)
{
	struct backend *b = xcalloc(1, sizeof(*b));

	(void)git_odb_init_backend(&b->parent, GIT_ODB_BACKEND_VERSION);
	b->w = w;
	b->received = received;
	b->parent.read = read_object;
	b->parent.read_header = read_header;
	b->parent.exists = exists;
	b->parent.exists_prefix = exists_prefix;
	b->parent.refresh = refresh;
	b->parent.foreach = foreach;
	b->parent.write = received ? NULL : write_object;
	b->parent.free = backend_free;
	if (git_odb_new(ret) < 0) {
		free(b);
		return -ENOMEM;
	}
	return git_odb_add_backend(*ret, &b->parent, 1) < 0 ? -ENOMEM : 0;
}
