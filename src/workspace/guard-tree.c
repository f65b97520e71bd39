#include "workspace/guard-find.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/gitindex.h"

/*
 * A start has no time to look at every file of a large tree: from the top, so many directories, so
 * deep. What lies deeper is watched for at the end (see host-run-walk.c), which is no mount.
 */
#define DIRS_MAX 200
#define DEPTH_MAX 5
#define NAMES_MAX 4096 /* of one directory */
#define INDEX_MAX (64 * MiB)
#define TRACKED_MAX (1 * MiB) /* a larger file is masked, whether git tracks it or not */

struct level {
	struct strv dirs; /* to be visited */
	struct strv next; /* found there */
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

/* .claude and .github hold protected names, and must not be left out for want of time. */
static bool holds_rules(const char *name)
{
	size_t n = strlen(name);

	for (const struct protect_rule *r = protect_rules(PROTECT_TREE); r->path; r++)
		if (strncmp(r->path, name, n) == 0 && r->path[n] == '/')
			return true;
	return false;
}

static bool is_dir(const struct dirent *de, int dirfd)
{
	struct stat st;

	if (de->d_type != DT_UNKNOWN)
		return de->d_type == DT_DIR;
	return fstatat(dirfd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* The marks of a bare repository among the names of one directory. */
enum bare_marks { BARE_HEAD = 1, BARE_OBJECTS = 2, BARE_REFS = 4, BARE_ALL = 7 };

static unsigned bare_mark(const char *name)
{
	return streq(name, "HEAD")	? BARE_HEAD
	       : streq(name, "objects") ? BARE_OBJECTS
	       : streq(name, "refs")	? BARE_REFS
					: 0;
}

/* The history of a file that git tracks can be read, so covering it would only break git. */
static bool is_tracked(const struct finder *f, const char *path)
{
	const struct gitdir *git = f->in->git;
	cleanup_free char *index_path = NULL;
	uint8_t hash[GITINDEX_HASH_LEN];
	cleanup_buf struct buf index, content;

	buf_init(&index, INDEX_MAX);
	buf_init(&content, TRACKED_MAX);
	if (!git || !git->root || !streq(git->root, f->in->dir))
		return false;
	index_path = path_join(git->dir, "index");
	if (finder_read(f, path, &content) < 0 || finder_read(f, index_path, &index) < 0)
		return false;
	gitindex_hash(buf_str(&content), content.len, hash);
	return gitindex_lists((const uint8_t *)buf_str(&index), index.len,
			      path + strlen(f->in->dir) + 1, hash);
}

static void visit(struct finder *f, const char *dir, struct level *level);

static void visit_name(struct finder *f, const char *dir, const char *name, bool is_directory,
		       struct level *level)
{
	cleanup_free char *path = path_join(dir, name);
	const struct protect_rule *rule = protect_match(PROTECT_TREE, path_base(dir), name);
	const struct strv *masks = f->in->masks;

	if (streq(name, ".git"))
		guard_dot_git(f, dir);
	else if (!is_directory && masks && protect_masked(name, masks->v, masks->n) &&
		 !is_tracked(f, path))
		finder_protect(f, path, GUARD_MASK, "a secret, by its name");
	else if (rule)
		finder_protect(f, path, GUARD_RO, rule->why);
	else if (holds_rules(name) && !is_directory) /* a link instead of the directory */
		finder_protect(f, path, GUARD_RO, "holds settings that the host reads");
	else if (holds_rules(name))
		visit(f, path, level);
	else if (is_directory && !is_heap(name))
		strv_push(&level->next, path);
}

static void visit(struct finder *f, const char *dir, struct level *level)
{
	DIR *d = finder_dir(f, dir);
	struct dirent *de;
	unsigned marks = 0;
	int left = NAMES_MAX;

	while (d && left-- > 0 && (de = readdir(d))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		marks |= bare_mark(de->d_name);
		visit_name(f, dir, de->d_name, is_dir(de, dirfd(d)), level);
	}
	if (d)
		(void)closedir(d);
	if (marks == BARE_ALL)
		guard_git(f, PROTECT_GIT, dir, NULL);
}

void guard_tree(struct finder *f)
{
	struct level level;
	int budget = DIRS_MAX;

	strv_init(&level.dirs);
	strv_init(&level.next);
	finder_place(f, PROTECT_TREE, f->in->dir);
	visit(f, f->in->dir, &level);
	for (int depth = 1; depth < DEPTH_MAX && level.next.n && budget > 0; depth++) {
		strv_done(&level.dirs);
		level.dirs = level.next;
		strv_init(&level.next);
		for (size_t i = 0; i < level.dirs.n && budget-- > 0; i++)
			visit(f, level.dirs.v[i], &level);
	}
	strv_done(&level.dirs);
	strv_done(&level.next);
}
