#include "repo/take.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/escape.h"
#include "git/tree-path.h"

#define WARNINGS_MAX 100

static int diff_of(git_repository *repo, const git_oid *from, const git_oid *to, git_diff **ret,
		   struct err *err)
{
	git_diff_options opts;
	git_tree *a = NULL, *b = NULL;
	int r = from ? gitlib_tree(repo, from, &a, err) : 0;

	(void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	/* A diff between trees consults neither attributes nor filters. */
	opts.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
	if (r == 0)
		r = gitlib_tree(repo, to, &b, err);
	if (r == 0 && git_diff_tree_to_tree(ret, repo, a, b, &opts) < 0)
		r = gitlib_err(err, "cannot compare");
	git_tree_free(a);
	git_tree_free(b);
	return r;
}

bool repo_base(git_repository *repo, const git_oid *a, const git_oid *b, git_oid *ret)
{
	return git_merge_base(ret, repo, a, b) == 0;
}

int repo_warnings(git_repository *repo, const git_oid *from, const git_oid *to, json_t *ret,
		  struct err *err)
{
	git_diff *diff = NULL;
	int r = diff_of(repo, from, to, &diff, err);
	size_t n = r == 0 ? git_diff_num_deltas(diff) : 0;

	for (size_t i = 0; i < n && json_array_size(ret) < WARNINGS_MAX; i++) {
		const git_diff_delta *d = git_diff_get_delta(diff, i);
		const char *path = d->new_file.path;
		const char *why = gitpath_protected(path);

		if (!why && gitpath_is_attributes(path))
			why = "chooses filters that git runs";
		if (why && d->status != GIT_DELTA_DELETED)
			(void)json_array_append_new(
				ret, json_pack("{so ss}", "path", json_text(path), "why", why));
	}
	git_diff_free(diff);
	return r;
}

/* Prints an agent's text to a terminal, which must not act on it. */
static void put_harmless(const char *p, size_t n)
{
	cleanup_buf struct buf b;

	buf_init(&b, ESCAPE_LONGEST * n + 1);
	(void)buf_put_lines(&b, p, n);
	(void)fwrite(buf_str(&b), 1, b.len, stdout);
}

static int put_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
		    const git_diff_line *line, void *arg)
{
	const bool *terminal = arg;

	if (line->origin == '+' || line->origin == '-' || line->origin == ' ')
		(void)putchar(line->origin);
	if (*terminal)
		put_harmless(line->content, line->content_len);
	else
		(void)fwrite(line->content, 1, line->content_len, stdout);
	return ferror(stdout) ? -1 : 0;
}

static int print_stat(git_diff *diff, bool terminal, struct err *err)
{
	git_diff_stats *stats = NULL;
	git_buf text = {0};
	int r = git_diff_get_stats(&stats, diff);

	if (r == 0)
		r = git_diff_stats_to_buf(&text, stats, GIT_DIFF_STATS_FULL, 80);
	if (r == 0 && terminal)
		put_harmless(text.ptr, text.size);
	else if (r == 0)
		(void)fwrite(text.ptr, 1, text.size, stdout);
	git_buf_dispose(&text);
	git_diff_stats_free(stats);
	return r < 0 ? gitlib_err(err, "cannot print the difference") : 0;
}

int repo_print_diff(git_repository *repo, const git_oid *from, const git_oid *to, bool stat,
		    bool terminal, struct err *err)
{
	git_diff *diff = NULL;
	int r = diff_of(repo, from, to, &diff, err);

	if (r == 0 && stat)
		r = print_stat(diff, terminal, err);
	else if (r == 0 && git_diff_print(diff, GIT_DIFF_FORMAT_PATCH, put_line, &terminal) < 0)
		r = gitlib_err(err, "cannot print the difference");
	git_diff_free(diff);
	return r;
}

/* The file as HEAD has it; NULL where there is none, or something else has its name. */
static git_blob *committed(git_repository *repo, const char *path)
{
	cleanup_git(tree_entry) git_tree_entry *entry = NULL;
	cleanup_git(tree) git_tree *tree = NULL;
	git_blob *blob = NULL;
	struct err ignored;
	git_oid head;

	if (git_reference_name_to_id(&head, repo, "HEAD") < 0 ||
	    gitlib_tree(repo, &head, &tree, &ignored) < 0 ||
	    git_tree_entry_bypath(&entry, tree, path) < 0 ||
	    git_tree_entry_type(entry) != GIT_OBJECT_BLOB ||
	    git_blob_lookup(&blob, repo, git_tree_entry_id(entry)) < 0)
		return NULL;
	return blob;
}

int repo_print_file_diff(git_repository *repo, const char *path, const struct buf *now,
			 struct err *err)
{
	cleanup_git(blob) git_blob *was = committed(repo, path);
	cleanup_git(patch) git_patch *patch = NULL;
	bool terminal = true;

	if (!was)
		return 0;
	if (git_patch_from_blob_and_buffer(&patch, was, path, now->data, now->len, path, NULL) <
		    0 ||
	    git_patch_print(patch, put_line, &terminal) < 0)
		return gitlib_err(err, "cannot print the difference");
	return 0;
}
