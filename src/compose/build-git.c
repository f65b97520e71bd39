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
#include "compose/build-gitlinks.h"
#include "record/store.h"
#include "workspace/gitdir.h"
#include "workspace/nested.h"
#include "workspace/private/private-git.h"

static struct spec_mount *add(struct sandbox_spec *s, enum spec_mount_kind kind, const char *source,
			      const char *target, const char *why)
{
	struct spec_mount *m = spec_mount_add(s, kind, source, target, why);

	m->of_tree = true;
	return m;
}

/* A small file of the record, which the supervisor writes. */
static void add_file(struct sandbox_spec *s, const char *name, const char *content,
		     const char *target, const char *why)
{
	cleanup_free char *source = xasprintf("%s.%s", s->git.private, name);

	add(s, SPEC_BIND_RO, source, target, why)->data = xstrdup(content);
}

static bool is_empty(int dir)
{
	DIR *d = fdopendir(dir);
	struct dirent *de = NULL;

	while (d && (de = readdir(d)) && (streq(de->d_name, ".") || streq(de->d_name, "..")))
		;
	if (d)
		(void)closedir(d);
	return d && !de;
}

/* `git clone URL .` wants a directory without anything in it. */
static bool is_empty_at(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && is_empty(fd);
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
static int place_none(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	cleanup_free char *dot_git = path_join(s->workspace, ".git");
	mode_t type = type_at(dot_git);

	/* Nothing can be mounted on a link, and the agent could put its own directory there. */
	if (type == S_IFLNK)
		return err_usage(err,
				 "'%s' is a symbolic link, and a link cannot be protected from the "
				 "agent; move the git directory itself there",
				 dot_git);
	/* One that appeared here before is mounted in its place, and adopted from there. */
	if (nested_has(in->places, dot_git))
		return 0;
	/* A file that leads to no git directory of this workspace is read-only: see workspace/guard.h. */
	if (type == S_IFREG || (!type && is_empty_at(s->workspace)))
		return 0;
	s->git.at = xstrdup(dot_git);
	s->git.covers = xstrdup(dot_git);
	return 0;
}

static void place_repository(struct sandbox_spec *s, const struct gitdir *g)
{
	cleanup_free char *dot_git = path_join(g->root, ".git");
	bool bare = gitdir_is_bare(g), is_file = !bare && !streq(g->dir, dot_git);

	s->git.root = xstrdup(g->root);
	s->git.dir = xstrdup(g->dir);
	s->git.common = xstrdup(g->common);
	s->git.at = xstrdup(bare ? g->root : is_file ? PRIVATE_GIT_AT : dot_git);
	if (streq(g->root, s->workspace))
		s->git.covers = xstrdup(bare ? g->root : dot_git);
	/* The workspace is another file system than what is mounted above it. */
	else
		spec_env_set(s, "GIT_DISCOVERY_ACROSS_FILESYSTEM", "1", SPEC_SET, "ralph");
}

static void add_borrowed(struct sandbox_spec *s, const struct private_git *p)
{
	for (size_t i = 0; i < p->n_binds; i++) {
		const struct private_bind *b = &p->binds[i];

		if (b->source)
			add(s, SPEC_BIND_RO, b->source, b->target, "objects of the repository");
		else
			add_file(s, "empty", "", b->target, "objects of the repository");
	}
}

/* `.git` of a submodule leads to its directory on the host, which is not there inside. */
static void add_module_links(struct sandbox_spec *s, const struct private_git *p)
{
	for (size_t i = 0; i < p->n_modules; i++) {
		const struct private_module *m = &p->modules[i];
		cleanup_free char *dot_git = path_join(m->worktree, ".git");
		cleanup_free char *text = xasprintf("gitdir: " PRIVATE_GIT_AT "/%s\n", m->name);
		cleanup_free char *name = xasprintf("link.%zu", i);

		if (path_under(m->worktree, s->workspace) && type_at(dot_git) == S_IFREG)
			add_file(s, name, text, dot_git, "where the private git directory is");
	}
}

/* `.git` inside: the private directory, or a file that leads to it. */
static void add_dot_git(struct sandbox_spec *s, const struct private_git *p)
{
	static const char text[] = "gitdir: " PRIVATE_GIT_AT "\n",
			  why[] = "where the private git directory is";
	cleanup_free char *dot_git = NULL;

	if (!streq(s->git.at, PRIVATE_GIT_AT)) {
		add(s, SPEC_BIND_RW, s->git.private, s->git.at, "the sandbox's own git directory");
		return;
	}
	dot_git = path_join(s->git.root, ".git");
	add_file(s, "link", text, PRIVATE_GIT_LINK, why);
	add_file(s, "link", text, dot_git, why);
	add_module_links(s, p);
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
	add_dot_git(s, &p);
	return g->root && !gitdir_is_bare(g) ? build_gitlinks(s, g, &p, err) : 0;
}

int build_git(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *g,
	      struct err *err)
{
	int r = 0;

	if (no_guest(s))
		return 0;
	if (g->root)
		place_repository(s, g);
	else
		r = place_none(s, in, err);
	if (r < 0 || !s->git.at)
		return r;
	s->git.private =
		s->checks ? store_checks_git(in->places, s->name) : store_git(in->places, s->name);
	return add_mounts(s, g, err);
}
