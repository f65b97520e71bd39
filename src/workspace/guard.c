#include "workspace/guard.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/guard-find.h"

static const struct guard_root *root_of(const struct finder *f, const char *path)
{
	for (size_t i = 0; i < f->n_roots; i++)
		if (path_under(path, f->roots[i].path))
			return &f->roots[i];
	return NULL;
}

int finder_open(const struct finder *f, const char *path, int flags)
{
	const struct guard_root *root = root_of(f, path);
	const char *rest = root ? path + strlen(root->path) : NULL;

	if (!root || (f->in->covered && path_under(path, f->in->covered)))
		return -EXDEV;
	return path_open_beneath(root->fd, *rest ? rest + 1 : ".", flags, 0);
}

int finder_read(const struct finder *f, const char *path, struct buf *b)
{
	cleanup_fd int fd = finder_open(f, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	return fd_read_all(fd, b);
}

DIR *finder_dir(const struct finder *f, const char *path)
{
	cleanup_fd int fd = finder_open(f, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)take_fd(fd);
	return dir;
}

void finder_refuse(struct finder *f, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	if (f->refused.msg[0])
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	(void)err_usage(&f->refused, "%s", text);
}

static void add_found(struct finder *f, const char *path, enum guard_kind kind, const char *why)
{
	for (size_t i = 0; i < f->n_found; i++)
		if (streq(f->found[i].path, path))
			return;
	if (f->n_found == GUARD_ITEMS_MAX) {
		finder_refuse(
			f,
			"more than %d files in '%s' would have to be read-only or hidden, "
			"such as '%s'; remove some, or take the names back with --mask '!NAME'",
			GUARD_ITEMS_MAX, f->in->dir, path);
		return;
	}
	f->found = xrealloc(f->found, f->n_found + 1, sizeof(*f->found));
	f->found[f->n_found++] =
		(struct guard_item){.kind = kind, .path = xstrdup(path), .why = why};
}

void finder_protect(struct finder *f, const char *path, enum guard_kind kind, const char *why)
{
	cleanup_fd int fd = finder_open(f, path, O_PATH | O_NOFOLLOW);
	cleanup_free char *real = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) {
		/* A socket or pipe has nothing in it, and nothing can be mounted on a link. */
		if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
			add_found(f, path, kind, why);
		return;
	}
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -EXDEV)
		return;
	if (fd < 0 && fd != -ELOOP) {
		finder_refuse(f, "cannot protect '%s': %s", path, strerror(-fd));
		return;
	}
	/* A link on the way, or at the end: what it leads to, unless that cannot be written. */
	real = realpath(path, NULL);
	if (real && root_of(f, real) && !streq(real, root_of(f, real)->path))
		add_found(f, real, kind, why);
}

void finder_place(struct finder *f, enum protect_base base, const char *dir)
{
	struct guard *g = f->out;

	g->places = xrealloc(g->places, g->n_places + 1, sizeof(*g->places));
	g->places[g->n_places++] = (struct guard_place){.base = base, .dir = xstrdup(dir)};
}

void finder_programs(struct finder *f, const char *dir)
{
	if (root_of(f, dir) && !strv_has(&f->out->programs, dir))
		strv_push(&f->out->programs, dir);
}

static void emit(struct guard *g, enum guard_kind kind, const char *path, const char *why)
{
	g->items = xrealloc(g->items, g->n_items + 1, sizeof(*g->items));
	g->items[g->n_items++] =
		(struct guard_item){.kind = kind, .path = xstrdup(path), .why = why};
}

static const struct guard_item *emitted(const struct guard *g, const char *path)
{
	for (size_t i = 0; i < g->n_items; i++)
		if (streq(g->items[i].path, path))
			return &g->items[i];
	return NULL;
}

/* Whether something above it is read-only already; each directory between it and its root is
 * pinned on the way, from the top. */
static bool pin_ancestors(struct finder *f, const char *path)
{
	const char *root = root_of(f, path)->path;

	for (const char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		cleanup_free char *dir = xstrndup(path, (size_t)(slash - path));
		const struct guard_item *there = emitted(f->out, dir);

		if (there && there->kind != GUARD_PIN)
			return true;
		if (!there)
			emit(f->out, GUARD_PIN, dir, "stays where it is: it holds protected files");
	}
	return false;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct guard_item *)a)->path, ((const struct guard_item *)b)->path);
}

/* In the order of their paths what is above comes first, so that no pin opens what is read-only. */
static void emit_all(struct finder *f)
{
	if (f->n_found)
		qsort(f->found, f->n_found, sizeof(f->found[0]), by_path);
	for (size_t i = 0; i < f->n_found; i++) {
		const struct guard_item *it = &f->found[i];

		if (!pin_ancestors(f, it->path) || it->kind == GUARD_MASK)
			emit(f->out, it->kind, it->path, it->why);
		free(f->found[i].path);
	}
}

static void finder_done(struct finder *f)
{
	free(f->found);
	for (size_t i = 0; i < f->n_roots; i++) {
		free(f->roots[i].path);
		closep(&f->roots[i].fd);
	}
	strv_done(&f->git_seen);
}

static int add_root(struct finder *f, const char *path, struct err *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", path);
	f->roots[f->n_roots++] = (struct guard_root){.path = xstrdup(path), .fd = fd};
	return 0;
}

int guard_find(const struct guard_input *in, struct guard *ret, struct err *err)
{
	struct finder f = {.in = in, .out = ret};
	const char *common = in->git ? in->git->common : NULL;
	int r;

	*ret = (struct guard){0};
	strv_init(&ret->programs);
	strv_init(&ret->named);
	strv_init(&f.git_seen);
	r = add_root(&f, in->dir, err);
	if (r == 0 && !in->private && common && in->git->root && streq(in->git->root, in->dir) &&
	    !path_under(common, in->dir))
		r = add_root(&f, common, err);
	if (r == 0) {
		if (f.n_roots > 1)
			guard_git(&f, PROTECT_GIT, common, NULL);
		if (in->private && common)
			guard_private(&f);
		guard_tree(&f);
		emit_all(&f);
		if (f.refused.msg[0]) {
			*err = f.refused;
			r = -EINVAL;
		}
	}
	finder_done(&f);
	return r;
}

int guard_named_list(const struct guard_input *in, struct strv *ret, struct err *err)
{
	cleanup_(guard_done) struct guard g = {0};
	struct finder f = {.in = in, .out = &g};
	int r = add_root(&f, in->dir, err);

	if (r == 0) {
		guard_private(&f);
		guard_named(&f, NULL, in->git->root);
		for (size_t i = 0; i < f.n_found; i++)
			free(f.found[i].path);
		for (size_t i = 0; i < g.named.n; i++)
			strv_push(ret, g.named.v[i]);
		if (f.refused.msg[0]) {
			*err = f.refused;
			r = -EINVAL;
		}
	}
	finder_done(&f);
	return r;
}

void guard_done(struct guard *g)
{
	for (size_t i = 0; i < g->n_items; i++)
		free(g->items[i].path);
	for (size_t i = 0; i < g->n_places; i++)
		free(g->places[i].dir);
	free(g->items);
	free(g->places);
	strv_done(&g->programs);
	strv_done(&g->named);
	*g = (struct guard){0};
}
