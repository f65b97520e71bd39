#include "workspace/host-run.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protect.h"
#include "workspace/host-run-judge.h"

#define DIRS_MAX 200000 /* of all trees together */
#define DEPTH_MAX 96	/* each level holds a descriptor */
#define GIT_MAX 4096
#define PATH_NAMES_MAX 8192

struct walk {
	struct judge judge;
	unsigned dirs;
	dev_t dev;
	bool cut; /* not all of it was looked at */
};

/* A protected name deeper in the tree; those at its top are host_run_compare()'s. */
static void check_name(struct walk *w, int dirfd, const char *dir, const char *name, bool top)
{
	const struct protect_rule *rule = protect_match(PROTECT_TREE, path_base(dir), name);
	cleanup_free char *path = NULL;
	struct stat st;

	if (!rule || (top && !w->judge.all && !strchr(rule->path, '/')))
		return;
	path = path_join(dir, name);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && judge_is_fresh(&w->judge, &st) &&
	    !host_run_is_mounted(w->judge.spec, path))
		(void)findings_add(w->judge.out, path, xstrdup(rule->why), false);
}

enum marks { MARK_HEAD = 1, MARK_OBJECTS = 2, MARK_REFS = 4, MARK_COMMON = 8 };

static unsigned mark_of(const char *name)
{
	static const struct {
		const char *name;
		unsigned mark;
	} marks[] = {{"HEAD", MARK_HEAD},
		     {"objects", MARK_OBJECTS},
		     {"refs", MARK_REFS},
		     {"commondir", MARK_COMMON}};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (streq(name, marks[i].name))
			return marks[i].mark;
	return 0;
}

/* As git sees it when a person stands in that directory. */
static bool is_bare(unsigned marks)
{
	return (marks & MARK_HEAD) &&
	       ((marks & MARK_COMMON) ||
		(marks & (MARK_OBJECTS | MARK_REFS)) == (MARK_OBJECTS | MARK_REFS));
}

static void walk_dir(struct walk *w, int fd, const char *path, unsigned depth, bool moved);

static void walk_child(struct walk *w, int parent, const char *dir, const char *name,
		       unsigned depth, bool moved)
{
	cleanup_fd int fd = -1;
	cleanup_free char *path = NULL;
	struct stat st;

	if (depth == DEPTH_MAX || w->dirs == DIRS_MAX) {
		w->cut = true;
		return;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != w->dev)
		return;
	path = path_join(dir, name);
	walk_dir(w, take_fd(fd), path, depth + 1, moved || judge_is_fresh(&w->judge, &st));
}

/* Takes fd. */
static void walk_dir(struct walk *w, int fd, const char *path, unsigned depth, bool moved)
{
	DIR *d = fdopendir(fd);
	struct dirent *de;
	unsigned marks = 0;

	if (!d) {
		(void)close(fd);
		return;
	}
	w->dirs++;
	while ((de = readdir(d))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		marks |= mark_of(de->d_name);
		if (streq(de->d_name, ".git"))
			judge_dot_git(&w->judge, fd, path, moved);
		else
			check_name(w, fd, path, de->d_name, depth == 0);
		if ((de->d_type == DT_DIR || de->d_type == DT_UNKNOWN) &&
		    !streq(de->d_name, ".git"))
			walk_child(w, fd, path, de->d_name, depth, moved);
	}
	if (is_bare(marks))
		judge_git(&w->judge, fd, path, moved);
	(void)closedir(d);
}

static void walk_tree(struct walk *w, const char *dir)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	w->dev = st.st_dev;
	/* The top's own time says only that something in it changed. */
	walk_dir(w, take_fd(fd), dir, 0, false);
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
	int left = PATH_NAMES_MAX;

	while (d && left-- > 0 && (de = readdir(d))) {
		cleanup_free char *path = NULL;
		struct stat st;

		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    S_ISDIR(st.st_mode) || !judge_is_fresh(&w->judge, &st) ||
		    (S_ISREG(st.st_mode) && !(st.st_mode & 0111)))
			continue;
		path = path_join(dir, de->d_name);
		(void)findings_add(w->judge.out, path, xstrdup("a program on your PATH"), false);
	}
	if (d)
		(void)closedir(d);
}

void host_run_walk(const struct sandbox_spec *spec, const struct timespec *since, bool all,
		   struct findings *out)
{
	struct walk w = {
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
	if (w.cut || w.judge.left == 0) {
		struct finding *f = findings_add(
			out, spec->workspace,
			xstrdup("too deep or too large to be looked at as a whole"), false);

		if (f)
			f->stays = true;
	}
}
