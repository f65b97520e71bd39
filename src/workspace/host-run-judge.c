#include "workspace/host-run-judge.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "workspace/host-run.h"

#define CONFIG_MAX (1 * MiB) /* a larger one is not read, and counts as one that runs something */
#define POINTER_MAX (4 * KiB)
#define HOOKS_MAX 512 /* with more of them the directory goes as a whole */

bool judge_is_fresh(const struct judge *j, const struct stat *st)
{
	return st->st_ctim.tv_sec > j->since.tv_sec ||
	       (st->st_ctim.tv_sec == j->since.tv_sec && st->st_ctim.tv_nsec >= j->since.tv_nsec);
}

bool judge_is_known(const struct judge *j, const char *path)
{
	for (size_t i = 0; i < j->spec->n_watches; i++)
		if (j->spec->watches[i].kind != SPEC_WATCH_PATH &&
		    j->spec->watches[i].kind != SPEC_WATCH_TREE &&
		    streq(j->spec->watches[i].dir, path))
			return true;
	return false;
}

/* A regular file below at as text; *ret_fresh: it changed. -EFBIG when it is too large. */
static int read_text(const struct judge *j, int at, const char *name, struct buf *b,
		     bool *ret_fresh)
{
	cleanup_fd int fd = path_open_beneath(at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_fresh = judge_is_fresh(j, &st);
	r = fd_read_all(fd, b);
	return r == -ENOBUFS ? -EFBIG : r;
}

void judge_add(struct judge *j, const char *dir, const char *name, char *why)
{
	cleanup_free char *path = path_join(dir, name);

	/* What was read-only inside the agent has not written. */
	if (host_run_is_mounted(j->spec, path))
		free(why);
	else
		(void)findings_add(j->out, path, why, true);
}

/* A link in the place of the settings: git would read what it leads to. */
static bool is_link(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* What git would use, and we may not read, is judged as if it ran something. */
static bool is_refused(const struct judge *j, int at, const char *name, int r, bool moved)
{
	struct stat st;

	return (r == -EACCES || r == -EPERM || r == -EIO || r == -EMFILE || r == -ENFILE) &&
	       fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (moved || judge_is_fresh(j, &st));
}

/* The directory of a submodule: in the workspace, or there is none. */
static bool names_workspace(const struct judge *j, const char *dir, struct buf *config)
{
	cleanup_free char *text = gitconfig_get(buf_str(config), config->len, "core", "worktree");
	cleanup_free char *joined = text ? path_join(dir, text) : NULL;
	cleanup_free char *real = joined ? realpath(joined, NULL) : NULL;

	return !text || (real && path_under(real, j->spec->workspace));
}

static void judge_config(struct judge *j, int at, const char *dir, const char *name, bool moved)
{
	bool module = strstr(dir, "/.git/modules/") != NULL, fresh = false;
	cleanup_free char *key = NULL;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, CONFIG_MAX);
	if (is_link(at, name)) {
		judge_add(j, dir, name, xstrdup("settings of git behind a link"));
		return;
	}
	r = read_text(j, at, name, &b, &fresh);
	if (r == -EFBIG || is_refused(j, at, name, r, moved))
		judge_add(j, dir, name, xstrdup("settings of git that cannot be read"));
	if (r < 0 || (!fresh && !moved))
		return;
	key = gitconfig_runs(buf_str(&b), b.len, module && names_workspace(j, dir, &b));
	if (key)
		judge_add(j, dir, name,
			  xasprintf("settings of git that run something: %.200s", key));
}

/* Hooks that git would run; those of its template end in .sample and are not. */
static void judge_hooks(struct judge *j, int at, const char *dir, bool moved)
{
	cleanup_free char *path = path_join(dir, "hooks");
	cleanup_fd int fd = path_open_beneath(at, "hooks", O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	int left = HOOKS_MAX;

	if (is_refused(j, at, "hooks", fd, moved))
		judge_add(j, dir, "hooks", xstrdup("programs that git runs, and cannot be read"));
	if (!d && is_link(at, "hooks"))
		judge_add(j, dir, "hooks", xstrdup("programs that git runs, behind a link"));
	if (!d)
		return;
	(void)take_fd(fd);
	while (left > 0 && (de = readdir(d))) {
		size_t n = strlen(de->d_name);
		struct stat st;

		if (de->d_name[0] == '.' || (n > 7 && streq(de->d_name + n - 7, ".sample")))
			continue;
		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if ((S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && (st.st_mode & 0111))) &&
		    (moved || judge_is_fresh(j, &st)) && --left > 0)
			judge_add(j, path, de->d_name, xstrdup("a program that git runs"));
	}
	if (left == 0)
		judge_add(j, dir, "hooks", xstrdup("more programs that git runs than are judged"));
	(void)closedir(d);
}

/* An unfinished rebase: `git rebase --continue` runs what its list says. */
static void judge_rebase(struct judge *j, int at, const char *dir)
{
	static const char name[] = "rebase-merge/git-rebase-todo";
	cleanup_buf struct buf b;
	bool fresh = false;

	buf_init(&b, CONFIG_MAX);
	if (read_text(j, at, name, &b, &fresh) < 0 || !fresh)
		return;
	for (const char *p = buf_str(&b); p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		p += strspn(p, " \t");
		if (strncmp(p, "exec ", 5) == 0 || strncmp(p, "x ", 2) == 0) {
			judge_add(j, dir, name,
				  xstrdup("commands that git rebase --continue runs"));
			return;
		}
	}
}

/* Below one of the trees that the sandbox may write? Then it is looked at, else it is refused. */
static int open_inside(const struct judge *j, const char *path)
{
	for (size_t i = 0; i < j->spec->n_mounts; i++) {
		const struct spec_mount *m = &j->spec->mounts[i];
		cleanup_fd int root = -1;
		const char *rest;

		if (m->kind != SPEC_BIND_RW || !path_under(path, m->source) ||
		    streq(m->target, j->spec->home))
			continue;
		root = open(m->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
		rest = path + strlen(m->source);
		if (root >= 0)
			return path_open_beneath(root, *rest ? rest + 1 : ".",
						 O_RDONLY | O_DIRECTORY, 0);
	}
	return -EXDEV;
}

/* Follows one pointer in a file below at to the git directory it names. */
static void judge_pointer(struct judge *j, int at, const char *dir, const char *name,
			  const char *prefix, bool moved)
{
	cleanup_free char *joined = NULL, *real = NULL;
	cleanup_fd int fd = -1;
	cleanup_buf struct buf b;
	bool fresh = false;
	const char *text;
	int r;

	buf_init(&b, POINTER_MAX);
	r = read_text(j, at, name, &b, &fresh);
	if (r == -EFBIG || is_refused(j, at, name, r, moved))
		judge_add(j, dir, name, xstrdup("leads git to a place that cannot be read"));
	if (r < 0)
		return;
	text = buf_str(&b);
	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return; /* git does not take it either */
	text += strlen(prefix);
	b.data[strcspn(b.data, "\r\n")] = '\0';
	joined = path_join(dir, text);
	real = realpath(joined, NULL);
	if (!real || judge_is_known(j, real))
		return;
	fd = open_inside(j, real);
	if (fd >= 0)
		judge_git(j, fd, real, moved || fresh);
	else if (fresh || moved)
		judge_add(j, dir, name, xasprintf("leads git to %.200s", real));
}

/* modules/NAME and worktrees/NAME that were not there at the start. */
static void judge_children(struct judge *j, int at, const char *dir, const char *name, int depth)
{
	cleanup_free char *path = path_join(dir, name);
	cleanup_fd int fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 || depth == 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d)
		return;
	(void)take_fd(fd);
	while ((de = readdir(d))) {
		cleanup_free char *child = NULL;
		cleanup_fd int child_fd = -1;
		struct stat st;

		if (de->d_name[0] == '.')
			continue;
		child = path_join(path, de->d_name);
		child_fd = path_open_beneath(dirfd(d), de->d_name, O_RDONLY | O_DIRECTORY, 0);
		if (child_fd < 0)
			continue;
		if (fstatat(child_fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0)
			judge_git(j, child_fd, child, false);
		else
			judge_children(j, dirfd(d), path, de->d_name, depth - 1);
	}
	(void)closedir(d);
}

void judge_git(struct judge *j, int at, const char *path, bool moved)
{
	struct stat st;

	/* The user's own, which the sandbox did not see. */
	if (fstat(at, &st) < 0 || spec_git_covers(j->spec, path))
		return;
	if (j->left == 0) {
		if (!judge_is_known(j, path))
			(void)findings_add(j->out, path,
					   xstrdup("one of more git directories than are judged"),
					   true);
		return;
	}
	j->left--;
	judge_rebase(j, at, path);
	judge_links(j, at, path, moved && !judge_is_known(j, path));
	judge_children(j, at, path, "modules", 8);
	judge_children(j, at, path, "worktrees", 1);
	if (judge_is_known(j, path)) {
		if (!j->all)
			return; /* what can appear in there host_run_compare() knows */
		moved = false;
	}
	judge_config(j, at, path, "config", moved);
	judge_config(j, at, path, "config.worktree", moved);
	judge_hooks(j, at, path, moved);
	judge_pointer(j, at, path, "commondir", "", moved);
}

void judge_dot_git(struct judge *j, int at, const char *parent, bool moved)
{
	cleanup_free char *path = path_join(parent, ".git");
	cleanup_fd int fd = path_open_beneath(at, ".git", O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd >= 0) {
		if (fstat(fd, &st) == 0)
			judge_git(j, fd, path, moved || judge_is_fresh(j, &st));
		return;
	}
	if (is_refused(j, at, ".git", fd, moved))
		judge_add(j, parent, ".git", xstrdup("a git directory that cannot be read"));
	if (fstatat(at, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISLNK(st.st_mode) && (moved || judge_is_fresh(j, &st)))
		judge_add(j, parent, ".git", xstrdup("a git directory behind a link"));
	else if (S_ISREG(st.st_mode))
		judge_pointer(j, at, parent, ".git", "gitdir: ", moved || judge_is_fresh(j, &st));
}
