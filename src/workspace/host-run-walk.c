#include "workspace/host-run-walk.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protect.h"
#include "workspace/tree-programs.h"
#include "workspace/restore.h"
#include "workspace/seen.h"
#include "workspace/state-link.h"
#include "workspace/tree-walk.h"

bool host_walk_is_fresh(const struct host_walk *w, const struct stat *st)
{
	return st->st_ctim.tv_sec > w->since.tv_sec ||
	       (st->st_ctim.tv_sec == w->since.tv_sec && st->st_ctim.tv_nsec >= w->since.tv_nsec);
}

struct part {
	struct host_walk *w;
	const struct protect_rule *rule;
};

static void check_part(void *arg, int dirfd, const char *name, const char *path)
{
	const struct part *p = arg;
	struct host_walk *w = p->w;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    host_run_is_mounted(w->spec, path))
		return;
	if (w->seen ? !seen_same(w->seen, dirfd, name, path) : host_walk_is_fresh(w, &st))
		(void)findings_add(w->out, path, xstrdup(p->rule->why), false);
}

/* A protected name deeper in the tree; those at its top are host_run_compare()'s. */
static void check_name(struct host_walk *w, int dirfd, const char *dir, const char *name, bool top,
		       bool is_dir)
{
	const struct protect_rule *rule = protect_match(PROTECT_TREE, path_base(dir), name);
	cleanup_free char *path = NULL;
	struct part p = {.w = w};

	if (!rule && !is_dir) {
		rule = protect_link(name);
		top = false; /* nobody else looks at those */
	}
	/* Those that are asked about stayed until now, also where they were noticed before. */
	if (w->seen && w->spec->quarantine == SPEC_QUARANTINE_ASK)
		top = false;
	if (!rule)
		return;
	path = path_join(dir, name);
	if (top && !w->all && !strchr(rule->path, '/') && !spec_may_change_below(w->spec, path))
		return;
	p.rule = rule;
	seen_parts(w->spec, dirfd, name, path, TREE_DEPTH_MAX, check_part, &p);
}

/* ---- git directories ---- */

/* Is it, or something above it, new? The top's own time says only that something in it changed. */
static bool is_moved(const struct host_walk *w, const struct tree_dir *d)
{
	for (; d->parent; d = d->parent)
		if (host_walk_is_fresh(w, &d->st))
			return true;
	return false;
}

/* `name` in d, or d itself as "."; path is that of the git directory. */
static bool appeared(const struct host_walk *w, const struct tree_dir *d, const char *name,
		     const char *path)
{
	struct stat st;

	if (w->seen && seen_has_git(w->seen))
		return !seen_git_same(w->seen, w->spec, d->fd, name, path);
	return !seen_is_place(w->spec, path) &&
	       (is_moved(w, d) || (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				   host_walk_is_fresh(w, &st)));
}

static void put_away(struct host_walk *w, const char *path)
{
	struct finding *f =
		findings_add(w->out, path, xstrdup("a git directory that appeared"), true);

	if (f)
		f->nested = true;
}

/* Was the directory made before the start? If nobody knows, it counts as such: then HEAD alone goes,
 * without which it is no git directory, and nothing else of the user's. */
static bool is_older(const struct host_walk *w, int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) < 0 || !(sx.stx_mask & STATX_BTIME))
		return true;
	return sx.stx_btime.tv_sec < w->since.tv_sec ||
	       (sx.stx_btime.tv_sec == w->since.tv_sec &&
		sx.stx_btime.tv_nsec < (uint32_t)w->since.tv_nsec);
}

bool host_walk_appeared(const struct host_walk *w, const struct tree_dir *d)
{
	return seen_is_git(d->fd) && appeared(w, d, ".", d->path);
}

void host_walk_put_away(struct host_walk *w, const struct tree_dir *d)
{
	cleanup_free char *head = path_join(d->path, "HEAD");

	put_away(w, d->depth == 0 || is_older(w, d->fd) ? head : d->path);
}

/* .git in any spelling: a directory, a file that points to one, or a link. */
static void check_git(struct host_walk *w, const struct tree_dir *d, const char *name)
{
	cleanup_free char *path = path_join(d->path, name);

	/* The user's own, which nobody inside saw; supervisor/git-cover.c looks after it. */
	if (spec_git_covers(w->spec, path))
		return;
	/* An empty one says nothing to git: a mount was there, or somebody did not go on. */
	if (unlinkat(d->fd, name, AT_REMOVEDIR) == 0)
		return;
	if (appeared(w, d, name, path))
		put_away(w, path);
	else if (seen_is_place(w->spec, path))
		host_walk_known(w, path_open_beneath(d->fd, name, O_RDONLY | O_DIRECTORY, 0), path);
}

/* In any session: the pointer may be older than what it leads to. */
static bool leads_to_state(struct host_walk *w, const struct tree_dir *d, const char *name,
			   unsigned char type)
{
	cleanup_free char *path = NULL;

	if (!w->state || type == DT_DIR || (type == DT_REG && strcasecmp(name, ".git") != 0) ||
	    !state_link(d->fd, d->path, name, w->state))
		return false;
	path = path_join(d->path, name);
	(void)findings_add(w->out, path, xstrdup(HOST_RUN_STATE_LINK), true);
	return true;
}

static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	struct host_walk *w = arg;

	if (leads_to_state(w, d, name, type))
		return false;
	if (strcasecmp(name, ".git") == 0) {
		check_git(w, d, name);
		return false;
	}
	check_name(w, d->fd, d->path, name, d->depth == 0, type == DT_DIR);
	return true;
}

static void on_leave(void *arg, const struct tree_dir *d)
{
	struct host_walk *w = arg;

	if (host_walk_appeared(w, d))
		host_walk_put_away(w, d);
	else if (seen_is_place(w->spec, d->path) && seen_is_git(d->fd))
		host_walk_known(w, path_open_beneath(d->fd, ".", O_RDONLY | O_DIRECTORY, 0),
				d->path);
}

/* What cannot be looked at goes as a whole. The start would have refused it, so it is new. */
void host_walk_refused(struct host_walk *w, const struct tree_dir *d, const char *name, int error)
{
	cleanup_free char *path = *name ? path_join(d->path, name) : xstrdup(d->path);

	(void)findings_add(w->out, path,
			   xasprintf("it cannot be looked into: %s", tree_refusal(error)), true);
}

static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	host_walk_refused(arg, d, name, error);
}

static void walk_tree(struct host_walk *w, const char *dir, const struct tree_shape *shape)
{
	static const struct tree_ops ops = {on_name, on_leave, on_refused};
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		(void)tree_walk_changed(fd, dir, &ops, w, shape);
}

/* A git directory apart from the tree, as that of a worktree is. */
static void walk_git(struct host_walk *w, const char *dir)
{
	host_walk_known(w, open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), dir);
}

/* Programs that appeared where the user's shell or git looks for them, and links on the way. */
static bool on_program(void *arg, enum program_visit visit, int dirfd, const char *name,
		       const char *path, const struct stat *st)
{
	struct host_walk *w = arg;
	bool runs = visit == PROGRAM_ANY || !S_ISREG(st->st_mode) || (st->st_mode & 0111);

	if (host_run_is_mounted(w->spec, path) || spec_may_change(w->spec, path))
		return false;
	if (!runs || (visit != PROGRAM_WAY && S_ISDIR(st->st_mode)))
		return true;
	if (w->seen && seen_has_programs(w->seen)
		    ? seen_program_same(w->seen, dirfd, name, path, st)
		    : S_ISDIR(st->st_mode) || !host_walk_is_fresh(w, st))
		return true;
	(void)findings_add(w->out, path,
			   xstrdup("a program on your PATH, or one that your git settings name"),
			   false);
	return false;
}

void host_run_walk(const struct sandbox_spec *spec, const struct timespec *since,
		   const struct host_run_before *before, bool all, struct findings *out)
{
	struct host_walk w = {
		.spec = spec,
		.since = *since,
		.out = out,
		.all = all,
		.seen = before->seen,
		.state = before->state,
	};

	for (size_t i = 0; i < spec->n_watches; i++) {
		const struct spec_watch *watch = &spec->watches[i];

		if (watch->kind == SPEC_WATCH_TREE)
			walk_tree(&w, watch->dir, seen_shape(before->seen, i));
		else if (watch->kind == SPEC_WATCH_GIT && !path_under(watch->dir, spec->workspace))
			walk_git(&w, watch->dir);
	}
	programs_visit(spec, on_program, &w);
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
