#include "workspace/nested.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/host-run.h"
#include "workspace/quarantine.h"

#define CONTENT "content"
#define SENTENCE_MAX (8 * KiB)

static void done(struct nested *n)
{
	free(n->id);
	free(n->path);
	free(n->root);
	free(n->sandbox);
}

void nested_done(struct nested_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		done(&l->v[i]);
	free(l->v);
	*l = (struct nested_list){0};
}

/* Fills n; an odd record is an error. */
static int read_one(const struct places *p, const char *id, struct nested *n)
{
	const char *path = NULL, *root = NULL, *sandbox = NULL;
	cleanup_json json_t *meta = NULL;
	struct err ignored;
	int r = quarantine_meta(p, SHELF_NESTED, id, &meta, &ignored);

	if (r == 0)
		r = json_get_str(meta, "path", &path, &ignored);
	if (r == 0)
		r = json_get_str(meta, "root", &root, &ignored);
	if (r == 0)
		r = json_get_str(meta, "sandbox", &sandbox, &ignored);
	if (r < 0 || !path || !root || !sandbox || !path_is_normal(path) ||
	    !path_under(path, root) || streq(path, root))
		return -EINVAL;
	*n = (struct nested){xstrdup(id), xstrdup(path), xstrdup(root), xstrdup(sandbox)};
	return 0;
}

int nested_find(const struct places *p, const char *under, struct nested_list *ret, struct err *err)
{
	cleanup_strv struct strv ids = {0};
	int r = quarantine_list(p, SHELF_NESTED, &ids, err);

	for (size_t i = 0; r == 0 && i < ids.n; i++) {
		struct nested n;

		if (read_one(p, ids.v[i], &n) < 0)
			continue;
		if (under && !path_under(n.path, under)) {
			done(&n);
			continue;
		}
		ret->v = xrealloc(ret->v, ret->n + 1, sizeof(*ret->v));
		ret->v[ret->n++] = n;
	}
	return r;
}

bool nested_has(const struct places *p, const char *path)
{
	struct nested_list l = {0};
	struct err ignored;
	bool has = false;

	if (nested_find(p, path, &l, &ignored) == 0)
		for (size_t i = 0; i < l.n; i++)
			has = has || streq(l.v[i].path, path);
	nested_done(&l);
	return has;
}

const char *nested_name(const struct nested *n)
{
	return n->path + strlen(n->root) + 1;
}

json_t *nested_list_json(const struct nested_list *l)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(
			rows, json_pack("{so so so so}", "id", json_text(l->v[i].id), "path",
					json_text(l->v[i].path), "root", json_text(l->v[i].root),
					"sandbox", json_text(l->v[i].sandbox)));
	return rows;
}

/* The directory that it was in, no link on the way. */
static int open_parent(const struct nested *n)
{
	cleanup_fd int root = open(n->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_free char *dir = path_dir(nested_name(n));

	return root < 0 ? -errno : path_open_beneath(root, dir, O_RDONLY | O_DIRECTORY, 0);
}

static bool is_empty_dir(int at, const char *name)
{
	int fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;

	if (!d) {
		closep(&fd);
		return false;
	}
	while (n < 3 && readdir(d))
		n++;
	(void)closedir(d);
	return n < 3; /* "." and ".." */
}

/* May the guest make a name in it? It has no more rights than the owner, also where root runs it. */
static bool is_writable(int dir)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return false;
	if (st.st_uid == geteuid())
		return (st.st_mode & (S_IWUSR | S_IXUSR)) == (S_IWUSR | S_IXUSR);
	return faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

/* Nothing, or a place that a start made: as empty as what is mounted there is not. */
static bool is_free(int parent, const char *name, mode_t content)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && is_writable(parent);
	if ((st.st_mode & S_IFMT) != (content & S_IFMT))
		return false;
	return S_ISDIR(st.st_mode) ? is_empty_dir(parent, name) : st.st_size == 0;
}

/* A link cannot be mounted, and what could not be moved is not here. */
static bool can_be_mounted(const struct places *p, const struct nested *n)
{
	struct err ignored;
	cleanup_fd int entry = quarantine_open(p, SHELF_NESTED, n->id, &ignored);
	cleanup_fd int parent = entry < 0 ? -1 : open_parent(n);
	struct stat st;

	return parent >= 0 && fstatat(entry, CONTENT, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) &&
	       is_free(parent, path_base(n->path), st.st_mode);
}

/* The writable tree that shows it; those that follow from the tree's own content are none. */
static const struct spec_mount *shown_by(const struct sandbox_spec *s, const char *path)
{
	for (size_t i = s->n_mounts; i-- > 0;) {
		const struct spec_mount *m = &s->mounts[i];

		if (m->kind == SPEC_BIND_RW && !m->of_tree && !streq(m->target, s->home) &&
		    path_under(path, m->source))
			return m;
	}
	return NULL;
}

static bool is_taken(const struct sandbox_spec *s, const char *target)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (streq(s->mounts[i].target, target))
			return true;
	return false;
}

static void mount_one(struct sandbox_spec *s, const struct places *p, const struct nested *n)
{
	const struct spec_mount *on = shown_by(s, n->path);
	cleanup_free char *target = NULL, *source = NULL;

	if (!on || host_run_is_mounted(s, n->path) || !can_be_mounted(p, n))
		return;
	target = xasprintf("%s%s", on->target, n->path + strlen(on->source));
	source = xasprintf("%s/" SHELF_NESTED_NAME "/%s/" CONTENT, p->state, n->id);
	/* Of two that were at the same place the newer one is it. */
	if (!is_taken(s, target))
		spec_mount_add(s, SPEC_BIND_RW, source, target, "a git directory that appeared")
			->of_tree = true;
}

void nested_mount(struct sandbox_spec *s, const struct places *p)
{
	struct nested_list l = {0};
	struct err ignored;

	if (nested_find(p, NULL, &l, &ignored) == 0)
		for (size_t i = 0; i < l.n && i < NESTED_BACK_MAX; i++)
			mount_one(s, p, &l.v[l.n - 1 - i]);
	nested_done(&l);
}

/* The id of one that this mount shows; NULL: it is no such mount. The caller frees it. */
static char *id_of(const struct spec_mount *m, const struct places *p)
{
	cleanup_free char *store = path_join(p->state, SHELF_NESTED_NAME);

	if (!m->source || m->kind != SPEC_BIND_RW || !path_under(m->source, store) ||
	    strlen(m->source) <= strlen(store) + 1 + QUARANTINE_ID_LEN)
		return NULL;
	return xstrndup(m->source + strlen(store) + 1, QUARANTINE_ID_LEN);
}

static void unmount_one(const struct places *p, const struct nested *n)
{
	const char *name = path_base(n->path);
	struct err ignored;
	cleanup_fd int parent = open_parent(n);
	cleanup_fd int entry = quarantine_open(p, SHELF_NESTED, n->id, &ignored);
	struct stat st;

	if (parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size == 0)))
		/* One that holds something stays, and is found by the walk. */
		(void)unlinkat(parent, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	if (entry >= 0 && is_empty_dir(entry, CONTENT))
		(void)quarantine_drop(p, SHELF_NESTED, n->id, &ignored);
}

void nested_unmount(const struct sandbox_spec *s, const struct places *p)
{
	for (size_t i = 0; i < s->n_mounts; i++) {
		cleanup_free char *id = id_of(&s->mounts[i], p);
		struct nested n;

		if (!id || read_one(p, id, &n) < 0)
			continue;
		unmount_one(p, &n);
		done(&n);
	}
}

void nested_put_back(const struct sandbox_spec *s, const struct places *p)
{
	struct nested_list l = {0};
	struct err ignored;

	if (nested_find(p, s->workspace, &l, &ignored) == 0)
		for (size_t i = l.n; i-- > 0;) /* the newer of two at one place */
			(void)quarantine_release(p, SHELF_NESTED, l.v[i].id, &ignored);
	nested_done(&l);
}

/* A word that a shell takes as it is: what a person types for "lib/x/.git" is lib/x. */
static char *operand(const char *name, const char *id)
{
	size_t n = strlen(name), cut = n > 5 && streq(name + n - 5, "/.git") ? n - 5 : n;

	for (size_t i = 0; i < cut; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_./+@", name[i]))
			return xstrdup(id);
	return name[0] == '-' ? xstrdup(id) : xstrndup(name, cut);
}

void nested_tell(struct nested_told *t, const struct sandbox_spec *spec, const char *path,
		 const char *id)
{
	const char *name = path_under(path, spec->workspace) && !streq(path, spec->workspace)
				   ? path + strlen(spec->workspace) + 1
				   : path;

	if (!t->adopt || (!t->plain && streq(path_base(name), ".git"))) {
		free(t->adopt);
		t->adopt = operand(name, id);
		t->plain = streq(path_base(name), ".git");
	}
	if (t->n++ < NESTED_TOLD_MAX)
		strv_push(&t->names, name);
}

char *nested_sentence(const struct nested_told *t)
{
	cleanup_buf struct buf b;

	buf_init(&b, SENTENCE_MAX);
	if (!t->n)
		return NULL;
	(void)buf_printf(&b, "%zu git %s that appeared %s put away: ", t->n,
			 t->n == 1 ? "directory" : "directories", t->n == 1 ? "was" : "were");
	for (size_t i = 0; i < t->names.n; i++)
		(void)buf_printf(&b, "%s%.200s", i ? ", " : "", t->names.v[i]);
	if (t->n > t->names.n)
		(void)buf_printf(&b, " and %zu more", t->n - t->names.n);
	(void)buf_printf(&b,
			 "; to take its commits: ralph adopt %.200s; if it is yours: ralph adopt "
			 "--mine %.200s",
			 t->adopt, t->adopt);
	return buf_take(&b);
}

void nested_told_done(struct nested_told *t)
{
	strv_done(&t->names);
	free(t->adopt);
	*t = (struct nested_told){0};
}
