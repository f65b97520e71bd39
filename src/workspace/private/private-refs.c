/*
 * References of a repository, loose and packed, become one packed-refs file: what it holds is
 * bounded, and one file is made faster than hundreds. A loose reference stands before a packed one
 * of its name, as in git. Symbolic references (refs/remotes/origin/HEAD) cannot be packed and
 * become files again. refs/ralph/ holds what other sandboxes made and is left out.
 */
#include "workspace/private/private-parts.h"

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
	bool linked;	 /* the references of one worktree are read elsewhere */
	int at;		 /* of the private directory; -1: symbolic ones are not copied */
	const char *own; /* refs/ralph/NAME/, which counts as well; NULL: none does */
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
	if (!git_ref_is_valid(name) || (r->linked && is_of_worktree(name)))
		return false;
	return strncmp(name, "refs/ralph/", 11) != 0 ||
	       (r->own && strncmp(name, r->own, strlen(r->own)) == 0);
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

	if (r->at < 0 || !is_wanted(r, name) || strchr(text, '\n') != text + strlen(text) - 1)
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

/* Sorted, and each name once. */
static void settle(struct refs *r)
{
	size_t n = 0;

	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), compare);
	for (size_t i = 0; i < r->n; i++) {
		if (n && streq(r->v[n - 1].name, r->v[i].name))
			free(r->v[i].name);
		else
			r->v[n++] = r->v[i];
	}
	r->n = n;
}

/* "HEAD refs/heads/main" or "HEAD OID": where the user's HEAD was. */
static void put_head(int at, struct buf *out)
{
	cleanup_buf struct buf b;

	buf_init(&b, REF_CONTENT_MAX);
	if (private_read(at, "HEAD", &b) < 0)
		return;
	b.data[strcspn(buf_str(&b), "\n")] = '\0';
	(void)buf_printf(out, "HEAD %s\n", strncmp(b.data, "ref: ", 5) == 0 ? b.data + 5 : b.data);
}

static int write_packed(struct refs *r, char **ret_told)
{
	cleanup_buf struct buf b, told;
	int rc;

	buf_init(&b, 2 * PRIVATE_REFS_MAX);
	buf_init(&told, 2 * PRIVATE_REFS_MAX);
	(void)buf_puts(&b, "# pack-refs with: sorted \n");
	put_head(r->at, &told);
	for (size_t i = 0; i < r->n; i++) {
		const struct ref *ref = &r->v[i];

		(void)buf_printf(&b, "%s %s\n", ref->oid, ref->name);
		(void)buf_printf(&told, "%s %s\n", ref->oid, ref->name);
		if (ref->peeled[0])
			(void)buf_printf(&b, "^%s\n", ref->peeled);
	}
	rc = b.full || told.full ? -EFBIG : private_write(r->at, "packed-refs", b.data, b.len);
	if (rc == 0)
		*ret_told = xstrdup(buf_str(&told));
	return rc;
}

static int read_all(struct refs *r, int common, int dir)
{
	/* Loose ones first, as git reads them: `git pack-refs` may move them meanwhile. */
	int rc = walk_loose(r, common, "refs", "refs", 0);

	if (rc == 0)
		rc = read_packed(r, common);
	r->linked = false;
	if (rc == 0 && dir >= 0)
		rc = walk_loose(r, dir, "refs", "refs", 0);
	if (rc == 0)
		settle(r);
	return rc;
}

static int refs_err(int rc, struct err *err)
{
	if (rc == -EFBIG || rc == -ENOBUFS)
		return err_set(err, EFBIG, "the repository has more references than ralph copies");
	return rc < 0 ? err_sys(err, -rc, "cannot read the references of the repository") : 0;
}

int private_refs_write(int common, int dir, int at, char **ret_told, struct err *err)
{
	cleanup_(refs_done) struct refs r = {.linked = dir >= 0, .at = at};
	int rc = read_all(&r, common, dir);

	return refs_err(rc == 0 ? write_packed(&r, ret_told) : rc, err);
}

static int compare_name(const void *name, const void *ref)
{
	return strcmp(name, ((const struct ref *)ref)->name);
}

static const struct ref *find(const struct refs *r, const char *name)
{
	return r->n ? bsearch(name, r->v, r->n, sizeof(*r->v), compare_name) : NULL;
}

/* A line of `told`, "OID REF": where both sides had it last, as an import says, or as it was told. */
struct told {
	char *oid, *ref;
};

static void told_done(struct told *t)
{
	free(t->oid);
	free(t->ref);
}

/* false: it is about HEAD. */
static bool read_told(const struct refs *r, const char *line, size_t n, struct told *ret)
{
	const char *space = memchr(line, ' ', n);
	cleanup_free char *seen = NULL;
	const struct ref *found;

	*ret = (struct told){0};
	if (!space || strncmp(space + 1, "refs/", 5) != 0 || strncmp(line, "HEAD ", 5) == 0)
		return false;
	ret->ref = xstrndup(space + 1, n - (size_t)(space + 1 - line));
	seen = xasprintf("%sseen/%s", r->own, ret->ref + 5);
	found = find(r, seen);
	ret->oid = found ? xstrdup(found->oid) : xstrndup(line, (size_t)(space - line));
	return true;
}

typedef void told_fn(const struct refs *r, const char *oid, const char *ref, struct buf *out);

/* Everything that both sides had once: what was told, and what imports made since. */
static void each_told(const struct refs *r, const char *told, told_fn *fn, struct buf *out)
{
	cleanup_free char *seen = xasprintf("%sseen/", r->own);

	for (const char *line = told; *line;) {
		cleanup_(told_done) struct told t;
		size_t n = strcspn(line, "\n");

		if (read_told(r, line, n, &t))
			fn(r, t.oid, t.ref, out);
		line += n + (line[n] == '\n');
	}
	for (size_t i = 0; i < r->n; i++) {
		cleanup_free char *line = NULL, *ref = NULL;

		if (strncmp(r->v[i].name, seen, strlen(seen)) != 0)
			continue;
		ref = xasprintf("refs/%s", r->v[i].name + strlen(seen));
		line = xasprintf(" %s\n", ref);
		if (!strstr(told, line))
			fn(r, r->v[i].oid, ref, out);
	}
}

static int read_host(const struct gitdir *git, struct refs *r)
{
	cleanup_fd int common = open(git->common, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return common < 0 ? -errno : read_all(r, common, -1);
}

int private_git_refs(const struct gitdir *git, struct buf *out, struct err *err)
{
	cleanup_fd int dir = open(git->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_(refs_done) struct refs r = {.at = -1};
	int rc = dir < 0 ? -errno : read_host(git, &r);

	if (rc == 0)
		put_head(dir, out);
	for (size_t i = 0; rc == 0 && i < r.n; i++)
		(void)buf_printf(out, "%s %s\n", r.v[i].oid, r.v[i].name);
	return refs_err(rc == 0 && out->full ? -ENOBUFS : rc, err);
}

static void put_told(const struct refs *r, const char *oid, const char *ref, struct buf *out)
{
	(void)buf_printf(out, "%s %s\n", oid, ref);
}

typedef int section_fn(const struct gitdir *git, const char *name, const char *told,
		       struct buf *out, struct err *err);

/*
 * Each repository that was told of: the workspace's, then its submodules, "MODULE PATH" before each,
 * which gets its number for the scripts: "MODULE N PATH".
 */
static int each_section(const struct gitdir *git, const char *name, const char *told,
			section_fn *fn, struct buf *out, struct err *err)
{
	const char *next = strstr(told, "\nMODULE ");
	cleanup_free char *first = next ? xstrndup(told, (size_t)(next + 1 - told)) : xstrdup(told);
	int rc = fn(git, name, first, out, err);

	for (unsigned n = 1; rc == 0 && next; n++) {
		const char *path = next + strlen("\nMODULE "), *text = path + strcspn(path, "\n");
		cleanup_free char *rel = xstrndup(path, (size_t)(text - path)), *part = NULL;
		cleanup_free char *dir = path_join(git->dir, rel);
		const struct gitdir module = {.root = dir, .dir = dir, .common = dir};

		next = strstr(text, "\nMODULE ");
		text += *text == '\n';
		part = next ? xstrndup(text, (size_t)(next + 1 - text)) : xstrdup(text);
		(void)buf_printf(out, "MODULE %u %s\n", n, rel);
		rc = fn(&module, name, part, out, err);
		if (rc == -ENOENT)
			rc = 0; /* the user removed it */
	}
	return rc;
}

/* "ref: REF" as REF, else the hash; NULL: it is not there. */
static char *read_head(const char *dir, const char *name)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_buf struct buf b;

	buf_init(&b, REF_CONTENT_MAX);
	if (fd < 0 || private_read(fd, name, &b) < 0)
		return NULL;
	b.data[strcspn(buf_str(&b), "\n")] = '\0';
	if (strncmp(b.data, "ref: ", 5) == 0)
		return git_ref_is_valid(b.data + 5) ? xstrdup(b.data + 5) : NULL;
	return oid_len(b.data) ? xstrdup(b.data) : NULL;
}

static int told_of(const struct gitdir *git, const char *name, const char *told, struct buf *out,
		   struct err *err)
{
	cleanup_free char *own = xasprintf("refs/ralph/%s/", name);
	cleanup_(refs_done) struct refs r = {.at = -1, .own = own};
	cleanup_free char *head = read_head(git->dir, "HEAD");
	int rc = read_host(git, &r);

	if (rc == 0)
		each_told(&r, told, put_told, out);
	/* What the host has, git inside leaves out of the pack. */
	for (size_t i = 0; rc == 0 && i < r.n; i++)
		(void)buf_printf(out, "^%s\n", r.v[i].oid);
	if (rc == 0 && head && oid_len(head))
		(void)buf_printf(out, "^%s\n", head);
	return refs_err(rc == 0 && out->full ? -ENOBUFS : rc, err);
}

int private_git_told(const struct gitdir *git, const char *name, const char *told, struct buf *out,
		     struct err *err)
{
	return each_section(git, name, told, told_of, out, err);
}

/* The user has moved it since. */
static void put_moved(const struct refs *r, const char *oid, const char *ref, struct buf *out)
{
	const struct ref *host = find(r, ref);

	if (host && !streq(host->oid, oid))
		(void)buf_printf(out, "%s %s %s\n", host->oid, ref, oid);
}

/* Branches, tags and the like that the user made since. */
static void put_made(const struct refs *r, const char *told, struct buf *out)
{
	for (size_t i = 0; i < r->n; i++) {
		cleanup_free char *line = xasprintf(" %s\n", r->v[i].name);
		cleanup_free char *seen = xasprintf("%sseen/%s", r->own, r->v[i].name + 5);
		size_t n = strlen(r->v[i].oid);

		if (strncmp(r->v[i].name, r->own, strlen(r->own)) != 0 && !strstr(told, line) &&
		    !find(r, seen))
			(void)buf_printf(out, "%s %s %0*d\n", r->v[i].oid, r->v[i].name, (int)n, 0);
	}
}

/* "HEAD OLD NEW" where the user has switched branches since. */
static void put_switched(const struct gitdir *git, const char *own, const char *told,
			 struct buf *out)
{
	cleanup_free char *name = xasprintf("%sseen/HEAD", own);
	cleanup_free char *was = read_head(git->common, name);
	cleanup_free char *is = read_head(git->dir, "HEAD");

	if (!was && strncmp(told, "HEAD ", 5) == 0)
		was = xstrndup(told + 5, strcspn(told + 5, "\n"));
	if (was && is && !streq(was, is))
		(void)buf_printf(out, "HEAD %s %s\n", was, is);
}

static int moved_of(const struct gitdir *git, const char *name, const char *told, struct buf *out,
		    struct err *err)
{
	cleanup_free char *own = xasprintf("refs/ralph/%s/", name);
	cleanup_(refs_done) struct refs r = {.at = -1, .own = own};
	int rc = read_host(git, &r);

	if (rc == 0) {
		put_switched(git, own, told, out);
		each_told(&r, told, put_moved, out);
		put_made(&r, told, out);
	}
	return refs_err(rc == 0 && out->full ? -ENOBUFS : rc, err);
}

/* The branch that HEAD was told to be on, and no other. */
static void put_moved_own(const struct refs *r, const char *told, struct buf *out)
{
	static const char head[] = "HEAD refs/";
	size_t n = strcspn(told, "\n");
	cleanup_free char *ref = NULL;

	if (n < strlen(head) || strncmp(told, head, strlen(head)) != 0)
		return;
	ref = xstrndup(told + strlen("HEAD "), n - strlen("HEAD "));
	for (const char *line = told + n; *line;) {
		cleanup_(told_done) struct told t;

		line += *line == '\n';
		n = strcspn(line, "\n");
		if (read_told(r, line, n, &t) && streq(t.ref, ref))
			put_moved(r, t.oid, t.ref, out);
		line += n;
	}
}

/* The same for a loop, whose sandbox follows its own branch alone: those of other workers come and go. */
static int moved_own_of(const struct gitdir *git, const char *name, const char *told,
			struct buf *out, struct err *err)
{
	cleanup_free char *own = xasprintf("refs/ralph/%s/", name);
	cleanup_(refs_done) struct refs r = {.at = -1, .own = own};
	int rc = read_host(git, &r);

	if (rc == 0)
		put_moved_own(&r, told, out);
	return refs_err(rc == 0 && out->full ? -ENOBUFS : rc, err);
}

/* Of what an import notes about a sandbox; the rest below the same name is held. */
static bool is_note(const char *rest)
{
	return strncmp(rest, "seen/", 5) == 0 || strncmp(rest, "base/", 5) == 0 ||
	       strncmp(rest, "was/", 4) == 0;
}

int private_git_held(const struct gitdir *git, const char *name, bool notes, struct strv *ret)
{
	cleanup_free char *own = xasprintf("refs/ralph/%s/", name);
	cleanup_(refs_done) struct refs r = {.at = -1, .own = own};
	int rc = read_host(git, &r);

	for (size_t i = 0; rc == 0 && i < r.n; i++)
		if (strncmp(r.v[i].name, own, strlen(own)) == 0 &&
		    is_note(r.v[i].name + strlen(own)) == notes)
			strv_push(ret, r.v[i].name + strlen(own));
	return rc;
}

int private_git_moved(const struct gitdir *git, const char *name, const char *told, struct buf *out,
		      struct err *err)
{
	return each_section(git, name, told, moved_of, out, err);
}

int private_git_moved_own(const struct gitdir *git, const char *name, const char *told,
			  struct buf *out, struct err *err)
{
	return each_section(git, name, told, moved_own_of, out, err);
}
