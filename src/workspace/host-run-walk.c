#include "workspace/host-run.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protect.h"
#include "workspace/host-run-judge.h"
#include "workspace/restore.h"
#include "workspace/seen.h"
#include "workspace/state-link.h"
#include "workspace/tree-walk.h"

#define GIT_MAX 4096 /* git directories that are judged; further ones are moved away whole */

struct walk {
	struct judge judge;
	const struct seen *seen;
	const char *state;
};

/* A protected name deeper in the tree; those at its top are host_run_compare()'s. */
static void check_name(struct walk *w, int dirfd, const char *dir, const char *name, bool top,
		       bool is_dir)
{
	const struct protect_rule *rule = protect_match(PROTECT_TREE, path_base(dir), name);
	cleanup_free char *path = NULL;
	struct stat st;

	if (!rule && !is_dir) {
		rule = protect_link(name);
		top = false; /* nobody else looks at those */
	}
	/* Those that are asked about stayed until now, also where they were noticed before. */
	if (w->seen && w->judge.spec->quarantine == SPEC_QUARANTINE_ASK)
		top = false;
	if (!rule || (top && !w->judge.all && !strchr(rule->path, '/')))
		return;
	path = path_join(dir, name);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    host_run_is_mounted(w->judge.spec, path) || spec_may_change(w->judge.spec, path))
		return;
	if (w->seen ? !seen_same(w->seen, dirfd, name, path) : judge_is_fresh(&w->judge, &st))
		(void)findings_add(w->judge.out, path, xstrdup(rule->why), false);
}

static bool is_there(const struct tree_dir *d, const char *name)
{
	struct stat st;

	return fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* As git sees it when a person stands in that directory. */
static bool is_bare(const struct tree_dir *d)
{
	return is_there(d, "HEAD") &&
	       (is_there(d, "commondir") || (is_there(d, "objects") && is_there(d, "refs")));
}

/* Is it, or something above it, new? The top's own time says only that something in it changed. */
static bool is_moved(const struct walk *w, const struct tree_dir *d)
{
	for (; d->parent; d = d->parent)
		if (judge_is_fresh(&w->judge, &d->st))
			return true;
	return false;
}

/* In any session: the pointer may be older than what it leads to. */
static void check_state(struct walk *w, const struct tree_dir *d, const char *name,
			unsigned char type)
{
	cleanup_free char *path = NULL;

	if (!w->state || type == DT_DIR || (type == DT_REG && strcasecmp(name, ".git") != 0) ||
	    !state_link(d->fd, d->path, name, w->state))
		return;
	path = path_join(d->path, name);
	(void)findings_add(w->judge.out, path, xstrdup(HOST_RUN_STATE_LINK), true);
}

static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	struct walk *w = arg;

	check_state(w, d, name, type);
	if (strcasecmp(name, ".git") == 0) {
		judge_dot_git(&w->judge, d->fd, d->path, is_moved(w, d));
		return false;
	}
	check_name(w, d->fd, d->path, name, d->depth == 0, type == DT_DIR);
	return true;
}

static void on_leave(void *arg, const struct tree_dir *d)
{
	struct walk *w = arg;

	if (is_bare(d))
		judge_git(&w->judge, d->fd, d->path, is_moved(w, d));
}

/* What cannot be looked at goes as a whole. The start would have refused it, so it is new. */
static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	struct walk *w = arg;
	cleanup_free char *path = *name ? path_join(d->path, name) : xstrdup(d->path);

	(void)findings_add(w->judge.out, path,
			   xasprintf("it cannot be looked into: %s", tree_refusal(error)), true);
}

static void walk_tree(struct walk *w, const char *dir)
{
	static const struct tree_ops ops = {on_name, on_leave, on_refused};
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		(void)tree_walk(fd, dir, &ops, w);
}

/* A git directory apart from the tree, as that of a worktree is. */
static void walk_git(struct walk *w, const char *dir)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		judge_git(&w->judge, fd, dir, false);
}

/* A directory in one of the writable trees, no link on the way. */
static int open_watched(const struct sandbox_spec *spec, const char *dir)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];
		cleanup_fd int root = -1;

		if (!spec_is_writable(m->kind) || !path_under(dir, m->source))
			continue;
		root = open(m->source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		dir += strlen(m->source);
		return path_open_beneath(root, *dir ? dir + 1 : ".", O_RDONLY | O_DIRECTORY, 0);
	}
	return -EXDEV;
}

/* Programs that appeared where the user's shell looks for them. */
static void walk_path(struct walk *w, const char *dir)
{
	int fd = open_watched(w->judge.spec, dir);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = NULL;
		struct stat st;

		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    S_ISDIR(st.st_mode) || !judge_is_fresh(&w->judge, &st) ||
		    (S_ISREG(st.st_mode) && !(st.st_mode & 0111)))
			continue;
		path = path_join(dir, de->d_name);
		(void)findings_add(w->judge.out, path,
				   xstrdup("a program on your PATH, or in a directory that your "
					   "git settings name"),
				   false);
	}
	if (d)
		(void)closedir(d);
}

void host_run_walk(const struct sandbox_spec *spec, const struct timespec *since,
		   const struct host_run_before *before, bool all, struct findings *out)
{
	struct walk w = {
		.seen = before->seen,
		.state = before->state,
		.judge = {.spec = spec, .since = *since, .out = out, .all = all, .left = GIT_MAX},
	};

	for (size_t i = 0; i < spec->n_watches; i++) {
		const struct spec_watch *watch = &spec->watches[i];

		if (watch->kind == SPEC_WATCH_TREE)
			walk_tree(&w, watch->dir);
		else if (watch->kind == SPEC_WATCH_GIT && !path_under(watch->dir, spec->workspace))
			walk_git(&w, watch->dir);
		else if (watch->kind == SPEC_WATCH_PATH)
			walk_path(&w, watch->dir);
	}
}

/* What was put back is as new as anything, and as it was. */
static void drop_kept(const struct sandbox_spec *spec, struct findings *f)
{
	for (size_t i = f->n; i-- > 0;)
		if (restore_has(spec, f->v[i].path))
			findings_drop(f, i);
}

void host_run_finish(const struct sandbox_spec *spec, const struct timespec *since,
		     const struct host_run_before *before, bool all, host_run_settle_fn *settle,
		     void *arg)
{
	bool again;

	do {
		struct findings found = {0};

		host_run_walk(spec, since, before, all, &found);
		drop_kept(spec, &found);
		again = settle(arg, &found) && found.more;
		findings_done(&found);
	} while (again);
}
