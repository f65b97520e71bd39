/*
 * Objects become the user's, beside a `git gc` that sees nothing that names them yet. They are a pack
 * with a .keep file until the references are written, since git removes no such pack. Objects of the user's that
 * they need must be part of what some reference keeps.
 */
#include "repo/import/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "repo/wide/wide.h"

/* A small pack for each import would add up: every program that opens the repository looks at all of them. */
#define PACKS_MAX 4
#define KEEP_MAX 256
#define IMPORT_KEEP "ralph: an import is at work\n"

static int add_loose(const git_oid *oid, void *arg)
{
	git_odb *const *to = arg; /* from, to */
	git_odb_object *o = NULL;
	git_oid same;
	int r = git_odb_read(&o, to[0], oid);

	if (r == 0)
		r = git_odb_write(&same, to[1], git_odb_object_data(o), git_odb_object_size(o),
				  git_odb_object_type(o));
	git_odb_object_free(o);
	return r;
}

static int move_loose(const struct import *im, const char *objects, struct err *err)
{
	cleanup_git(odb) git_odb *real = NULL;
	git_odb *both[2] = {im->received, NULL};
	int r;

	if (im->wide)
		return wide_unpack(im->wide, err);
	r = git_odb_open(&real, objects);

	both[1] = real;
	if (r == 0)
		r = git_odb_foreach(im->received, add_loose, both);
	return r < 0 ? gitlib_err(err, "cannot write the objects") : 0;
}

/* As git's default for core.fsync: packs are on the disk before anything names them, loose objects
 * and references as soon as the system likes. */
static int sync_file(const char *path)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* The index of a pack last: git looks for that. */
static int move_pack(struct import *im, const char *objects, struct err *err)
{
	static const char *const kinds[] = {"pack", "idx"};
	bool many = im->n_objects > IMPORT_LOOSE_MAX;
	cleanup_free char *keep = xasprintf("%s/pack/pack-", objects);
	const char *hex = im->pack;
	int r;

	im->keep = xasprintf("%s%s.keep", keep, hex);
	r = path_write_atomic(AT_FDCWD, im->keep, IMPORT_KEEP, strlen(IMPORT_KEEP), 0444, 0);
	if (r < 0)
		return err_sys(err, -r, "cannot write '%s'", im->keep);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup_free char *from =
			xasprintf("%s/pack/pack-%s.%s", im->quarantine, hex, kinds[i]);
		cleanup_free char *to = xasprintf("%s/pack/pack-%s.%s", objects, hex, kinds[i]);

		if ((many && sync_file(from) < 0) || rename(from, to) < 0)
			return err_sys(err, errno, "cannot move the objects to '%s'", to);
	}
	return 0;
}

/* Is `git gc` at work, or does the repository have so many packs that small ones would add up? */
static bool is_packed(const struct import *im, const char *packs)
{
	cleanup_free char *gc = path_join(im->git.common, "gc.pid");
	DIR *d = opendir(packs);
	struct dirent *de;
	struct stat st;
	size_t n = 0;

	while (d && (de = readdir(d)))
		n += strncmp(de->d_name, "pack-", 5) == 0 && strstr(de->d_name, ".idx") != NULL;
	if (d)
		(void)closedir(d);
	return n < PACKS_MAX || im->n_objects > IMPORT_LOOSE_MAX || lstat(gc, &st) == 0;
}

int import_move_objects(struct import *im, struct err *err)
{
	cleanup_free char *objects = path_join(im->git.common, "objects");
	cleanup_free char *packs = path_join(objects, "pack");
	int r = 0;

	if (!im->received || im->n_objects == 0)
		return 0;
	r = path_mkdirs(packs, 0777, err);
	if (r == 0)
		r = is_packed(im, packs) ? move_pack(im, objects, err)
					 : move_loose(im, objects, err);
	if (r == 0 && git_odb_refresh(im->odb) < 0)
		r = gitlib_err(err, "cannot read the objects");
	return r;
}

void import_release(struct import *im)
{
	if (im->keep)
		(void)unlink(im->keep);
	free(take_ptr(im->keep));
}

void import_release_left(const struct import *im)
{
	cleanup_free char *packs = path_join(im->git.common, "objects/pack");
	DIR *d = opendir(packs);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		const char *end = strrchr(de->d_name, '.');
		cleanup_buf struct buf b;

		buf_init(&b, KEEP_MAX);
		if (end && streq(end, ".keep") && path_read(dirfd(d), de->d_name, &b) == 0 &&
		    streq(buf_str(&b), IMPORT_KEEP))
			(void)unlinkat(dirfd(d), de->d_name, 0);
	}
	if (d)
		(void)closedir(d);
}

static bool is_commit(const struct import *im, const git_oid *oid)
{
	git_object_t type;
	size_t size;

	return git_odb_read_header(&size, &type, im->odb, oid) == 0 && type == GIT_OBJECT_COMMIT;
}

/* The commits that these references lead to; tags of anything else are left out. */
static size_t tips_of(const struct import *im, const char *refs, git_oid **ret)
{
	git_reference_iterator *it = NULL;
	git_reference *ref = NULL;
	size_t n = 0, room = 64;

	*ret = xcalloc(room, sizeof(**ret));
	if (git_reference_iterator_glob_new(&it, im->repo, refs) < 0)
		return 0;
	for (; git_reference_next(&ref, it) == 0; git_reference_free(ref)) {
		cleanup_git(object) git_object *o = NULL;

		if (git_reference_peel(&o, ref, GIT_OBJECT_COMMIT) < 0)
			continue;
		if (n == room)
			*ret = xrealloc(*ret, room *= 2, sizeof(**ret));
		(*ret)[n++] = *git_object_id(o);
	}
	git_reference_iterator_free(it);
	return n;
}

/*
 * libgit2's walk can name commits that are hidden when several are pushed, and some of these are older
 * than the others. What it names is asked for once more, up to a limit: every question is a walk.
 */
#define ASKED_MAX 1000

struct kept {
	const struct import *im;
	const char *refs;
	git_oid *tips; /* NULL: nobody has asked */
	size_t n, asked;
};

static bool is_kept(struct kept *k, const git_oid *oid)
{
	if (git_odb_exists(k->im->received, oid))
		return true;
	if (!k->tips)
		k->n = tips_of(k->im, k->refs, &k->tips);
	return k->n && k->asked++ < ASKED_MAX &&
	       git_graph_reachable_from_any(k->im->repo, oid, k->tips, k->n) == 1;
}

/* Is every commit received, or part of what these references of the user's keep? */
static bool is_kept_by(const struct import *im, const char *refs)
{
	struct kept k = {.im = im, .refs = refs};
	git_revwalk *walk = NULL;
	git_oid oid;
	int r = git_revwalk_new(&walk, im->repo);

	for (size_t i = 0; r == 0 && i < im->n_rows; i++)
		if (is_commit(im, &im->rows[i].inside))
			r = git_revwalk_push(walk, &im->rows[i].inside);
	if (r == 0)
		r = git_revwalk_hide_glob(walk, refs);
	while (r == 0 && (r = git_revwalk_next(&oid, walk)) == 0)
		if (!is_kept(&k, &oid))
			break;
	git_revwalk_free(walk);
	free(k.tips);
	return r == GIT_ITEROVER;
}

static int vanished(struct err *err)
{
	return err_set(err, EAGAIN,
		       "git removed objects from your repository while commits were imported; the "
		       "next import has them again");
}

static bool is_there(const struct import *im, git_odb *odb, const git_oid *oid)
{
	return im->wide ? wide_is_there(im->wide, oid) : git_odb_exists(odb, oid);
}

int import_check_there(const struct import *im, bool reachable, struct err *err)
{
	cleanup_free char *objects = path_join(im->git.common, "objects");
	cleanup_git(odb) git_odb *odb = NULL;
	int r = 0;

	/* Another one than im->odb, which remembers objects that are gone. */
	if (im->n_rows == 0 || im->partial)
		return 0;
	if (im->wide)
		r = wide_look_again(im->wide, err);
	else if (git_odb_open(&odb, objects) < 0)
		r = gitlib_err(err, "cannot read the objects");
	if (r < 0)
		return r;
	for (size_t i = 0; i < im->n_rows; i++)
		if (!is_there(im, odb, &im->rows[i].inside))
			return vanished(err);
	for (size_t i = 0; i < im->n_borrowed; i++)
		if (!is_there(im, odb, &im->borrowed[i]))
			return vanished(err);
	/* Nearly always the branches have it, and there may be many tags. A merge that the user asked for
	 * was made a moment ago. */
	return !reachable || !im->received || git_repository_is_shallow(im->repo) != 0 ||
			       is_kept_by(im, "refs/heads/*") || is_kept_by(im, "refs/*")
		       ? 0
		       : vanished(err);
}
