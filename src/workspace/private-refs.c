/*
 * References of a repository, loose and packed, become one packed-refs file: what it holds is
 * bounded, and one file is made faster than hundreds. A loose reference stands before a packed one
 * of its name, as in git. Symbolic references (refs/remotes/origin/HEAD) cannot be packed and
 * become files again. refs/ralph/ holds what other sandboxes made and is left out.
 */
#include "workspace/private-parts.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/git-admit.h"

#define REF_CONTENT_MAX (4 * KiB)
#define REF_DEPTH_MAX 32
#define OID_LEN_MAX 64 /* SHA-256 in hex */

struct ref {
	char *name;
	char oid[OID_LEN_MAX + 1];
	char peeled[OID_LEN_MAX + 1]; /* of a packed tag; "": not known */
	bool loose;
};

struct refs {
	struct ref *v;
	size_t n, cap, bytes;
	bool linked; /* the references of one worktree are read elsewhere */
	int at;	     /* of the private directory */
};

static void refs_done(struct refs *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].name);
	free(r->v);
}

/* The length of the hash that the text begins with; 0: it begins with none. */
static size_t oid_len(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return n == 40 || n == OID_LEN_MAX ? n : 0;
}

/* These belong to one worktree, whatever the file that holds them. */
static bool is_of_worktree(const char *name)
{
	return strncmp(name, "refs/bisect/", 12) == 0 || strncmp(name, "refs/worktree/", 14) == 0 ||
	       strncmp(name, "refs/rewritten/", 15) == 0;
}

static bool is_wanted(const struct refs *r, const char *name)
{
	return git_ref_is_valid(name) && strncmp(name, "refs/ralph/", 11) != 0 &&
	       !(r->linked && is_of_worktree(name));
}

static int add(struct refs *r, const char *name, const char *oid, size_t len, bool loose)
{
	struct ref *ref;

	if (!is_wanted(r, name))
		return 0;
	r->bytes += strlen(name) + (size_t)2 * OID_LEN_MAX;
	if (r->bytes > PRIVATE_REFS_MAX)
		return -EFBIG;
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->v = xrealloc(r->v, r->cap, sizeof(*r->v));
	}
	ref = &r->v[r->n++];
	*ref = (struct ref){.name = xstrdup(name), .loose = loose};
	memcpy(ref->oid, oid, len);
	return 0;
}

static int read_packed_line(struct refs *r, char *line)
{
	size_t n;

	if (line[0] == '^') {
		n = oid_len(line + 1);
		if (n && r->n && !r->v[r->n - 1].peeled[0] && !line[1 + n])
			memcpy(r->v[r->n - 1].peeled, line + 1, n);
		return 0;
	}
	n = oid_len(line);
	return n && line[n] == ' ' ? add(r, line + n + 1, line, n, false) : 0;
}

static int read_packed(struct refs *r, int common)
{
	cleanup_buf struct buf b;
	int rc;

	buf_init(&b, PRIVATE_REFS_MAX);
	rc = private_read(common, "packed-refs", &b);
	if (rc < 0 || !b.len)
		return rc == -ENOENT ? 0 : rc;
	for (char *line = b.data, *end; rc == 0 && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		rc = read_packed_line(r, line);
	}
	return rc;
}

/* "ref: refs/remotes/origin/main" */
static int copy_symbolic(struct refs *r, const char *name, const char *text)
{
	int rc;

	if (!is_wanted(r, name) || strchr(text, '\n') != text + strlen(text) - 1)
		return 0;
	rc = private_mkdirs(r->at, name);
	return rc == 0 ? private_write(r->at, name, text, strlen(text)) : rc;
}

static int read_loose(struct refs *r, int dir, const char *entry, const char *name)
{
	cleanup_buf struct buf b;
	size_t n;
	int rc;

	buf_init(&b, REF_CONTENT_MAX);
	rc = private_read(dir, entry, &b);
	if (rc == -ENOENT || rc == -ENOBUFS || rc == -EINVAL)
		return 0; /* removed meanwhile, or nothing that git takes for a reference */
	if (rc < 0)
		return rc;
	if (strncmp(buf_str(&b), "ref: ", 5) == 0)
		return copy_symbolic(r, name, buf_str(&b));
	n = oid_len(buf_str(&b));
	return n && isspace((unsigned char)b.data[n]) ? add(r, name, b.data, n, true) : 0;
}

static int walk_loose(struct refs *r, int parent, const char *entry, const char *name,
		      unsigned depth)
{
	int fd = path_open_beneath(parent, entry, O_RDONLY | O_DIRECTORY, 0), rc = 0;
	struct dirent *de;
	DIR *d;

	if (fd < 0)
		return fd == -ENOENT || fd == -ELOOP ? 0 : fd;
	if (depth > REF_DEPTH_MAX) {
		(void)close(fd);
		return -EFBIG;
	}
	d = fdopendir(fd);
	if (!d)
		return -errno;
	while (rc == 0 && (de = readdir(d))) {
		cleanup_free char *sub = NULL;

		if (de->d_name[0] == '.')
			continue;
		sub = xasprintf("%s/%s", name, de->d_name);
		if (de->d_type == DT_DIR)
			rc = walk_loose(r, dirfd(d), de->d_name, sub, depth + 1);
		else
			rc = read_loose(r, dirfd(d), de->d_name, sub);
	}
	(void)closedir(d);
	return rc;
}

static int compare(const void *a_, const void *b_)
{
	const struct ref *a = a_, *b = b_;
	int r = strcmp(a->name, b->name);

	return r ? r : (int)b->loose - (int)a->loose;
}

static int write_packed(struct refs *r)
{
	cleanup_buf struct buf b;

	buf_init(&b, 2 * PRIVATE_REFS_MAX);
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), compare);
	(void)buf_puts(&b, "# pack-refs with: sorted \n");
	for (size_t i = 0; i < r->n; i++) {
		const struct ref *ref = &r->v[i];

		if (i && streq(r->v[i - 1].name, ref->name))
			continue;
		(void)buf_printf(&b, "%s %s\n", ref->oid, ref->name);
		if (ref->peeled[0])
			(void)buf_printf(&b, "^%s\n", ref->peeled);
	}
	return b.full ? -EFBIG : private_write(r->at, "packed-refs", b.data, b.len);
}

int private_refs_write(int common, int dir, int at, struct err *err)
{
	cleanup_(refs_done) struct refs r = {.linked = dir >= 0, .at = at};
	/* Loose ones first, as git reads them: `git pack-refs` may move them meanwhile. */
	int rc = walk_loose(&r, common, "refs", "refs", 0);

	if (rc == 0)
		rc = read_packed(&r, common);
	r.linked = false;
	if (rc == 0 && dir >= 0)
		rc = walk_loose(&r, dir, "refs", "refs", 0);
	if (rc == 0)
		rc = write_packed(&r);
	if (rc == -EFBIG || rc == -ENOBUFS)
		return err_set(err, EFBIG, "the repository has more references than ralph copies");
	return rc < 0 ? err_sys(err, -rc, "cannot copy the references of the repository") : 0;
}
