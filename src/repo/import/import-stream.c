/* The lines before the pack, which git in the sandbox wrote and which are hostile. */
#include "repo/import/import.h"

#include <string.h>

#include "base/buf.h"
#include "git/tree-path.h"
#include "repo/take-stream.h"

#define SHOWN_MAX 200

static int kind_of(const char *ref)
{
	if (strncmp(ref, "refs/heads/", 11) == 0)
		return IMPORT_BRANCH;
	if (strncmp(ref, "refs/tags/", 10) == 0)
		return IMPORT_TAG;
	if (streq(ref, "refs/stash") || strncmp(ref, "refs/notes/", 11) == 0 || streq(ref, "HEAD"))
		return IMPORT_OTHER;
	return -EPROTO;
}

/* git itself makes no branch "HEAD" or "-x", which would be taken for something else. */
static bool is_name(enum import_kind kind, const char *ref)
{
	int valid = 0, r = 0;

	if (kind == IMPORT_BRANCH)
		r = git_branch_name_is_valid(&valid, &ref[strlen("refs/heads/")]);
	else if (kind == IMPORT_TAG)
		r = git_tag_name_is_valid(&valid, &ref[strlen("refs/tags/")]);
	else
		r = git_reference_name_is_valid(&valid, ref);
	return r == 0 && valid;
}

static int add_row(struct import *im, const char *oid, const char *ref)
{
	struct import_row row = {0};
	int kind = kind_of(ref);

	if (kind < 0 || !import_oid(im, oid, &row.inside) || git_oid_is_zero(&row.inside))
		return -EPROTO;
	if (!is_name((enum import_kind)kind, ref))
		return -EINVAL;
	if (im->n_rows == IMPORT_REFS_MAX)
		return -E2BIG;
	row.ref = xstrdup(ref);
	row.kind = (enum import_kind)kind;
	im->rows[im->n_rows++] = row;
	return 0;
}

static int take_line(struct import *im, const char *line)
{
	size_t n = import_hex_len(im);

	if (strncmp(line, "HEAD refs/heads/", 16) == 0) {
		if (im->head)
			return -EPROTO;
		if (!is_name(IMPORT_BRANCH, line + 5))
			return -EINVAL;
		im->head = xstrdup(line + 5);
		return 0;
	}
	if (strncmp(line, "HEAD ", 5) == 0)
		return add_row(im, line + 5, "HEAD");
	if (strncmp(line, "STATE ", 6) == 0) {
		im->busy = true;
		return 0;
	}
	if (strlen(line) <= n + 1 || line[n] != ' ')
		return -EPROTO;
	return add_row(im, line, line + n + 1);
}

/* git's plumbing makes them all the same, and whoever made it can remove it. */
static int refuse_name(const char *line, struct err *err)
{
	const char *ref = strchr(line, ' ') + 1;
	cleanup_free char *shown = gitpath_shown(ref, strlen(ref), SHOWN_MAX);

	return err_set(
		err, EINVAL,
		"git makes no branch or tag with the name '%s'; remove it in the sandbox with "
		"git update-ref -d",
		shown);
}

static bool has_twice(const struct import *im)
{
	for (size_t i = 1; i < im->n_rows; i++)
		for (size_t k = 0; k < i; k++)
			if (streq(im->rows[i].ref, im->rows[k].ref))
				return true;
	return false;
}

int import_take_lines(struct import *im, struct repo_stream *s, struct buf *line, int r,
		      struct err *err)
{
	im->rows = xcalloc(IMPORT_REFS_MAX, sizeof(*im->rows));
	while (r > 0 && line->len) {
		r = take_line(im, buf_str(line));
		if (r == 0)
			r = repo_stream_line(s, line);
	}
	if (r == 0)
		return err_set(err, EPROTO, "git in the sandbox said nothing, or not all");
	if (r == -E2BIG)
		return err_set(err, E2BIG, "more than %d references changed in the sandbox",
			       IMPORT_REFS_MAX);
	if (r == -EINVAL)
		return refuse_name(buf_str(line), err);
	if (r < 0 || has_twice(im))
		return err_set(err, EPROTO, "what git in the sandbox says cannot be understood");
	return 0;
}
