#include "workspace/host-run.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protect.h"
#include "workspace/restore.h"

#define KNOWN_MAX 4096
#define LINK_MAX 4096

/* One name at one place, as it was when it was last looked at. */
struct known {
	char *path;
	dev_t dev;
	ino_t ino;
	mode_t mode;
	off_t size;
	struct timespec changed;
	char *link;
	bool mounted; /* read-only inside: the agent cannot have changed it */
};

/* A directory, held open from before anything ran: what is moved about above it does not matter. */
struct place {
	const struct spec_watch *watch;
	int fd;
};

struct host_run {
	const struct sandbox_spec *spec;
	struct place *places;
	size_t n_places;
	struct known *known;
	size_t n_known;
};

static const enum protect_base bases[] = {
	[SPEC_WATCH_TREE] = PROTECT_TREE,
	[SPEC_WATCH_GIT] = PROTECT_GIT,
	[SPEC_WATCH_WORKTREE] = PROTECT_WORKTREE,
	[SPEC_WATCH_PATH] = PROTECT_BASE_N,
};
static_assert(ARRAY_SIZE(bases) == SPEC_WATCH_N, "one base for each kind");

bool host_run_is_mounted(const struct sandbox_spec *spec, const char *path)
{
	if (spec_git_covers(spec, path))
		return true;
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if ((m->kind == SPEC_PROTECT && path_under(path, m->source)) ||
		    (m->kind == SPEC_HIDE && streq(path, m->target)))
			return true;
	}
	return false;
}

bool host_run_is_covered(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->source && streq(m->target, path) && !streq(m->source, path))
			return true;
	}
	return false;
}

static struct known *find(struct host_run *s, const char *path)
{
	for (size_t i = 0; i < s->n_known; i++)
		if (streq(s->known[i].path, path))
			return &s->known[i];
	return NULL;
}

/* The text of a link; NULL for anything else. */
static char *read_link(int fd)
{
	char text[LINK_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text) - 1);

	return n < 0 ? NULL : xstrndup(text, (size_t)n);
}

static void fill(struct known *k, int fd, const struct stat *st)
{
	k->dev = st->st_dev;
	k->ino = st->st_ino;
	k->mode = st->st_mode;
	k->size = st->st_size;
	k->changed = st->st_ctim;
	if (!k->link && S_ISLNK(st->st_mode))
		k->link = read_link(fd);
}

static bool same(const struct known *k, const struct stat *st)
{
	return k->dev == st->st_dev && k->ino == st->st_ino && k->mode == st->st_mode &&
	       k->size == st->st_size && k->changed.tv_sec == st->st_ctim.tv_sec &&
	       k->changed.tv_nsec == st->st_ctim.tv_nsec;
}

struct look {
	struct host_run *s;
	struct findings *out;
	const struct protect_rule *rule;
	bool in_git;
};

/* What is new is remembered, also when there is no room: then it is reported every time. */
static void report(struct look *l, const struct known *k, const char *path)
{
	struct finding *f;

	if (k && k->mounted)
		return;
	f = findings_add(l->out, path, xstrdup(l->rule->why), l->in_git);
	if (f && k && k->link && !f->link)
		f->link = xstrdup(k->link);
}

static void look_at(struct look *l, int dirfd, const char *rel, const char *path)
{
	cleanup_fd int fd = path_open_beneath(dirfd, rel, O_PATH | O_NOFOLLOW, 0);
	struct known *k = find(l->s, path);
	struct stat st;

	/* What else there is in a directory, the walk compares. */
	if (restore_has(l->s->spec, path) || spec_may_change(l->s->spec, path) ||
	    spec_may_change_below(l->s->spec, path))
		return;
	/* Removed on the host, and the mount with it: what comes next is anybody's. */
	if (fd == -ENOENT && k)
		k->mounted = false;
	if (fd < 0 || fstat(fd, &st) < 0 || (k && same(k, &st)))
		return;
	if (l->out)
		report(l, k, path);
	if (!k && l->s->n_known < KNOWN_MAX) {
		l->s->known = xrealloc(l->s->known, l->s->n_known + 1, sizeof(*k));
		k = &l->s->known[l->s->n_known++];
		*k = (struct known){.path = xstrdup(path),
				    .mounted = !l->out && host_run_is_mounted(l->s->spec, path)};
	}
	if (k)
		fill(k, fd, &st);
}

/* .claude/settings*.json: every name in that directory that fits. */
static void look_at_pattern(struct look *l, const struct place *p)
{
	cleanup_free char *parent = path_dir(l->rule->path);
	cleanup_fd int fd = path_open_beneath(p->fd, parent, O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d)
		return;
	(void)take_fd(fd);
	while ((de = readdir(d))) {
		cleanup_free char *rel = NULL, *path = NULL;

		if (fnmatch(path_base(l->rule->path), de->d_name, 0) != 0)
			continue;
		rel = path_join(parent, de->d_name);
		path = path_join(p->watch->dir, rel);
		look_at(l, p->fd, rel, path);
	}
	(void)closedir(d);
}

static void look_at_place(struct look *l, const struct place *p)
{
	enum protect_base base = bases[p->watch->kind];

	l->in_git = base != PROTECT_TREE;
	for (l->rule = protect_rules(base); l->rule->path; l->rule++) {
		cleanup_free char *path = NULL;

		if (protect_is_pattern(l->rule)) {
			look_at_pattern(l, p);
			continue;
		}
		path = path_join(p->watch->dir, l->rule->path);
		look_at(l, p->fd, l->rule->path, path);
	}
}

struct host_run *host_run_new(const struct sandbox_spec *spec)
{
	struct host_run *s = xcalloc(1, sizeof(*s));
	struct look l = {.s = s};

	s->spec = spec;
	s->places = xcalloc(spec->n_watches, sizeof(*s->places));
	for (size_t i = 0; i < spec->n_watches; i++) {
		int fd;

		if (bases[spec->watches[i].kind] == PROTECT_BASE_N)
			continue;
		fd = open(spec->watches[i].dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			s->places[s->n_places++] =
				(struct place){.watch = &spec->watches[i], .fd = fd};
	}
	for (size_t i = 0; i < s->n_places; i++)
		look_at_place(&l, &s->places[i]);
	return s;
}

struct host_run *host_run_free(struct host_run *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_places; i++)
		closep(&s->places[i].fd);
	for (size_t i = 0; i < s->n_known; i++) {
		free(s->known[i].path);
		free(s->known[i].link);
	}
	free(s->places);
	free(s->known);
	free(s);
	return NULL;
}

void host_run_compare(struct host_run *s, struct findings *out)
{
	struct look l = {.s = s, .out = out};

	for (size_t i = 0; i < s->n_places; i++)
		look_at_place(&l, &s->places[i]);
}

void host_run_accept(struct host_run *s, const char *path)
{
	struct known *k = find(s, path);

	for (size_t i = 0; k && i < s->n_places; i++) {
		const struct place *p = &s->places[i];
		const char *rel = path + strlen(p->watch->dir) + 1;
		cleanup_fd int fd = -1;
		struct stat st;

		if (!path_under(path, p->watch->dir))
			continue;
		fd = path_open_beneath(p->fd, rel, O_PATH | O_NOFOLLOW, 0);
		if (fd >= 0 && fstat(fd, &st) == 0)
			fill(k, fd, &st);
	}
}

bool host_run_cares(const char *name)
{
	for (enum protect_base base = 0; base < PROTECT_BASE_N; base++) {
		for (const struct protect_rule *r = protect_rules(base); r->path; r++) {
			size_t n = strcspn(r->path, "/");

			if (strncmp(r->path, name, n) == 0 && name[n] == '\0')
				return true;
		}
	}
	return false;
}
