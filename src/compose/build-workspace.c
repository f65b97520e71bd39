#include "compose/build.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "compose/gitconfig-env.h"
#include "workspace/guard.h"

static_assert((int)SPEC_QUARANTINE_ALL == (int)QUARANTINE_ALL &&
		      (int)SPEC_QUARANTINE_ASK == (int)QUARANTINE_ASK &&
		      (int)SPEC_QUARANTINE_GIT == (int)QUARANTINE_GIT &&
		      (int)SPEC_QUARANTINE_NONE == (int)QUARANTINE_NONE &&
		      (int)SPEC_QUARANTINE_N == (int)QUARANTINE_N,
	      "the choices of both are the same");

/* Returns the path inside: a path below `source` on the host is below `target` there. */
static char *inside(const char *path, const char *source, const char *target)
{
	if (!path_under(path, source))
		return xstrdup(path); /* a git directory apart, which keeps its place */
	return xasprintf("%s%s", target, path + strlen(source));
}

static void add_item(struct sandbox_spec *s, const struct guard_item *it, const char *source,
		     const char *target)
{
	static const enum spec_mount_kind kinds[] = {
		[GUARD_PIN] = SPEC_PIN,
		[GUARD_RO] = SPEC_PROTECT,
		[GUARD_MASK] = SPEC_HIDE,
	};
	cleanup_free char *to = inside(it->path, source, target);

	(void)spec_mount_add(s, kinds[it->kind], it->kind == GUARD_MASK ? NULL : it->path, to,
			     it->why);
}

/*
 * Of a directory in which the agent may change something every other file is read-only by itself.
 * One that appears there is found when the sandbox ends.
 */
static void add_parts(struct sandbox_spec *s, int root, const struct guard_item *it)
{
	const char *rel = it->path + strlen(s->workspace) + 1;
	cleanup_fd int fd = spec_may_change_below(s, it->path)
				    ? path_open_beneath(root, rel, O_RDONLY | O_DIRECTORY, 0)
				    : -1;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		add_item(s, it, s->workspace, s->workspace);
		return;
	}
	(void)take_fd(fd);
	(void)spec_mount_add(s, SPEC_PIN, it->path, it->path,
			     "stays where it is: it holds protected files");
	while ((de = readdir(d))) {
		cleanup_free char *path = path_join(it->path, de->d_name);
		const struct guard_item part = {.kind = it->kind, .path = path, .why = it->why};

		if (!streq(de->d_name, ".") && !streq(de->d_name, "..") && de->d_type != DT_LNK &&
		    !spec_may_change(s, path))
			add_parts(s, root, &part);
	}
	(void)closedir(d);
}

static void add_place(struct sandbox_spec *s, const struct guard_place *p)
{
	static const enum spec_watch_kind kinds[] = {
		[PROTECT_TREE] = SPEC_WATCH_TREE,
		[PROTECT_GIT] = SPEC_WATCH_GIT,
		[PROTECT_WORKTREE] = SPEC_WATCH_WORKTREE,
	};
	static_assert(ARRAY_SIZE(kinds) == PROTECT_BASE_N, "one kind for each base");

	spec_watch_add(s, kinds[p->base], p->dir);
}

static void add_setting(struct strv *files, const char *dir, const char *name)
{
	cleanup_free char *path = dir && dir[0] == '/' ? path_join(dir, name) : NULL;

	if (path)
		strv_push(files, path);
}

/* Where git finds what is the user's own; see FILES in git-config(1). */
static void user_settings(const struct places *places, struct strv *files)
{
	const char *system = getenv("GIT_CONFIG_SYSTEM"), *global = getenv("GIT_CONFIG_GLOBAL");
	const char *xdg = getenv("XDG_CONFIG_HOME");

	if (!getenv("GIT_CONFIG_NOSYSTEM"))
		strv_push(files, system && *system ? system : "/etc/gitconfig");
	if (global && *global) {
		strv_push(files, global);
		return;
	}
	if (xdg && *xdg)
		add_setting(files, xdg, "git/config");
	else
		add_setting(files, places->home, ".config/git/config");
	add_setting(files, places->home, ".gitconfig");
}

int build_named(const struct places *places, const struct gitdir *git, struct strv *ret,
		struct err *err)
{
	cleanup_strv struct strv settings = {0};
	const struct guard_input gi = {.dir = git->root,
				       .git = git,
				       .private = true,
				       .settings = &settings,
				       .home = places->home};

	user_settings(places, &settings);
	return guard_named_list(&gi, ret, err);
}

int build_guard(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		const char *source, const char *target, struct err *err)
{
	cleanup_(guard_done) struct guard g = {0};
	cleanup_strv struct strv settings = {0};
	const struct guard_input gi = {
		.dir = source,
		.git = git,
		.covered = git ? s->git.covers : NULL,
		.private = git && s->git.private,
		.masks = &in->config->workspace.mask,
		.settings = &settings,
		.home = in->places->home,
	};
	cleanup_fd int root = -1;
	struct stat st;
	int r;

	root = open(s->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (stat(source, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	user_settings(in->places, &settings);
	r = guard_find(&gi, &g, err);
	for (size_t i = 0; i < g.n_items; i++)
		if (g.items[i].kind == GUARD_RO && spec_may_change_below(s, g.items[i].path))
			add_parts(s, root, &g.items[i]);
		else if (g.items[i].kind != GUARD_RO || !spec_may_change(s, g.items[i].path))
			add_item(s, &g.items[i], source, target);
	for (size_t i = 0; i < g.n_places; i++)
		add_place(s, &g.places[i]);
	for (size_t i = 0; i < g.programs.n; i++)
		spec_watch_add(s, SPEC_WATCH_PATH, g.programs.v[i]);
	for (size_t i = 0; git && i < g.named.n; i++)
		strv_push(&s->git.named, g.named.v[i]);
	return r;
}

/* Without a private git directory: the repository of a worktree or submodule lies elsewhere, and git
 * needs all of it. gitdir_find() has checked that it knows this workspace. */
static void add_repository(struct sandbox_spec *s, const struct gitdir *g)
{
	if (no_guest(s) && g->root && streq(g->root, s->workspace) &&
	    !path_under(g->common, s->workspace))
		(void)spec_mount_add(s, SPEC_BIND_RW, g->common, g->common,
				     "the repository of this worktree");
}

static bool is_writable(const struct sandbox_spec *s, const char *dir)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (spec_is_writable(s->mounts[i].kind) && path_under(dir, s->mounts[i].source))
			return true;
	return false;
}

/* The user runs programs of these directories by name, so new files in them are watched. */
void build_watch_path(struct sandbox_spec *s, const char *path)
{
	cleanup_strv struct strv all = {0}, dirs = {0};

	strv_split(&all, path ? path : "", ':');
	for (size_t i = 0; i < all.n; i++)
		if (!strv_has(&dirs, all.v[i]))
			strv_push(&dirs, all.v[i]);
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *real = realpath(dirs.v[i], NULL);

		if (real && is_writable(s, real))
			spec_watch_add(s, SPEC_WATCH_PATH, real);
		/* Links on the way choose the directory. */
		if (real && path_is_normal(dirs.v[i]) && !streq(dirs.v[i], real) &&
		    is_writable(s, dirs.v[i]))
			spec_watch_add(s, SPEC_WATCH_PATH, dirs.v[i]);
	}
}

/* A loop keeps files for its agent in .ralph. They are bound again on top of the read-only
 * directory, so that the agent can write them. */
static void add_own(struct sandbox_spec *s, const char *rel)
{
	cleanup_free char *path = path_join(s->workspace, rel);
	cleanup_fd int root = open(s->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int fd = root < 0 ? -1 : path_open_beneath(root, rel, O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		spec_mount_add(s, SPEC_BIND_RW, path, path, "the loop's word to the agent")
			->of_tree = true;
}

int build_workspace(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		    struct err *err)
{
	int r;

	s->quarantine = (enum spec_quarantine)in->config->workspace.quarantine;
	strv_extend(&s->mask, &in->config->workspace.mask);
	if (in->may_change)
		strv_extend(&s->may_change, in->may_change);
	/* Of a bare repository nothing is shared: the private git directory is all of it. */
	if (gitdir_is_bare(git) && !no_guest(s))
		return build_git(s, in, git, err);
	(void)spec_mount_add(s, SPEC_BIND_RW, s->workspace, s->workspace, "the workspace");
	add_repository(s, git);
	r = build_git(s, in, git, err);
	if (r == 0)
		r = build_guard(s, in, git, s->workspace, s->workspace, err);
	if (r == 0)
		gitconfig_env(s, git);
	for (size_t i = 0; r == 0 && in->agents_own && i < in->agents_own->n; i++)
		add_own(s, in->agents_own->v[i]);
	return r;
}
