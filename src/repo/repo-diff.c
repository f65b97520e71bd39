/*
 * The text of a change, for somebody who judges it. The agent that made the change must not choose
 * what is shown: attributes in its commits (binary, -diff, a driver) have no effect, no byte ends the
 * text early, and a change that does not fit is an error instead of a part of it.
 */
#include "repo/repo.h"

#include <string.h>

#include "base/buf.h"
#include "repo/repo-parts.h"

struct diff_job {
	const char *from, *to;
	size_t max;
};

/* Control bytes are written as \xNN: a NUL would end the text. */
static void put_visible(struct buf *b, const char *p, size_t n)
{
	for (; n > 0; p++, n--) {
		unsigned char c = (unsigned char)*p;

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			(void)buf_printf(b, "\\x%02x", c);
		else
			(void)buf_append(b, p, 1);
	}
}

/* Judged by the content alone. */
static bool is_binary(git_repository *git, const git_diff_file *f, size_t *ret_size)
{
	cleanup_git(blob) git_blob *blob = NULL;

	*ret_size = 0;
	if (git_oid_is_zero(&f->id) || f->mode == GIT_FILEMODE_COMMIT ||
	    git_blob_lookup(&blob, git, &f->id) < 0)
		return false;
	*ret_size = (size_t)git_blob_rawsize(blob);
	return git_blob_is_binary(blob);
}

static int put_delta(struct repo_job *j, git_diff *diff, size_t i, struct buf *b, struct err *err)
{
	const git_diff_delta *d = git_diff_get_delta(diff, i);
	cleanup_git(patch) git_patch *patch = NULL;
	git_buf text = GIT_BUF_INIT;
	size_t before, after;
	bool was = is_binary(j->git, &d->old_file, &before);

	if (is_binary(j->git, &d->new_file, &after) || was) {
		(void)buf_puts(b, "binary file ");
		put_visible(b, d->new_file.path, strlen(d->new_file.path));
		(void)buf_printf(b, ": %zu bytes before, %zu bytes after, not shown\n", before,
				 after);
		return 0;
	}
	if (git_patch_from_diff(&patch, diff, i) < 0 || git_patch_to_buf(&text, patch) < 0)
		return gitlib_err(err, "cannot compare commits");
	put_visible(b, text.ptr, text.size);
	git_buf_dispose(&text);
	return 0;
}

static int open_diff(struct repo_job *j, git_diff **ret, struct err *err)
{
	const struct diff_job *o = j->arg;
	cleanup_git(tree) git_tree *a = NULL, *b = NULL;
	git_diff_options opts;
	git_oid from, to;
	int r = *o->from ? repo_oid_of(o->from, &from, err) : 0;

	if (r == 0 && *o->from)
		r = gitlib_tree(j->git, &from, &a, err);
	if (r == 0)
		r = repo_oid_of(o->to, &to, err);
	if (r == 0)
		r = gitlib_tree(j->git, &to, &b, err);
	if (r < 0)
		return r;
	(void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	opts.flags = GIT_DIFF_FORCE_TEXT | GIT_DIFF_INCLUDE_TYPECHANGE;
	if (git_diff_tree_to_tree(ret, j->git, a, b, &opts) < 0)
		return gitlib_err(err, "cannot compare commits");
	return 0;
}

static int write_diff(struct repo_job *j, json_t *out, struct err *err)
{
	const struct diff_job *o = j->arg;
	cleanup_git(diff) git_diff *diff = NULL;
	cleanup_buf struct buf b;
	int r = open_diff(j, &diff, err);

	buf_init(&b, o->max);
	for (size_t i = 0; r == 0 && !b.full && i < git_diff_num_deltas(diff); i++)
		if (!repo_is_ours(git_diff_get_delta(diff, i)->new_file.path))
			r = put_delta(j, diff, i, &b, err);
	if (r == 0 && b.full)
		return err_set(err, E2BIG, "the change is larger than %zu KiB", o->max / KiB);
	if (r == 0)
		(void)json_object_set_new(out, "text", json_text(buf_str(&b)));
	return r;
}

int repo_diff(struct repo *r, const char *from, const char *to, size_t max, char **ret,
	      struct err *err)
{
	const struct diff_job o = {from, to, max};
	const struct repo_task t = REPO_TASK(write_diff, &o, 0);
	cleanup_json json_t *out = NULL;
	int n = repo_work(r, &t, &out, err);

	if (n < 0)
		return n;
	*ret = repo_answer_str(out, "text");
	return *ret ? 0 : err_set(err, EIO, "cannot read the change");
}
