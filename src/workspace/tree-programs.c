#include "workspace/tree-programs.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define LINKS_MAX 40 /* the kernel's own limit */
#define LINK_MAX 4096

struct visit {
	const struct sandbox_spec *spec;
	program_fn *fn;
	void *arg;
	enum program_visit last; /* PROGRAM_WAY: every file of the directory */
	int links;
};

static const char *root_of(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec_is_writable(spec->mounts[i].kind) &&
		    path_under(path, spec->mounts[i].source))
			return spec->mounts[i].source;
	return NULL;
}

static void visit_files(struct visit *v, int dir, const char *path)
{
	cleanup_fd int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d)
		return;
	(void)take_fd(fd);
	while ((de = readdir(d))) {
		cleanup_free char *file = path_join(path, de->d_name);
		struct stat st;

		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode))
			(void)v->fn(v->arg, PROGRAM_FILE, dirfd(d), de->d_name, file, &st);
	}
	(void)closedir(d);
}

static void visit_path(struct visit *v, const char *path);

static void visit_link(struct visit *v, int dir, const char *name, const char *path,
		       const char *rest)
{
	cleanup_free char *parent = path_dir(path), *target = NULL, *next = NULL;
	char text[LINK_MAX];
	ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);

	if (n <= 0 || v->links++ == LINKS_MAX)
		return;
	text[n] = '\0';
	target = path_plain(parent, text);
	next = *rest ? path_join(target, rest) : xstrdup(target);
	visit_path(v, next);
}

/* The component of path that ends before rest, in dir. False: there is nothing more to visit. */
static bool step(struct visit *v, int *dir, const char *path, const char *rest)
{
	const char *name = path_base(path);
	enum program_visit visit = *rest ? PROGRAM_WAY : v->last;
	struct stat st;
	int next;

	if (fstatat(*dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !v->fn(v->arg, S_ISLNK(st.st_mode) ? PROGRAM_WAY : visit, *dir, name, path, &st))
		return false;
	if (S_ISLNK(st.st_mode))
		visit_link(v, *dir, name, path, rest);
	if (!S_ISDIR(st.st_mode))
		return false;
	next = openat(*dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return false;
	(void)close(*dir);
	*dir = next;
	return true;
}

static void visit_path(struct visit *v, const char *path)
{
	const char *root = root_of(v->spec, path), *at, *end;
	cleanup_fd int dir = -1;

	if (!root)
		return;
	dir = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (at = path + strlen(root); dir >= 0 && *at; at = end) {
		cleanup_free char *so_far = NULL;

		at += strspn(at, "/");
		end = at + strcspn(at, "/");
		so_far = xstrndup(path, (size_t)(end - path));
		if (end != at && !step(v, &dir, so_far, end + strspn(end, "/")))
			return;
	}
	if (dir >= 0 && v->last == PROGRAM_WAY)
		visit_files(v, dir, path);
}

void programs_visit(const struct sandbox_spec *spec, program_fn *fn, void *arg)
{
	const struct spec_git *git = &spec->git;

	for (size_t i = 0; i < spec->n_watches; i++) {
		struct visit v = {.spec = spec, .fn = fn, .arg = arg};

		if (spec->watches[i].kind == SPEC_WATCH_PATH)
			visit_path(&v, spec->watches[i].dir);
	}
	for (size_t i = 0; git->root && i < git->named.n; i++) {
		const char *named = git->named.v[i];
		cleanup_free char *path = path_join(git->root, named + 1);
		struct visit v = {.spec = spec, .fn = fn, .arg = arg};

		v.last = named[0] == 'd'   ? PROGRAM_WAY
			 : named[0] == 'f' ? PROGRAM_ANY
					   : PROGRAM_FILE;
		visit_path(&v, path);
	}
}
