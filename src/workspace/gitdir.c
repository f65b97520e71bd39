#include "workspace/gitdir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/gitconfig.h"

#define POINTER_MAX (4 * KiB) /* of .git, gitdir, commondir, HEAD */
#define CONFIG_MAX (256 * KiB)
#define BRANCH_MAX 512
#define PARENTS_MAX 128

static int note(struct gitdir *g, const char *why)
{
	if (!g->note)
		g->note = xstrdup(why);
	return -ENOENT;
}

/* A small regular file below dir, no link on the way, no newline at its end; never blocks on a
 * pipe that someone put there. */
static int read_small(int dir, const char *name, size_t max, char **ret)
{
	cleanup_fd int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_buf struct buf b = {0};
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	buf_init(&b, max);
	r = fd_read_all(fd, &b);
	if (r < 0)
		return r;
	if (memchr(b.data ? b.data : "", 0, b.len))
		return -EINVAL;
	while (b.len && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
		b.data[--b.len] = '\0';
	*ret = xstrdup(buf_str(&b));
	return 0;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool has(int dir, const char *name, mode_t type)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == type;
}

/* The names git itself asks for; a HEAD alone does not make a repository. */
static bool is_common(int dir)
{
	return has(dir, "HEAD", S_IFREG) && has(dir, "objects", S_IFDIR) &&
	       has(dir, "refs", S_IFDIR);
}

/* What a branch may be called is git's affair; here: printable, bounded, below refs/heads. */
static char *read_branch(int dir)
{
	static const char prefix[] = "ref: refs/heads/";
	cleanup_free char *head = NULL;
	const char *name;

	if (read_small(dir, "HEAD", POINTER_MAX, &head) < 0)
		return NULL;
	if (strncmp(head, prefix, strlen(prefix)) != 0)
		return NULL;
	name = head + strlen(prefix);
	if (!*name || strlen(name) > BRANCH_MAX)
		return NULL;
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return NULL;
	return xstrdup(name);
}

/* Of a submodule: which directory is its own; NULL without one. */
static char *config_worktree(int dir)
{
	cleanup_free char *text = NULL;

	if (read_small(dir, "config", CONFIG_MAX, &text) < 0)
		return NULL;
	return gitconfig_get(text, strlen(text), "core", "worktree");
}

/* Does `text`, relative to base, name the same thing as `want`, a real path? */
static bool names(const char *base, const char *text, const char *want)
{
	cleanup_free char *joined = path_join(base, text);
	cleanup_free char *real = realpath(joined, NULL);

	return real && streq(real, want);
}

/* A linked worktree: DIR/gitdir names our .git, DIR/commondir the repository it belongs to, and
 * DIR is one of that repository's worktrees. */
static int take_worktree(struct gitdir *g, int dir, const char *dir_path, const char *common_text)
{
	cleanup_free char *back = NULL;
	cleanup_free char *git_file = path_join(g->root, ".git");
	cleanup_free char *joined = path_join(dir_path, common_text);
	cleanup_free char *common = realpath(joined, NULL);
	cleanup_free char *worktrees = NULL;
	cleanup_fd int fd = -1;

	if (read_small(dir, "gitdir", POINTER_MAX, &back) < 0 || !names(dir_path, back, git_file))
		return note(g, "its .git file points to a git directory that does not know it");
	worktrees = common ? path_join(common, "worktrees") : NULL;
	if (!worktrees || !path_under(dir_path, worktrees))
		return note(g, "its git directory is not among the worktrees of its repository");
	fd = open_dir(common);
	if (fd < 0 || !is_common(fd))
		return note(g, "its common directory is not a git directory");
	g->common = take_ptr(common);
	return 0;
}

/* A .git file: "gitdir: PATH". */
static int take_pointer(struct gitdir *g, const char *text)
{
	static const char prefix[] = "gitdir: ";
	cleanup_free char *joined = NULL, *dir = NULL, *common = NULL, *worktree = NULL;
	cleanup_fd int fd = -1;
	int r;

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return note(g, "its .git file does not say where the git directory is");
	joined = path_join(g->root, text + strlen(prefix));
	dir = realpath(joined, NULL);
	fd = dir ? open_dir(dir) : -ENOENT;
	if (fd < 0)
		return note(g, "its .git file points to nothing");
	if (read_small(fd, "commondir", POINTER_MAX, &common) == 0) {
		r = take_worktree(g, fd, dir, common);
		if (r < 0)
			return r;
	} else {
		worktree = config_worktree(fd);
		if (!is_common(fd) || !worktree || !names(dir, worktree, g->root))
			return note(g, "its .git file points to a git directory that does not "
				       "know it");
		g->common = xstrdup(dir);
	}
	g->branch = read_branch(fd);
	g->dir = take_ptr(dir);
	return 0;
}

static bool is_empty(int dir)
{
	cleanup_fd int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de = NULL;

	if (!d)
		return false;
	(void)take_fd(fd);
	while ((de = readdir(d)) && (streq(de->d_name, ".") || streq(de->d_name, "..")))
		;
	(void)closedir(d);
	return !de;
}

/* .git in one directory: 0 it is a repository, -ENOENT it is not. */
static int look_in(struct gitdir *g, int dir)
{
	cleanup_free char *text = NULL;
	cleanup_fd int git = path_open_beneath(dir, ".git", O_RDONLY | O_DIRECTORY, 0);
	int r;

	if (git >= 0) {
		if (is_empty(git))
			return -ENOENT; /* git passes over it; ralph makes such a place, too */
		if (!is_common(git))
			return note(g, "its .git directory is not a git directory");
		g->dir = path_join(g->root, ".git");
		/* A commondir file in here is nothing git makes: what it says does not count. */
		g->common = xstrdup(g->dir);
		g->branch = read_branch(git);
		return 0;
	}
	if (git == -ELOOP)
		return note(g, "its .git is a symbolic link");
	if (git != -ENOTDIR)
		return -ENOENT;
	r = read_small(dir, ".git", POINTER_MAX, &text);
	if (r < 0)
		return note(g, "its .git file cannot be read");
	return take_pointer(g, text);
}

/* A bare repository is the workspace itself. Its own word decides, as it does for git. */
static int look_bare(struct gitdir *g, int dir)
{
	cleanup_free char *text = NULL, *bare = NULL;

	if (!is_common(dir) || read_small(dir, "config", CONFIG_MAX, &text) < 0)
		return -ENOENT;
	bare = gitconfig_get(text, strlen(text), "core", "bare");
	if (!bare || strcasecmp(bare, "true") != 0)
		return -ENOENT;
	g->dir = xstrdup(g->root);
	g->common = xstrdup(g->root);
	g->branch = read_branch(dir);
	return 0;
}

/* Who owns a directory above decides what is in its .git: another user's does not count. */
static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0 || geteuid() == 0;
}

int gitdir_find(const char *workspace, const char *stop, struct gitdir *ret, struct err *err)
{
	struct gitdir g = {.root = xstrdup(workspace)};
	struct stat first, st;

	for (int i = 0; i < PARENTS_MAX; i++) {
		cleanup_fd int fd = open_dir(g.root);
		char *up;

		if (i == 0 && (fd < 0 || fstat(fd, &first) < 0)) {
			gitdir_done(&g);
			return err_sys(err, fd < 0 ? -fd : errno, "cannot open '%s'", workspace);
		}
		if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != first.st_dev || !is_ours(&st))
			break;
		if (i > 0 && ((stop && streq(g.root, stop)) || streq(g.root, "/")))
			break;
		if (look_in(&g, fd) == 0 || (i == 0 && !g.note && look_bare(&g, fd) == 0)) {
			*ret = g;
			return 0;
		}
		/* Something that only looks like a repository ends the search, as it does in git.
		 */
		if (g.note || streq(g.root, "/"))
			break;
		up = path_dir(g.root);
		free(g.root);
		g.root = up;
	}
	*ret = (struct gitdir){.note = take_ptr(g.note)};
	gitdir_done(&g);
	return 0;
}

void gitdir_done(struct gitdir *g)
{
	free(g->root);
	free(g->dir);
	free(g->common);
	free(g->branch);
	free(g->note);
	*g = (struct gitdir){0};
}

static bool is_origin(const struct gitconfig_entry *e, void *arg)
{
	char **url = arg;

	if (streq(e->section, "remote") && e->sub && streq(e->sub, "origin") &&
	    streq(e->key, "url") && e->value) {
		free(*url);
		*url = xstrdup(e->value);
	}
	return false;
}

char *gitdir_origin(const struct gitdir *g)
{
	cleanup_fd int dir = g->common ? open_dir(g->common) : -1;
	cleanup_free char *text = NULL;
	char *url = NULL;

	if (dir < 0 || read_small(dir, "config", CONFIG_MAX, &text) < 0)
		return NULL;
	(void)gitconfig_each(text, strlen(text), is_origin, &url);
	return url;
}

void gitdir_key(const struct gitdir *g, const char *workspace, char ret[GITDIR_KEY_LEN + 1])
{
	const char *path = g->common ? g->common : workspace;

	_Static_assert(SHA256_DIGEST_STRING_LENGTH == GITDIR_KEY_LEN + 1, "hex and its end");
	(void)SHA256Data((const uint8_t *)path, strlen(path), ret);
}
