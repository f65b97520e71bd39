/*
 * Git directories that were there at the start and that the agent can write: what git would take
 * orders from in there. One that another directory covers inside is nobody's business here.
 */
#include "workspace/host-run-walk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/protect.h"
#include "workspace/seen.h"
#include "workspace/tree-walk.h"

#define TODO_MAX (1 * MiB) /* a longer list counts as one with commands */
#define TODO "git-rebase-todo"

/* "exec" or "x" begins a line that `git rebase --continue` runs. */
static bool has_command(int dirfd, const char *name)
{
	cleanup_buf struct buf b;

	buf_init(&b, TODO_MAX);
	if (path_read(dirfd, name, &b) < 0)
		return true;
	for (const char *p = buf_str(&b); p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		p += strspn(p, " \t");
		if (strncmp(p, "exec ", 5) == 0 || strncmp(p, "x ", 2) == 0)
			return true;
	}
	return false;
}

static void add(struct host_walk *w, const struct tree_dir *d, const char *name, const char *why)
{
	cleanup_free char *path = path_join(d->path, name);

	/* The agent cannot have written what is read-only inside. */
	if (!host_run_is_mounted(w->spec, path))
		(void)findings_add(w->out, path, xstrdup(why), true);
}

/* Names that host_run_compare() looks at; after a killed supervisor nobody has. */
static void look_at_protected(struct host_walk *w, const struct tree_dir *d, const char *name,
			      const struct stat *st, const char *why)
{
	cleanup_free char *path = path_join(d->path, name);

	if (w->all && (w->seen && seen_has_git(w->seen) ? !seen_same(w->seen, d->fd, name, path)
							: host_walk_is_fresh(w, st)))
		add(w, d, name, why);
}

/*
 * git writes through links in its own directory: with logs/HEAD a link to the user's .bashrc every
 * commit adds a line there, and the agent may have chosen its words. git makes no such links.
 */
static bool on_name(void *arg, const struct tree_dir *d, const char *name, unsigned char type)
{
	struct host_walk *w = arg;
	const struct protect_rule *rule = d->depth ? NULL : protect_match(PROTECT_GIT, "", name);
	struct stat st;

	if (type == DT_REG && !rule && !streq(name, TODO))
		return false;
	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (rule)
		look_at_protected(w, d, name, &st, rule->why);
	else if (S_ISLNK(st.st_mode) && host_walk_is_fresh(w, &st))
		add(w, d, name, "a link that git writes through");
	else if (streq(name, TODO) && host_walk_is_fresh(w, &st) && has_command(d->fd, name))
		add(w, d, name, "commands that git rebase --continue runs");
	return !rule && !streq(path_base(d->path), "objects"); /* git's own names are in there */
}

static bool leads_up(int dirfd)
{
	cleanup_buf struct buf b;

	buf_init(&b, 16);
	return path_read(dirfd, "commondir", &b) == 0 && streq(buf_str(&b), "../..\n");
}

/* The user may have made a worktree elsewhere meanwhile: it stays when nothing in it gives orders. */
static void look_at_worktree(struct host_walk *w, const struct tree_dir *d)
{
	for (const struct protect_rule *r = protect_rules(PROTECT_WORKTREE); r->path; r++) {
		struct stat st;

		if (!streq(r->path, "gitdir") &&
		    fstatat(d->fd, r->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !(streq(r->path, "commondir") && leads_up(d->fd)))
			add(w, d, r->path, r->why);
	}
}

/* A submodule or a worktree that appeared. */
static void on_leave(void *arg, const struct tree_dir *d)
{
	struct host_walk *w = arg;

	if (!d->depth || !host_walk_appeared(w, d))
		return;
	if (d->depth == 2 && streq(path_base(d->parent->path), "worktrees"))
		look_at_worktree(w, d);
	else
		host_walk_put_away(w, d);
}

static void on_refused(void *arg, const struct tree_dir *d, const char *name, int error)
{
	host_walk_refused(arg, d, name, error);
}

void host_walk_known(struct host_walk *w, int fd, const char *path)
{
	static const struct tree_ops ops = {on_name, on_leave, on_refused};

	if (host_run_is_covered(w->spec, path))
		closep(&fd);
	else
		(void)tree_walk(fd, path, &ops, w);
}
