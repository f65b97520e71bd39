/*
 * What an agent committed in a clone (`ralph run --clone`): the stream, confinement and checks of an
 * import. Its branches become refs/remotes/NAME/… with `ralph apply`, and are only shown with `ralph
 * diff`; nothing of the user's moves.
 */
#include "repo/import/import.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "repo/take-stream.h"
#include "repo/take.h"

static int check_branches(const struct import *im, struct err *err)
{
	if (im->n_rows == 0)
		return err_set(err, ENOENT, "the clone has no commits");
	for (size_t i = 0; i < im->n_rows; i++)
		if (im->rows[i].kind != IMPORT_BRANCH)
			return err_set(err, EPROTO, "the clone names a branch that is none");
	return 0;
}

static int receive(struct import *im, struct err *err)
{
	struct repo_stream *s = repo_stream_new(STDIN_FILENO);
	cleanup_buf struct buf line;
	int r;

	buf_init(&line, REPO_LINE_MAX);
	r = repo_stream_line(s, &line);
	if (r == 0)
		r = err_set(err, EPROTO, "nothing came out of the clone; is git in the sandbox?");
	else
		r = import_receive(im, s, &line, r, err);
	free(s);
	return r == 0 ? check_branches(im, err) : r;
}

/* Everything up to the checked objects, which are still in their quarantine. */
static int take(struct import *im, const char *root, int *ret_lock, struct err *err)
{
	int r;

	im->helper = -1;
	im->lock = -1;
	fd_close_rest(NULL, 0);
	r = import_open(im, root, ret_lock, err);
	if (r == 0)
		r = import_begin(im, err);
	return r == 0 ? receive(im, err) : r;
}

static json_int_t count_new(git_repository *repo, const git_oid *from, const git_oid *to)
{
	size_t ahead = 0, behind = 0;

	if (git_graph_ahead_behind(&ahead, &behind, repo, to, from) < 0)
		return -1;
	return (json_int_t)ahead;
}

static int add_ref(const struct import *im, const struct import_row *from, json_t *refs,
		   struct err *err)
{
	git_repository *repo = im->repo;
	cleanup_free char *name =
		xasprintf("refs/remotes/%s/%s", im->name, from->ref + strlen("refs/heads/"));
	json_t *row = json_object(), *warnings = json_array();
	git_oid head, base, old;
	git_reference *made = NULL;
	struct import_hex hex;
	bool has_head = git_reference_name_to_id(&head, repo, "HEAD") == 0;
	bool same = git_reference_name_to_id(&old, repo, name) == 0 &&
		    git_oid_equal(&old, &from->inside);
	bool has_base = has_head && repo_base(repo, &head, &from->inside, &base);
	int r = repo_warnings(repo, has_base ? &base : NULL, &from->inside, warnings, err);

	if (r == 0 && !same &&
	    git_reference_create(&made, repo, name, &from->inside, 1, "ralph apply") < 0)
		r = gitlib_err(err, name);
	git_reference_free(made);
	(void)json_object_set_new(row, "ref", json_text(name + strlen("refs/remotes/")));
	(void)json_object_set_new(row, "oid", json_string(import_hex(im, &from->inside, &hex)));
	(void)json_object_set_new(
		row, "commits",
		json_integer(has_head ? count_new(repo, &head, &from->inside) : -1));
	(void)json_object_set_new(row, "changed", json_boolean(!same));
	(void)json_object_set_new(row, "warnings", warnings);
	(void)json_array_append_new(refs, row);
	return r;
}

int import_clone(const char *root, const char *remote, json_t *out, struct err *err)
{
	cleanup_(import_done) struct import im = {.name = remote};
	cleanup_fd int lock = -1;
	json_t *refs = json_array();
	int r = take(&im, root, &lock, err);

	(void)json_object_set_new(out, "refs", refs);
	if (r == 0)
		r = import_move_objects(&im, err);
	for (size_t i = 0; r == 0 && i < im.n_rows; i++)
		r = add_ref(&im, &im.rows[i], refs, err);
	return r;
}

static const struct import_row *find_branch(const struct import *im, const char *name)
{
	cleanup_free char *ref = xasprintf("refs/heads/%s", name);

	return import_find_row(im, ref);
}

int import_show_clone(const char *root, const char *branch, bool stat, bool terminal,
		      struct err *err)
{
	cleanup_(import_done) struct import im = {.name = ""};
	cleanup_git(repository) git_repository *joined = NULL;
	cleanup_fd int lock = -1;
	const struct import_row *row;
	git_oid head, base;
	bool has_base;
	int r = take(&im, root, &lock, err);

	if (r < 0)
		return r;
	row = find_branch(&im, branch);
	if (!row)
		return err_set(err, ENOENT, "the clone has no branch '%s'", branch);
	if (git_repository_wrap_odb(&joined, im.odb) < 0)
		return gitlib_err(err, "cannot read the objects");
	has_base = git_reference_name_to_id(&head, im.repo, "HEAD") == 0 &&
		   repo_base(joined, &head, &row->inside, &base);
	return repo_print_diff(joined, has_base ? &base : NULL, &row->inside, stat, terminal, err);
}
