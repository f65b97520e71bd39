/*
 * The sandbox's private git directory (docs/internals/private-git.md): where it is mounted, and what
 * it borrows from the user's repository. The supervisor makes it when the sandbox starts.
 */
#include "compose/build.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/store.h"
#include "workspace/gitdir.h"
#include "workspace/private-git.h"

static void add(struct sandbox_spec *s, enum spec_mount_kind kind, const char *source,
		const char *target, const char *why)
{
	spec_mount_add(s, kind, source, target, why)->of_tree = true;
}

/* `git clone URL .` wants a directory without anything in it. */
static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *de = NULL;

	while (d && (de = readdir(d)) && (streq(de->d_name, ".") || streq(de->d_name, "..")))
		;
	if (d)
		(void)closedir(d);
	return d && !de;
}

/* What is at PATH: 0 nothing, else its type. */
static mode_t type_at(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/*
 * Where there is no repository a place for one is covered all the same, so that one made inside is
 * the sandbox's own.
 */
static int place_none(struct sandbox_spec *s, const char *dot_git, struct err *err)
{
	mode_t type = type_at(dot_git);

	if (type && type != S_IFDIR)
		return err_usage(err,
				 "'%s' is not a git directory of this workspace, and the sandbox "
				 "cannot have one of its own in its place; remove it, or make it "
				 "a directory",
				 dot_git);
	if (!type && is_empty(s->workspace))
		return 0;
	s->git.at = xstrdup(dot_git);
	s->git.covers = xstrdup(dot_git);
	return 0;
}

static void place_repository(struct sandbox_spec *s, const struct gitdir *g)
{
	cleanup_free char *dot_git = path_join(g->root, ".git");
	bool bare = streq(g->root, g->dir), is_file = !bare && !streq(g->dir, dot_git);

	s->git.root = xstrdup(g->root);
	s->git.dir = xstrdup(g->dir);
	s->git.common = xstrdup(g->common);
	s->git.at = xstrdup(bare ? g->root : is_file ? PRIVATE_GIT_AT : dot_git);
	if (streq(g->root, s->workspace))
		s->git.covers = xstrdup(bare ? g->root : dot_git);
}

static void add_borrowed(struct sandbox_spec *s, const struct private_git *p)
{
	cleanup_free char *empty = xasprintf("%s.empty", s->git.private);

	for (size_t i = 0; i < p->n_binds; i++)
		add(s, SPEC_BIND_RO, p->binds[i].source ? p->binds[i].source : empty,
		    p->binds[i].target, "objects of the repository");
}

/* `.git` inside: the private directory, or a file of the record that leads to it. */
static void add_dot_git(struct sandbox_spec *s, const struct gitdir *g)
{
	cleanup_free char *link = xasprintf("%s.link", s->git.private), *dot_git = NULL;

	if (!streq(s->git.at, PRIVATE_GIT_AT)) {
		add(s, SPEC_BIND_RW, s->git.private, s->git.at, "the sandbox's own git directory");
		return;
	}
	dot_git = path_join(g->root, ".git");
	add(s, SPEC_BIND_RO, link, PRIVATE_GIT_LINK, "where the private git directory is");
	add(s, SPEC_BIND_RO, link, dot_git, "where the private git directory is");
}

static int add_mounts(struct sandbox_spec *s, const struct gitdir *g, struct err *err)
{
	const struct private_git_input in = {.git = g, .run = PRIVATE_GIT_RUN};
	cleanup_(private_git_done) struct private_git p = {0};
	int r = private_git_plan(&in, &p, err);

	if (r < 0)
		return r;
	/* At a place that nothing inside can move; from there it is mounted again if need be. */
	add(s, SPEC_BIND_RW, s->git.private, PRIVATE_GIT_AT, "the sandbox's own git directory");
	add_borrowed(s, &p);
	add_dot_git(s, g);
	return 0;
}

int build_git(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *g,
	      struct err *err)
{
	cleanup_free char *dot_git = path_join(s->workspace, ".git");
	int r = 0;

	if (no_guest(s))
		return 0;
	if (g->root)
		place_repository(s, g);
	else
		r = place_none(s, dot_git, err);
	if (r < 0 || !s->git.at)
		return r;
	s->git.private = store_git(in->places, s->name);
	/* The workspace is another file system than what is mounted above it. */
	if (g->root && !streq(g->root, s->workspace))
		spec_env_set(s, "GIT_DISCOVERY_ACROSS_FILESYSTEM", "1", SPEC_SET, "ralph");
	return add_mounts(s, g, err);
}
