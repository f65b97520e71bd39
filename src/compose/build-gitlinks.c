/*
 * Submodules without a git directory of their own: git of the host enters `PATH/.git` of every one
 * that its index lists as soon as there is something, so each place is covered from the start on.
 */
#include "compose/build-gitlinks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "workspace/gitdir.h"
#include "workspace/private/gitlinks.h"
#include "workspace/private/private-git.h"

#define MODULES_TEXT_MAX (1 * MiB)
#define PLACES_MAX 1024

struct places_of {
	struct sandbox_spec *spec;
	int root; /* the workspace */
	struct strv done;
	const char *top; /* what the paths are relative to */
	bool listed;	 /* in an index, so git enters it */
	struct err *err;
	int r;
};

static bool is_empty(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *de = NULL;

	while (d && (de = readdir(d)) && (streq(de->d_name, ".") || streq(de->d_name, "..")))
		;
	if (d)
		(void)closedir(d);
	return d && !de;
}

/* Nobody inside can rename what holds a mount. */
static void pin_above(struct sandbox_spec *s, int root, const char *path)
{
	for (const char *slash = strchr(path + strlen(s->workspace) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		cleanup_free char *dir = xstrndup(path, (size_t)(slash - path));
		cleanup_fd int fd = path_open_beneath(root, dir + strlen(s->workspace) + 1,
						      O_PATH | O_DIRECTORY, 0);

		if (fd >= 0)
			(void)spec_mount_add(s, SPEC_PIN, dir, dir,
					     "stays where it is: it holds a submodule");
	}
}

/* One source for each: what lies below a directory of the agent's is not mounted. */
static void mount_one(struct places_of *l, const char *path, const char *target, const char *kind)
{
	struct sandbox_spec *s = l->spec;
	const char *rel = path + strlen(s->workspace) + 1;
	char name[SHA256_DIGEST_STRING_LENGTH];
	cleanup_free char *source = NULL;

	(void)SHA256Data((const uint8_t *)rel, strlen(rel), name);
	source = xasprintf("%s" GITLINKS_DIR "/%s%s", s->git.private, kind, name);
	pin_above(s, l->root, target);
	spec_mount_add(s, SPEC_BIND_RW, source, target, "a submodule that is not initialised")
		->of_tree = true;
}

static int refuse(struct places_of *l, const char *path, int error)
{
	return err_usage(
		l->err,
		"'%s' is a submodule for git, but no directory (%s): an agent could make a "
		"repository there, which your git would enter; make the directory, or take "
		"it out of git's index: git rm --cached",
		path, strerror(error));
}

/* Files that are there stay in sight, and only the place of .git is covered. */
static int cover(struct places_of *l, const char *path)
{
	cleanup_free char *dot_git = path_join(path, ".git");
	cleanup_fd int fd = path_open_beneath(l->root, path + strlen(l->spec->workspace) + 1,
					      O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (!l->listed && (fd < 0 || !is_empty(fd)))
		return 0;
	if (fd == -ENOENT)
		mount_one(l, path, path, GITLINKS_ABSENT);
	else if (fd < 0)
		return refuse(l, path, -fd);
	else if (is_empty(fd))
		mount_one(l, path, path, "");
	else if (fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		mount_one(l, path, dot_git, "git-");
	return 0;
}

static bool on_link(const char *rel, void *arg)
{
	struct places_of *l = arg;
	cleanup_free char *path = path_join(l->top, rel);

	if (rel[0] == '/' || !path_is_normal(path) || !path_under(path, l->spec->workspace) ||
	    streq(path, l->spec->workspace) || strv_has(&l->done, path))
		return false;
	strv_push(&l->done, path);
	l->r = l->done.n > PLACES_MAX
		       ? err_usage(l->err, "'%s' has more than %d submodules", l->top, PLACES_MAX)
		       : cover(l, path);
	return l->r < 0;
}

static bool on_entry(const struct gitconfig_entry *e, void *arg)
{
	if (!streq(e->section, "submodule") || !e->sub || !streq(e->key, "path") || !e->value)
		return false;
	return on_link(e->value, arg);
}

static int look_at(struct places_of *l, const char *top, const char *dir, const char *common)
{
	cleanup_free char *modules = path_join(top, ".gitmodules");
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, MODULES_TEXT_MAX);
	l->top = top;
	l->listed = true;
	r = gitlinks_each(dir, common, on_link, l);
	if (r < 0)
		return err_sys(l->err, -r, "cannot read git's index in '%s'", dir);
	if (l->r < 0 || !path_under(top, l->spec->workspace))
		return l->r;
	/* These need not be in the index yet. */
	l->listed = false;
	r = path_read(l->root, modules + strlen(l->spec->workspace) + 1, &b);
	if (r < 0 && r != -ENOENT)
		return err_sys(l->err, -r, "cannot read '%s'", modules);
	if (r == 0)
		(void)gitconfig_each(buf_str(&b), b.len, on_entry, l);
	return l->r;
}

int build_gitlinks(struct sandbox_spec *s, const struct gitdir *g, const struct private_git *p,
		   struct err *err)
{
	cleanup_fd int root = open(s->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct places_of l = {.spec = s, .root = root, .err = err};
	int r = root < 0 ? err_sys(err, errno, "cannot open '%s'", s->workspace)
			 : look_at(&l, g->root, g->dir, g->common);

	for (size_t i = 0; r == 0 && i < p->n_modules; i++) {
		cleanup_free char *dir = path_join(g->dir, p->modules[i].name);

		if (p->modules[i].worktree)
			r = look_at(&l, p->modules[i].worktree, dir, dir);
	}
	strv_done(&l.done);
	return r;
}
