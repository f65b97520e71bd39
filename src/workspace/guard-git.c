#include "workspace/guard-find.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define POINTER_MAX (4 * KiB)
#define GIT_DIRS_MAX 1000 /* with more of them no sandbox starts */
#define MODULES_DEPTH 8	  /* names of submodules have slashes */

static bool is_there(const struct finder *f, const char *dir, const char *name, mode_t type)
{
	cleanup_free char *path = path_join(dir, name);
	cleanup_fd int fd = finder_open(f, path, O_PATH | O_NOFOLLOW);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

static bool is_git(const struct finder *f, const char *dir)
{
	return is_there(f, dir, "HEAD", S_IFREG) && is_there(f, dir, "objects", S_IFDIR);
}

/* The first line of a small file: a path, made absolute against dir and resolved. NULL: none. */
static char *read_pointer(const struct finder *f, const char *dir, const char *name,
			  const char *prefix)
{
	cleanup_free char *path = path_join(dir, name), *joined = NULL;
	cleanup_buf struct buf b;
	const char *text;

	buf_init(&b, POINTER_MAX);
	if (finder_read(f, path, &b) < 0)
		return NULL;
	text = buf_str(&b);
	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return NULL;
	text += strlen(prefix);
	b.data[strcspn(b.data, "\r\n")] = '\0';
	joined = path_join(dir, text);
	return realpath(joined, NULL);
}

static void guard_modules(struct finder *f, const char *dir, int depth)
{
	DIR *d = depth < MODULES_DEPTH ? finder_dir(f, dir) : NULL;
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = NULL;

		if (de->d_name[0] == '.' || de->d_type != DT_DIR)
			continue;
		path = path_join(dir, de->d_name);
		if (is_git(f, path))
			guard_git(f, PROTECT_GIT, path, NULL);
		else
			guard_modules(f, path, depth + 1);
	}
	if (d)
		(void)closedir(d);
}

/* Ours, or one whose files are in here, is worked in; of the others nothing needs to be written. */
static bool is_worked_in(const struct finder *f, const char *worktree)
{
	cleanup_free char *git_file = read_pointer(f, worktree, "gitdir", "");

	if (f->in->git && f->in->git->dir && streq(f->in->git->dir, worktree))
		return true;
	return git_file && path_under(git_file, f->in->dir);
}

static void guard_worktrees(struct finder *f, const char *dir)
{
	cleanup_free char *worktrees = path_join(dir, "worktrees");
	DIR *d = finder_dir(f, worktrees);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = NULL;

		if (de->d_name[0] == '.' || de->d_type != DT_DIR)
			continue;
		path = path_join(worktrees, de->d_name);
		if (is_worked_in(f, path))
			guard_git(f, PROTECT_WORKTREE, path, NULL);
		else
			finder_protect(f, path, GUARD_RO, "of another worktree");
	}
	if (d)
		(void)closedir(d);
}

void guard_git(struct finder *f, enum protect_base base, const char *dir, const char *root)
{
	cleanup_free char *modules = path_join(dir, "modules");

	if (strv_has(&f->git_seen, dir))
		return;
	if (f->git_seen.n == GIT_DIRS_MAX) {
		finder_refuse(f, "more than %d git directories in '%s', such as '%s'", GIT_DIRS_MAX,
			      f->in->dir, dir);
		return;
	}
	strv_push(&f->git_seen, dir);
	finder_place(f, base, dir);
	for (const struct protect_rule *r = protect_rules(base); r->path; r++) {
		cleanup_free char *path = path_join(dir, r->path);

		finder_protect(f, path, GUARD_RO, r->why);
	}
	guard_named(f, dir, root);
	guard_modules(f, modules, 0);
	guard_worktrees(f, dir);
}

/* The git directory that a .git file or link leads to counts where it can be written inside. */
static void guard_pointed(struct finder *f, const char *parent, const char *dir)
{
	const struct guard_input *in = f->in;
	bool linked = is_there(f, dir, "commondir", S_IFREG);

	/* A submodule has a private git directory as well, and settings that still name programs. */
	if (in->private && in->git && path_under(dir, in->git->common))
		guard_named(f, dir, parent);
	if (is_there(f, dir, "HEAD", S_IFREG))
		guard_git(f, linked ? PROTECT_WORKTREE : PROTECT_GIT, dir, parent);
}

void guard_dot_git(struct finder *f, const char *parent)
{
	cleanup_free char *path = path_join(parent, ".git"), *dir = NULL;
	cleanup_fd int fd = finder_open(f, path, O_PATH | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		guard_git(f, PROTECT_GIT, path, parent);
		return;
	}
	if (S_ISREG(st.st_mode)) {
		finder_protect(f, path, GUARD_RO, "where the git directory is");
		dir = read_pointer(f, parent, ".git", "gitdir: ");
	} else if (S_ISLNK(st.st_mode)) {
		dir = realpath(path, NULL);
	}
	if (dir)
		guard_pointed(f, parent, dir);
}
