/*
 * The user's index for a HEAD that goes from one commit to another: index.lock is taken as git
 * takes it, and the new index is written to a directory beside it. An entry that is as in the old commit
 * becomes as in the new one. Its stat data are zero, so git compares the file and finds it as it
 * should be, because the agent's commit has it like that. What the user staged stays.
 */
#include "repo/import/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define LOCK "index.lock"
#define NEXT IMPORT_DIR "/index"
#define SIGNED IMPORT_DIR "/lock"
#define OURS "ralph import\n"
#define LOCK_TRIES 40 /* git holds the lock for moments */
#define LOCK_PAUSE_MS 50

static int open_dir(const struct import *im)
{
	int fd = open(im->git.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The lock holds a word of ours from the moment it is there: one that a killed import left is known
 * by it. */
static int take_lock(int dir)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
	int r = path_write_atomic(dir, SIGNED, OURS, strlen(OURS), 0644, 0);

	for (int i = 0; r == 0 && linkat(dir, SIGNED, dir, LOCK, 0) < 0; i++) {
		if (errno != EEXIST)
			r = -errno;
		else if (i == LOCK_TRIES)
			r = -EBUSY;
		else
			(void)nanosleep(&pause, NULL);
	}
	return r;
}

bool import_index_is_ours(const struct import *im)
{
	cleanup_fd int dir = open_dir(im);
	cleanup_fd int fd = dir < 0 ? -1 : path_open_beneath(dir, LOCK, O_RDONLY | O_NONBLOCK, 0);
	char word[sizeof(OURS)];

	return fd >= 0 && read(fd, word, sizeof(word)) == (ssize_t)strlen(OURS) &&
	       memcmp(word, OURS, strlen(OURS)) == 0;
}

/*
 * The index as it is now; 0 also where there is none. Another name will do: whoever writes an index
 * replaces it.
 */
static int copy_index(int dir, struct stat *ret)
{
	cleanup_fd int in = path_open_beneath(dir, "index", O_RDONLY, 0), out = -1;
	off_t at = 0;

	*ret = (struct stat){0};
	if (in < 0)
		return in == -ENOENT ? 0 : in;
	if (linkat(dir, "index", dir, NEXT, 0) == 0)
		return fstat(in, ret) < 0 ? -errno : 0;
	out = openat(dir, NEXT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (out < 0 || fstat(in, ret) < 0 || fchmod(out, ret->st_mode & 0777) < 0)
		return -errno;
	while (at < ret->st_size) {
		ssize_t n = sendfile(out, in, &at, (size_t)(ret->st_size - at));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

static bool is_old(const git_index_entry *e, const git_diff_delta *d)
{
	if (d->status == GIT_DELTA_ADDED)
		return !e;
	return e && git_oid_equal(&e->id, &d->old_file.id) && e->mode == d->old_file.mode;
}

static int update_entry(git_index *index, const git_diff_delta *d)
{
	const git_index_entry *e = git_index_get_bypath(index, d->new_file.path, 0);
	git_index_entry next = {
		.mode = d->new_file.mode,
		.id = d->new_file.id,
		.path = d->new_file.path,
	};

	if (!is_old(e, d))
		return 0;
	return d->status == GIT_DELTA_DELETED ? git_index_remove(index, d->old_file.path, 0)
					      : git_index_add(index, &next);
}

static int diff_of(const struct import *im, git_diff **ret)
{
	cleanup_git(tree) git_tree *a = NULL, *b = NULL;
	git_diff_options opts;
	struct err err;

	(void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	opts.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
	if ((!git_oid_is_zero(&im->host_tip) &&
	     gitlib_tree(im->repo, &im->host_tip, &a, &err) < 0) ||
	    gitlib_tree(im->repo, &im->next_tip, &b, &err) < 0)
		return -1;
	return git_diff_tree_to_tree(ret, im->repo, a, b, &opts);
}

static int take_tree(const struct import *im, git_index *index, struct err *err)
{
	cleanup_git(tree) git_tree *tree = NULL;
	int r = gitlib_tree(im->repo, &im->next_tip, &tree, err);

	if (r == 0 && (git_index_read_tree(index, tree) < 0 || git_index_write(index) < 0))
		r = gitlib_err(err, "cannot write the index");
	return r;
}

static int update_index(struct import *im, const char *path, const char **ret_why, struct err *err)
{
	cleanup_git(index) git_index *index = NULL;
	cleanup_git(diff) git_diff *diff = NULL;
	int r = git_index_open(&index, path);

	if (r == 0)
		r = git_index_read(index, 1);
	if (r < 0) {
		*ret_why = "your index is of a kind that ralph cannot write";
		return -EBUSY;
	}
	/* Conflicts and what they staged have gone into the agent's commit. */
	if (im->finishes)
		return take_tree(im, index, err);
	if (git_index_has_conflicts(index)) {
		*ret_why = "your index has conflicts";
		return -EBUSY;
	}
	r = diff_of(im, &diff);
	for (size_t i = 0; r == 0 && i < git_diff_num_deltas(diff); i++)
		r = update_entry(index, git_diff_get_delta(diff, i));
	if (r == 0)
		r = git_index_write(index);
	return r < 0 ? gitlib_err(err, "cannot write the index") : 0;
}

static int update(struct import *im, const char *path, const char **ret_why, struct err *err)
{
	if (im->helper < 0 && !im->wide)
		return update_index(im, path, ret_why, err);
	if (im->helper >= 0 && import_git_index(im))
		return 0;
	*ret_why = im->wide ? "git cannot move your index"
			    : "your index is split or sparse, and git cannot move it";
	return -EBUSY;
}

static int prepare(struct import *im, int dir, const char **ret_why, struct err *err)
{
	cleanup_free char *path = path_join(im->git.dir, NEXT);
	struct stat st;
	int r = copy_index(dir, &st);

	if (r < 0)
		return err_sys(err, -r, "cannot copy the index");
	r = update(im, path, ret_why, err);
	/* Files that are as young as the old index may have changed since: git compares their
	 * content as long as the index does not look younger. */
	if (r == 0 && st.st_ino) {
		const struct timespec times[] = {st.st_mtim, st.st_mtim};

		if (utimensat(dir, NEXT, times, AT_SYMLINK_NOFOLLOW) < 0)
			r = err_sys(err, errno, "cannot date the index");
	}
	return r;
}

int import_index_prepare(struct import *im, const char **ret_why, struct err *err)
{
	cleanup_fd int dir = open_dir(im);
	int r = dir < 0 ? dir : 0;

	if (r == 0 && !im->finishes && git_repository_state(im->repo) != GIT_REPOSITORY_STATE_NONE)
		*ret_why = "a merge, rebase or the like is in progress in your repository";
	if (*ret_why)
		return -EBUSY;
	if (r == 0)
		r = take_lock(dir);
	if (r == -EBUSY)
		*ret_why = "your index is locked";
	if (r < 0)
		return r == -EBUSY ? r : err_sys(err, -r, "cannot lock the index");
	im->index_locked = true;
	r = prepare(im, dir, ret_why, err);
	if (r < 0)
		import_index_drop(im);
	return r;
}

int import_index_commit(struct import *im, struct err *err)
{
	cleanup_fd int dir = open_dir(im);

	/* One that was killed behind the rename has left the lock alone. */
	if (dir < 0 || (renameat(dir, NEXT, dir, "index") < 0 && errno != ENOENT))
		return err_sys(err, dir < 0 ? -dir : errno, "cannot write the index");
	(void)unlinkat(dir, LOCK, 0);
	im->index_locked = false;
	return 0;
}

void import_index_drop(struct import *im)
{
	cleanup_fd int dir = im->index_locked ? open_dir(im) : -1;

	if (dir < 0)
		return;
	(void)unlinkat(dir, LOCK, 0);
	im->index_locked = false;
}
