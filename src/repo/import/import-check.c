/*
 * The checks of received objects. Their hashes are right, since libgit2 names them by their
 * content. What it does not check: that all they name is there, that trees are as git would make
 * them, and that no name in them is one that git would refuse to check out.
 */
#include "repo/import/import.h"

#include <string.h>

#include "git/tree-object.h"
#include "git/tree-path.h"

#define TREE_SIZE_MAX (64 * MiB)
#define COMMIT_SIZE_MAX (16 * MiB)
#define SHOWN_MAX 200

/* Objects that are known to be there, with their type: most are named many times. */
struct known {
	struct known_slot {
		git_oid oid;
		git_object_t type;
		bool used;
	} * v;
	size_t n, cap;
};

struct check {
	struct import *im;
	git_odb *pack;
	struct known known;
	struct err *err;
};

static struct known_slot *slot_of(const struct known *k, const git_oid *oid)
{
	size_t at;

	memcpy(&at, oid->id, sizeof(at)); /* a hash already */
	for (at &= k->cap - 1; k->v[at].used && !git_oid_equal(&k->v[at].oid, oid);)
		at = (at + 1) & (k->cap - 1);
	return &k->v[at];
}

static void grow(struct known *k)
{
	struct known bigger = {.cap = k->cap ? 2 * k->cap : 4096, .n = k->n};

	bigger.v = xcalloc(bigger.cap, sizeof(*bigger.v));
	for (size_t i = 0; i < k->cap; i++)
		if (k->v[i].used)
			*slot_of(&bigger, &k->v[i].oid) = k->v[i];
	free(k->v);
	*k = bigger;
}

/* GIT_OBJECT_INVALID: there is no such object. */
static git_object_t type_of(struct check *c, const git_oid *oid)
{
	struct known_slot *slot;
	git_object_t type;
	size_t size;

	if (2 * c->known.n >= c->known.cap)
		grow(&c->known);
	slot = slot_of(&c->known, oid);
	if (slot->used)
		return slot->type;
	if (git_odb_read_header(&size, &type, c->im->odb, oid) < 0)
		return GIT_OBJECT_INVALID;
	*slot = (struct known_slot){.oid = *oid, .type = type, .used = true};
	c->known.n++;
	return type;
}

/* A partial clone lacks what its remote has: what is not there cannot be told from that. */
static int want(struct check *c, const git_oid *oid, git_object_t type, const char *what)
{
	git_object_t is = type_of(c, oid);
	struct import_hex hex;
	bool missing = is == GIT_OBJECT_INVALID;

	if (missing ? c->im->partial && type != GIT_OBJECT_COMMIT : is == type)
		return 0;
	return err_set(c->err, EPROTO, "%s %s of the sandbox is %s", what,
		       import_hex(c->im, oid, &hex), missing ? "missing" : "not what it should be");
}

static int check_entry(const struct gittree_entry *e, void *arg)
{
	struct check *c = arg;
	git_oid oid;

	if (e->mode == GITTREE_COMMIT)
		return 0;
	(void)git_oid_fromraw(&oid, e->id);
	return want(c, &oid, e->mode == GITTREE_DIR ? GIT_OBJECT_TREE : GIT_OBJECT_BLOB, "object");
}

static int check_tree(struct check *c, const char *bytes, size_t n)
{
	const char *name;
	int r;
	const char *fault = gittree_check(bytes, n, GIT_OID_RAWSZ, check_entry, c, &r, &name);
	cleanup_free char *shown = name ? gitpath_shown(name, strlen(name), SHOWN_MAX) : NULL;

	if (fault && shown)
		return err_set(c->err, EPROTO, "'%s' in a tree of the sandbox %s", shown, fault);
	return fault ? err_set(c->err, EPROTO, "a tree of the sandbox %s", fault) : r;
}

static int check_commit(struct check *c, const git_oid *oid)
{
	cleanup_git(commit) git_commit *commit = NULL;
	unsigned n;
	int r;

	if (git_commit_lookup(&commit, c->im->repo, oid) < 0)
		return gitlib_err(c->err, "a commit of the sandbox is damaged");
	r = want(c, git_commit_tree_id(commit), GIT_OBJECT_TREE, "tree");
	n = git_commit_parentcount(commit);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = want(c, git_commit_parent_id(commit, i), GIT_OBJECT_COMMIT, "commit");
	return r;
}

static int check_tag(struct check *c, const git_oid *oid)
{
	git_tag *tag = NULL;
	int r;

	if (git_tag_lookup(&tag, c->im->repo, oid) < 0)
		return gitlib_err(c->err, "a tag of the sandbox is damaged");
	r = want(c, git_tag_target_id(tag), git_tag_target_type(tag), "object");
	git_tag_free(tag);
	return r;
}

static int check_tree_object(struct check *c, const git_oid *oid)
{
	git_odb_object *o = NULL;
	int r;

	if (git_odb_read(&o, c->pack, oid) < 0)
		return gitlib_err(c->err, "a tree of the sandbox is damaged");
	r = check_tree(c, git_odb_object_data(o), git_odb_object_size(o));
	git_odb_object_free(o);
	return r;
}

static int check_object(const git_oid *oid, void *arg)
{
	struct check *c = arg;
	git_object_t type;
	size_t size;

	c->im->n_objects++;
	import_progress(c->im, "check", c->im->n_objects, 0);
	if (git_odb_read_header(&size, &type, c->pack, oid) < 0)
		return gitlib_err(c->err, "an object of the sandbox is damaged");
	if ((type == GIT_OBJECT_TREE && size > TREE_SIZE_MAX) ||
	    ((type == GIT_OBJECT_COMMIT || type == GIT_OBJECT_TAG) && size > COMMIT_SIZE_MAX))
		return err_set(c->err, EFBIG, "an object of the sandbox is too large");
	if (type == GIT_OBJECT_TREE)
		return check_tree_object(c, oid);
	if (type == GIT_OBJECT_COMMIT)
		return check_commit(c, oid);
	return type == GIT_OBJECT_TAG ? check_tag(c, oid) : 0;
}

/* The user's own objects that the received ones name. */
static void list_borrowed(struct check *c)
{
	struct import *im = c->im;

	im->borrowed = xcalloc(c->known.n + 1, sizeof(*im->borrowed));
	for (size_t i = 0; i < c->known.cap; i++)
		if (c->known.v[i].used && !git_odb_exists(c->pack, &c->known.v[i].oid))
			im->borrowed[im->n_borrowed++] = c->known.v[i].oid;
}

int import_check(struct import *im, struct err *err)
{
	struct check c = {.im = im, .pack = im->received, .err = err};
	int r;

	err->msg[0] = '\0';
	r = git_odb_foreach(im->received, check_object, &c);
	/* An error of libgit2 itself has left no sentence. */
	if (r < 0 && !err->msg[0])
		r = gitlib_err(err, "cannot read the received objects");
	if (r == 0)
		list_borrowed(&c);
	free(c.known.v);
	return r < 0 ? r : 0;
}
