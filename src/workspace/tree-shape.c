#include "workspace/tree-shape.h"

#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/buf.h"
#include "workspace/git-stamp.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342 /* FIXME(linux-libc-dev 6.x): in linux/magic.h since 5.10 */
#endif

#define NAMES_MAX (16 * MiB)
#define SEARCH_MAX 64 /* directories that went since, in a row */

/* In the order of the walk: all from i + 1 up to `end` are below i. */
struct dir {
	uint64_t ino;
	int64_t changed; /* 0: it is always read again */
	uint32_t name;	 /* in names */
	uint32_t end;
};

struct tree_shape {
	dev_t dev;
	int64_t until; /* a directory that changed later may change again without another time */
	struct dir *v;
	size_t n, cap;
	struct buf names;
};

static bool is_known(int fd)
{
	static const unsigned long kinds[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
					      TMPFS_MAGIC};
	struct statfs sf;

	if (fstatfs(fd, &sf) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((unsigned long)sf.f_type == kinds[i])
			return true;
	return false;
}

struct tree_shape *tree_shape_new(int top)
{
	struct tree_shape *s;
	struct timespec now;
	struct stat st;

	if (!is_known(top) || fstat(top, &st) < 0)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	s->dev = st.st_dev;
	s->until = git_stamp_ns(&now) - GIT_STAMP_TICK_NS;
	buf_init(&s->names, NAMES_MAX);
	return s;
}

struct tree_shape *tree_shape_free(struct tree_shape *s)
{
	if (!s)
		return NULL;
	buf_done(&s->names);
	free(s->v);
	free(s);
	return NULL;
}

size_t tree_shape_add(struct tree_shape *s, const char *name, const struct stat *st)
{
	int64_t changed = git_stamp_ns(&st->st_ctim);

	if (!s || s->n == TREE_SHAPE_MAX || buf_append(&s->names, name, strlen(name) + 1) < 0)
		return TREE_SHAPE_NONE;
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->v = xrealloc(s->v, s->cap, sizeof(*s->v));
	}
	s->v[s->n] = (struct dir){
		.ino = st->st_ino,
		.changed = st->st_dev == s->dev && changed <= s->until ? changed : 0,
		.name = (uint32_t)(s->names.len - strlen(name) - 1),
		.end = (uint32_t)s->n + 1,
	};
	return s->n++;
}

void tree_shape_end(struct tree_shape *s, size_t i, bool matters)
{
	if (i == TREE_SHAPE_NONE)
		return;
	/* A directory below it may be missing in the list. */
	if (matters || s->n == TREE_SHAPE_MAX || s->names.full)
		s->v[i].changed = 0;
	s->v[i].end = (uint32_t)s->n;
}

size_t tree_shape_top(const struct tree_shape *s)
{
	return s->n ? 0 : TREE_SHAPE_NONE;
}

bool tree_shape_same(const struct tree_shape *s, size_t i, const struct stat *st)
{
	return i != TREE_SHAPE_NONE && s->v[i].changed && S_ISDIR(st->st_mode) &&
	       st->st_dev == s->dev && st->st_ino == s->v[i].ino &&
	       git_stamp_ns(&st->st_ctim) == s->v[i].changed;
}

size_t tree_shape_next(const struct tree_shape *s, size_t i, size_t child)
{
	size_t next = child == TREE_SHAPE_NONE ? i + 1 : s->v[child].end;

	return next < s->v[i].end ? next : TREE_SHAPE_NONE;
}

const char *tree_shape_name(const struct tree_shape *s, size_t i)
{
	return s->names.data + s->v[i].name;
}

/* Names that are still there come in the order of then. New ones, of which an agent can make many,
 * must not cost a search of all. */
size_t tree_shape_find(const struct tree_shape *s, size_t i, const char *name, size_t *hint)
{
	size_t at = *hint;

	if (!s || i == TREE_SHAPE_NONE)
		return TREE_SHAPE_NONE;
	for (int left = SEARCH_MAX; left > 0; left--) {
		at = tree_shape_next(s, i, at);
		if (at == TREE_SHAPE_NONE)
			return TREE_SHAPE_NONE;
		if (streq(tree_shape_name(s, at), name)) {
			*hint = at;
			return at;
		}
	}
	return TREE_SHAPE_NONE;
}
