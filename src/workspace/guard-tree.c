#include "workspace/guard-find.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/gitindex.h"
#include "workspace/tree-walk.h"

#define INDEX_MAX (64 * MiB)
#define TRACKED_MAX (1 * MiB) /* a larger file is masked, whether git tracks it or not */

/* The whole tree but its heaps is looked at: a name that was passed over would not be protected. */
struct inode {
	dev_t dev;
	ino_t ino;
};

struct look {
	struct finder *f;
	struct inode *shared; /* secrets that have another name somewhere */
	size_t n_shared;
	struct buf index; /* git's; read when a secret's name asks for it */
	bool index_read;
};

/* Fetched or built by the thousand, and never what a person keeps settings or keys in. */
static bool is_heap(const char *name)
{
	static const char *const heaps[] = {
		"node_modules", ".venv", "venv", "site-packages", "target",    "vendor",
		"__pycache__",	".git",	 "dist", ".tox",	  ".terraform"};

	for (size_t i = 0; i < ARRAY_SIZE(heaps); i++)
		if (streq(name, heaps[i]))
			return true;
	return false;
}

static const struct buf *git_index(struct look *l)
{
	cleanup_fd int dir = -1;

	if (l->index_read)
		return &l->index;
	l->index_read = true;
	dir = open(l->f->in->git->dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || path_read(dir, "index", &l->index) < 0)
		buf_clear(&l->index);
	return &l->index;
}

/* The history of a file that git tracks can be read, so covering it would only break git. */
static bool is_tracked(struct look *l, const char *path)
{
	const struct guard_input *in = l->f->in;
	uint8_t hash[GITINDEX_HASH_LEN];
	cleanup_buf struct buf content;
	const struct buf *index;

	buf_init(&content, TRACKED_MAX);
	if (!in->git || !in->git->root || !streq(in->git->root, in->dir) ||
	    finder_read(l->f, path, &content) < 0)
		return false;
	index = git_index(l);
	gitindex_hash(buf_str(&content), content.len, hash);
	return index->len && gitindex_lists((const uint8_t *)index->data, index->len,
					    path + strlen(in->dir) + 1, hash);
}

static bool is_there(const struct tree_dir *d, const char *name)
{
	struct stat st;

	return fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_directory(const struct tree_dir *d, const char *name, unsigned char type)
{
	struct stat st;

	if (type != DT_UNKNOWN)
		return type == DT_DIR;
	return fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Its owner cannot go into it: nothing in there could be mounted, but all of it can be read-only,
 * and then it cannot be opened inside either. */
static bool is_closed(const struct tree_dir *d, const char *name)
{
	struct stat st;

	return fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       !(st.st_mode & S_IXUSR);
}

static void note_shared(struct look *l, const struct tree_dir *d, const char *name)
{
	struct stat st;

	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink < 2)
		return;
	l->shared = xrealloc(l->shared, l->n_shared + 1, sizeof(*l->shared));
	l->shared[l->n_shared++] = (struct inode){.dev = st.st_dev, .ino = st.st_ino};
}

static void protect(struct look *l, const struct tree_dir *d, const char *name,
		    enum guard_kind kind, const char *why)
{
	cleanup_free char *path = path_join(d->path, name);

	if (kind == GUARD_MASK && is_tracked(l, path))
		return;
	if (kind == GUARD_MASK)
		note_shared(l, d, name);
	finder_protect(l->f, path, kind, why);
}

/* A secret, a protected name, or a link in the place of a directory that holds some. */
static void look_at(struct look *l, const struct tree_dir *d, const char *name, bool is_dir)
{
	const struct protect_rule *rule = protect_match(PROTECT_TREE, path_base(d->path), name);
	const struct strv *masks = l->f->in->masks;

	if (!is_dir && masks && protect_masked(name, masks->v, masks->n))
		protect(l, d, name, GUARD_MASK, "a secret, by its name");
	else if (rule)
		protect(l, d, name, GUARD_RO, rule->why);
	else if (!is_dir && protect_link(name))
		protect(l, d, name, GUARD_RO, protect_link(name)->why);
}

static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	struct look *l = arg;
	bool is_dir = is_directory(d, name, type);

	if (strcasecmp(name, ".git") == 0) {
		guard_dot_git(l->f, d->path);
		return false;
	}
	if (is_dir && is_closed(d, name)) {
		protect(l, d, name, GUARD_RO, "closed to its owner");
		return false;
	}
	look_at(l, d, name, is_dir);
	return is_dir && !is_heap(name);
}

static void on_leave(void *arg, const struct tree_dir *d)
{
	struct look *l = arg;

	if (is_there(d, "HEAD") && is_there(d, "objects") && is_there(d, "refs"))
		guard_git(l->f, PROTECT_GIT, d->path, NULL);
}

static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	struct look *l = arg;
	cleanup_free char *path = *name ? path_join(d->path, name) : xstrdup(d->path);

	finder_refuse(l->f, "cannot look for protected files (%s) in '%s'", tree_refusal(error),
		      path);
}

/* Another name of a secret shows it as well. */
static bool on_other_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	struct look *l = arg;
	cleanup_free char *path = NULL;
	struct stat st;

	if (type == DT_DIR)
		return true;
	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_nlink < 2)
		return true;
	for (size_t i = 0; i < l->n_shared; i++)
		if (l->shared[i].ino == st.st_ino && l->shared[i].dev == st.st_dev) {
			path = path_join(d->path, name);
			finder_protect(l->f, path, GUARD_MASK, "another name of a secret");
			break;
		}
	return true;
}

void guard_tree(struct finder *f)
{
	static const struct tree_ops ops = {on_name, on_leave, on_refused},
				     others = {on_other_name, NULL, on_refused};
	struct look l = {.f = f};

	buf_init(&l.index, INDEX_MAX);
	finder_place(f, PROTECT_TREE, f->in->dir);
	guard_named(f, NULL, f->in->git && f->in->git->root ? f->in->git->root : f->in->dir);
	if (tree_walk(finder_open(f, f->in->dir, O_RDONLY | O_DIRECTORY), f->in->dir, &ops, &l) < 0)
		finder_refuse(f, "cannot look for protected files in '%s'", f->in->dir);
	if (l.n_shared)
		(void)tree_walk(finder_open(f, f->in->dir, O_RDONLY | O_DIRECTORY), f->in->dir,
				&others, &l);
	free(l.shared);
	buf_done(&l.index);
}
