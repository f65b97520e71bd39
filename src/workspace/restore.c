#include "workspace/restore.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/same-tree.h"
#include "workspace/quarantine.h"

#define KEPT_DIR "put-back" /* in the record */
#define BYTES_MAX (64 * MiB)
#define FILES_MAX 10000
#define DEPTH_MAX 16
#define NAMES_MAX 2000 /* directly in one that is kept; more is no settings any more */

/* One path of the spec; its copy has its number as name. */
struct item {
	const struct spec_mount *mount;
	const char *root; /* the writable tree that it is in: nobody inside can rename that */
	int root_fd;
	char name[24];
	bool there; /* there is a copy */
	bool is_dir;
	bool told; /* that it is out of reach */
};

struct restore {
	const struct sandbox_spec *spec;
	int kept;
	struct item *items;
	size_t n;
};

bool restore_has(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_PUT_BACK &&
		    path_under(path, spec->mounts[i].source))
			return true;
	return false;
}

static bool is_own(const struct restore *p, const char *dir, const char *name)
{
	cleanup_free char *path = path_join(dir, name);

	for (size_t i = 0; i < p->spec->n_mounts; i++)
		if (p->spec->mounts[i].kind == SPEC_OWN && streq(p->spec->mounts[i].target, path))
			return true;
	return false;
}

static const char *tree_of(const struct sandbox_spec *spec, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind == SPEC_BIND_RW && path_under(path, m->source) &&
		    (!best || strlen(m->source) > strlen(best)))
			best = m->source;
	}
	return best;
}

/* The directory that holds an item, no link on the way. */
static int open_parent(const struct item *it)
{
	cleanup_free char *dir = path_dir(it->mount->source);
	const char *rel = dir + strlen(it->root);

	return path_open_beneath(it->root_fd, *rel ? rel + 1 : ".", O_RDONLY | O_DIRECTORY, 0);
}

static const char *name_of(const struct item *it)
{
	return path_base(it->mount->source);
}

/* What is directly in it, without what is left alone. -E2BIG: too much. */
static int names_in(const struct restore *p, int dir, const char *path, struct strv *ret)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int r = 0;

	if (!d) {
		r = -errno;
		closep(&copy);
		return r;
	}
	while (r == 0 && (e = readdir(d))) {
		if (streq(e->d_name, ".") || streq(e->d_name, "..") || is_own(p, path, e->d_name))
			continue;
		strv_push(ret, e->d_name);
		r = ret->n > NAMES_MAX ? -E2BIG : 0;
	}
	(void)closedir(d);
	return r;
}

static int copy_name(int from, const char *name, int to, const char *to_name)
{
	const struct copy_rules rules = {
		.bytes_max = BYTES_MAX,
		.files_max = FILES_MAX,
		.depth_max = DEPTH_MAX,
		.links = COPY_LINKS_ALL,
		.replace = true,
		.modes = true,
	};

	return copy_tree(from, name, to, to_name, &rules);
}

/* ---- before ---- */

static int keep_dir(const struct restore *p, const struct item *it, int parent, mode_t mode)
{
	cleanup_fd int dir = path_open_beneath(parent, name_of(it), O_RDONLY | O_DIRECTORY, 0);
	cleanup_fd int to = -1;
	cleanup_strv struct strv names = {0};
	int r = dir < 0 ? dir : names_in(p, dir, it->mount->source, &names);

	if (r == 0 && mkdirat(p->kept, it->name, 0700) < 0)
		r = -errno;
	if (r < 0)
		return r;
	to = openat(p->kept, it->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = to < 0 ? -errno : 0;
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = copy_name(dir, names.v[i], to, names.v[i]);
	/* Last: it may be one that its owner does not write. */
	return r < 0 || fchmod(to, mode & 0777) == 0 ? r : -errno;
}

static int keep(struct restore *p, struct item *it, struct err *err)
{
	cleanup_fd int parent = open_parent(it);
	struct stat st;
	int r;

	if (parent < 0 || fstatat(parent, name_of(it), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* it went meanwhile: what appears there is new */
	it->is_dir = S_ISDIR(st.st_mode);
	r = it->is_dir ? keep_dir(p, it, parent, st.st_mode)
		       : copy_name(parent, name_of(it), p->kept, it->name);
	it->there = r == 0;
	if (r == -EFBIG || r == -E2BIG)
		return err_usage(err,
				 "engine %s shows '%s' as it is, and it is too large to be kept "
				 "for putting it back; use another engine",
				 p->spec->engine, it->mount->source);
	return r < 0 ? err_sys(err, -r, "cannot keep a copy of '%s'", it->mount->source) : 0;
}

static struct restore *new_of(const struct sandbox_spec *spec)
{
	struct restore *p = xcalloc(1, sizeof(*p));

	p->spec = spec;
	p->kept = -1;
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];
		struct item *it;

		if (m->kind != SPEC_PUT_BACK || !tree_of(spec, m->source))
			continue;
		p->items = xrealloc(p->items, p->n + 1, sizeof(*p->items));
		it = &p->items[p->n++];
		*it = (struct item){.mount = m, .root = tree_of(spec, m->source)};
		it->root_fd = open(it->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		(void)snprintf(it->name, sizeof(it->name), "%zu", i);
	}
	return p;
}

int restore_new(const struct sandbox_spec *spec, int dir, struct restore **ret, struct err *err)
{
	cleanup_(restore_freep) struct restore *p = new_of(spec);
	int r;

	*ret = NULL;
	if (p->n == 0)
		return 0;
	r = path_remove_tree(dir, KEPT_DIR, err);
	if (r < 0)
		return r;
	if (mkdirat(dir, KEPT_DIR, 0700) < 0)
		return err_sys(err, errno, "cannot make a directory in the sandbox's record");
	p->kept = openat(dir, KEPT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->kept < 0)
		return err_sys(err, errno, "cannot open a directory of the sandbox's record");
	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = keep(p, &p->items[i], err);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

struct restore *restore_open(const struct sandbox_spec *spec, int dir)
{
	struct restore *p = new_of(spec);
	struct stat st;

	p->kept = openat(dir, KEPT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->kept < 0)
		return restore_free(p);
	for (size_t i = 0; i < p->n; i++) {
		struct item *it = &p->items[i];

		it->there = fstatat(p->kept, it->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
		it->is_dir = it->there && S_ISDIR(st.st_mode);
	}
	return p;
}

struct restore *restore_free(struct restore *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->n; i++)
		closep(&p->items[i].root_fd);
	closep(&p->kept);
	free(p->items);
	free(p);
	return NULL;
}

void restore_forget(int dir)
{
	struct err ignored;

	(void)path_remove_tree(dir, KEPT_DIR, &ignored);
}

/* ---- afterwards ---- */

struct look {
	struct restore *p;
	const struct item *it;
	const struct places *places;
	bool keep;
	struct findings *out;
};

/* Out of the way; *ret_id: where it is now. */
static void take_away(const struct look *l, const char *path, char **ret_id)
{
	const struct quarantine_input in = {
		.root = l->it->root,
		.path = path,
		.why = l->it->mount->reason,
		.sandbox = l->p->spec->name,
	};
	struct err ignored;

	if (!l->keep || quarantine_add(l->places, &in, ret_id, &ignored) < 0)
		(void)quarantine_discard(&in, &ignored);
}

/* What is at path, in the directory dir, is not as it was: that is kept_name below kept; -1: there
 * was nothing. */
static void restore(const struct look *l, int dir, const char *path, int kept,
		    const char *kept_name)
{
	cleanup_free char *id = NULL;
	struct finding *f;

	take_away(l, path, &id);
	if (kept >= 0)
		(void)copy_name(kept, kept_name, dir, path_base(path));
	f = findings_add(l->out, path, xstrdup(l->it->mount->reason), false);
	if (!f || f->back)
		return;
	f->back = true;
	f->id = take_ptr(id);
}

static void look_below(const struct look *l, int dir)
{
	cleanup_fd int kept =
		openat(l->p->kept, l->it->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_strv struct strv now = {0}, was = {0};

	if (kept < 0 || names_in(l->p, kept, l->it->mount->source, &was) < 0)
		return;
	/* Too many are looked at by the next look, and the next: each takes some away. */
	(void)names_in(l->p, dir, l->it->mount->source, &now);
	for (size_t i = 0; i < now.n; i++) {
		cleanup_free char *path = path_join(l->it->mount->source, now.v[i]);

		if (!strv_has(&was, now.v[i]))
			restore(l, dir, path, -1, NULL);
	}
	for (size_t i = 0; i < was.n; i++) {
		cleanup_free char *path = path_join(l->it->mount->source, was.v[i]);

		if (!tree_same(kept, was.v[i], dir, was.v[i], DEPTH_MAX))
			restore(l, dir, path, kept, was.v[i]);
	}
}

static void tell_gone(const struct look *l, struct item *it)
{
	struct finding *f;

	if (it->told)
		return;
	it->told = true;
	f = findings_add(l->out, it->mount->source,
			 xasprintf("%s; the directory that it was in is gone", it->mount->reason),
			 false);
	if (f)
		f->stays = true;
}

static void look_at(const struct look *l, struct item *it)
{
	cleanup_fd int parent = open_parent(it), dir = -1;

	if (parent < 0) {
		tell_gone(l, it);
		return;
	}
	it->told = false;
	if (!it->is_dir) {
		if (!tree_same(l->p->kept, it->name, parent, name_of(it), DEPTH_MAX))
			restore(l, parent, it->mount->source, l->p->kept, it->name);
		return;
	}
	dir = path_open_beneath(parent, name_of(it), O_RDONLY | O_DIRECTORY, 0);
	if (dir >= 0)
		look_below(l, dir);
	else
		restore(l, parent, it->mount->source, l->p->kept, it->name);
}

void restore_look(struct restore *p, const struct places *places, bool keep, struct findings *out)
{
	for (size_t i = 0; p && i < p->n; i++) {
		const struct look l = {p, &p->items[i], places, keep, out};

		if (p->items[i].there)
			look_at(&l, &p->items[i]);
	}
}
