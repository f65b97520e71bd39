/*
 * Files of a workspace that the user's own settings of git name: programs, hooks, further settings.
 * The settings are read as text, and nothing is run.
 */
#include "workspace/guard-find.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/gitprograms.h"

#define CONFIG_MAX (256 * KiB)
#define INCLUDE_DEPTH 10 /* git's own limit */

struct named {
	struct finder *f;
	const char *dir;  /* of the settings: what include.path is relative to */
	const char *root; /* of the files: what the words of a command are relative to */
	int depth;
};

/* Without "." and "..", which no mount takes; by the words alone, as the file may not be there. */
static char *tidy(const char *path)
{
	cleanup_strv struct strv parts = {0}, kept = {0};
	char *text = xstrdup("");

	strv_split(&parts, path, '/');
	for (size_t i = 0; i < parts.n; i++) {
		if (streq(parts.v[i], "..") && kept.n)
			free(kept.v[--kept.n]);
		else if (parts.v[i][0] && !streq(parts.v[i], ".") && !streq(parts.v[i], ".."))
			strv_push(&kept, parts.v[i]);
	}
	for (size_t i = 0; i < kept.n; i++) {
		char *longer = xasprintf("%s/%s", text, kept.v[i]);

		free(text);
		text = longer;
	}
	return text;
}

static char *absolute(const struct named *n, const char *from, const char *word)
{
	bool home = strncmp(word, "~/", 2) == 0 && n->f->in->home;
	cleanup_free char *path =
		home ? path_join(n->f->in->home, word + 2) : path_join(from, word);

	return tidy(path);
}

/* A file that a MAYBE names counts if it can be run; one that is not there yet is watched for. */
static void protect_program(struct finder *f, enum gitprogram kind, const char *path)
{
	cleanup_fd int fd = finder_open(f, path, O_PATH | O_NOFOLLOW);
	cleanup_free char *dir = NULL;
	struct stat st;

	if (fd == -ENOENT) {
		dir = kind == GITPROGRAM_DIR ? xstrdup(path) : path_dir(path);
		if (kind != GITPROGRAM_MAYBE && !streq(dir, f->in->dir))
			finder_programs(f, dir);
		return;
	}
	if (fd == -EXDEV || (fd >= 0 && fstat(fd, &st) < 0))
		return;
	if (fd < 0 || S_ISLNK(st.st_mode) ||
	    (S_ISDIR(st.st_mode) ? kind == GITPROGRAM_DIR
				 : kind != GITPROGRAM_MAYBE || (st.st_mode & 0111)))
		finder_protect(f, path, GUARD_RO, "a program that your git settings name");
}

/* For commits, which can bring a file that is not there yet. */
static void note(const struct named *n, enum gitprogram kind, const char *path)
{
	static const char letters[] = {
		[GITPROGRAM_DIR] = 'd', [GITPROGRAM_FILE] = 'f', [GITPROGRAM_MAYBE] = 'm'};
	const struct gitdir *git = n->f->in->git;
	const char *root = git ? git->root : NULL;
	cleanup_free char *line = NULL;

	if (!root || !path_under(path, root) || streq(path, root) || path_under(path, git->common))
		return;
	line = xasprintf("%c%s", letters[kind], path + strlen(root) + 1);
	if (!strv_has(&n->f->out->named, line))
		strv_push(&n->f->out->named, line);
}

static void note_program(const struct named *n, enum gitprogram kind, const char *path)
{
	cleanup_free char *real = realpath(path, NULL);

	note(n, kind, path);
	if (real)
		note(n, kind, real);
	protect_program(n->f, kind, path);
}

static void on_program(enum gitprogram kind, const char *word, void *arg)
{
	const struct named *n = arg;
	cleanup_free char *path = absolute(n, n->root, word);

	note_program(n, kind, path);
	/* "/x" may be what is left of "$(git rev-parse --show-toplevel)/x". */
	if (word[0] == '/') {
		cleanup_free char *below = absolute(n, n->root, word + strspn(word, "/"));

		note_program(n, kind, below);
	}
}

static int read_settings(struct named *n, const char *path);

/* git reads a file of the tree as soon as it is there, and nothing can be mounted in its place. */
static void include(struct named *n, const char *path)
{
	const struct guard_input *in = n->f->in;
	int r = n->depth < INCLUDE_DEPTH ? read_settings(n, path) : 0;

	note(n, GITPROGRAM_FILE, path);
	if (r == 0 || !path_under(path, in->dir) ||
	    (in->covered && path_under(path, in->covered)) ||
	    (in->git && path_under(path, in->git->common)))
		return;
	finder_refuse(
		n->f,
		"your git settings include '%s', which cannot be read (%s): the agent could make "
		"it; create the file, or remove include.path",
		path, strerror(-r));
}

static bool on_entry(const struct gitconfig_entry *e, void *arg)
{
	struct named *n = arg;

	if ((streq(e->section, "include") || streq(e->section, "includeif")) &&
	    streq(e->key, "path") && e->value && e->value[0]) {
		cleanup_free char *path = absolute(n, n->dir, e->value);

		include(n, path);
	} else {
		gitprograms_each(e, on_program, n);
	}
	return false;
}

/* In the tree no link is followed; the user's own files may be links. */
static int open_settings(const struct finder *f, const char *real)
{
	const int how = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int fd = finder_open(f, real, how);

	if (fd != -EXDEV)
		return fd;
	fd = open(real, how | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Settings that lie in the tree themselves are protected before they are believed. */
static int read_settings(struct named *n, const char *path)
{
	cleanup_free char *real = realpath(path, NULL), *dir = NULL;
	struct named inner = {n->f, NULL, n->root, n->depth + 1};
	cleanup_fd int fd = -1;
	cleanup_buf struct buf b;
	struct stat st;

	buf_init(&b, CONFIG_MAX);
	if (!real)
		return -errno;
	fd = open_settings(n->f, real);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	inner.dir = dir = path_dir(real);
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	note(n, GITPROGRAM_FILE, real);
	finder_protect(n->f, real, GUARD_RO, "settings of git");
	if (fd_read_all(fd, &b) < 0)
		finder_refuse(n->f, "cannot read the git settings '%s' as a whole", real);
	else
		(void)gitconfig_each(buf_str(&b), b.len, on_entry, &inner);
	return 0;
}

static const char *const files[] = {"config", "config.worktree"};

void guard_named(struct finder *f, const char *dir, const char *root)
{
	struct named n = {.f = f, .dir = dir, .root = root ? root : dir};

	for (size_t i = 0; dir && i < ARRAY_SIZE(files); i++) {
		cleanup_free char *path = path_join(dir, files[i]);

		(void)read_settings(&n, path);
	}
	for (size_t i = 0; root && f->in->settings && i < f->in->settings->n; i++)
		(void)read_settings(&n, f->in->settings->v[i]);
}

/* Settings that cannot be read may name anything, so no sandbox starts. */
static void read_own(struct finder *f, const char *dir)
{
	struct named n = {.f = f, .dir = dir, .root = f->in->git->root};

	if (!n.root)
		n.root = dir;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_free char *path = path_join(dir, files[i]);
		int r = read_settings(&n, path);

		if (r < 0 && r != -ENOENT)
			finder_refuse(f, "cannot read '%s': %s", path, strerror(-r));
	}
}

void guard_private(struct finder *f)
{
	const struct gitdir *g = f->in->git;

	read_own(f, g->common);
	if (!streq(g->dir, g->common))
		read_own(f, g->dir);
}
