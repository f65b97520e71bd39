#include "repo/repo-check.h"

#include <string.h>

#include "base/path.h"
#include "git/tree-path.h"
#include "repo/repo-secret.h"

#define LINK_LEN_MAX 4096

static bool is_own(const struct repo_rules *rules, const char *path)
{
	for (size_t i = 0; rules->own && i < rules->own->n; i++)
		if (path_under(path, rules->own->v[i]))
			return true;
	return rules->may_change &&
	       gitpath_may_change(path, rules->may_change->v, rules->may_change->n);
}

static int damaged(struct check *c, const char *path)
{
	check_found(c, REPO_REJECT, "damaged", path,
		    "'%s' is not there as an object, or not what its name says.", path);
	return 0;
}

/* The content of a symbolic link is its target. */
static int check_link(struct check *c, const char *path, const git_oid *oid, size_t size)
{
	cleanup_git(blob) git_blob *blob = NULL;
	const char *target;

	if (size > LINK_LEN_MAX) {
		check_found(c, REPO_REJECT, "link", path,
			    "'%s' is a link with a text of %zu bytes.", path, size);
		return 0;
	}
	if (git_blob_lookup(&blob, c->git, oid) < 0)
		return damaged(c, path);
	target = git_blob_rawcontent(blob);
	if (!gitpath_link_stays(path, target, size))
		check_found(c, REPO_REJECT, "link", path,
			    "'%s' is a link to '%.*s', out of the tree or into .git.", path,
			    (int)strnlen(target, size), target);
	return 0;
}

static void check_text(struct check *c, const char *path, git_blob *now, git_blob *old)
{
	const char *text = git_blob_rawcontent(now);
	size_t n = (size_t)git_blob_rawsize(now), line = 0;
	enum repo_secret found =
		repo_secret_find(c->known, text, n, old ? git_blob_rawcontent(old) : NULL,
				 old ? (size_t)git_blob_rawsize(old) : 0, &line);

	if (found == REPO_SECRET_VALUE)
		check_found(c, REPO_REJECT, "secret", path, "'%s' has a secret of yours, line %zu.",
			    path, line);
	else if (found == REPO_SECRET_KEY)
		check_found(c, REPO_REJECT, "secret", path, "'%s' has a key in line %zu.", path,
			    line);
	else if (found == REPO_SECRET_UNSURE)
		check_found(c, REPO_WARN, "secret", path, "'%s' has what may be a key in line %zu.",
			    path, line);
	if (gitpath_is_attributes(path) &&
	    (memmem(text, n, "filter", 6) || memmem(text, n, "diff", 4) ||
	     memmem(text, n, "merge", 5)))
		check_found(c, REPO_WARN, "protected", path,
			    "'%s' chooses filters or drivers that git runs.", path);
}

/* An old version larger than the limit for new files is not read. */
static int check_content(struct check *c, const git_diff_delta *d, uint64_t max)
{
	cleanup_git(blob) git_blob *now = NULL, *old = NULL;
	size_t old_size = 0;
	git_object_t type;

	if (git_blob_lookup(&now, c->git, &d->new_file.id) < 0)
		return damaged(c, d->new_file.path);
	if (!git_oid_is_zero(&d->old_file.id) &&
	    git_odb_read_header(&old_size, &type, c->odb, &d->old_file.id) == 0 &&
	    type == GIT_OBJECT_BLOB && old_size <= max)
		(void)git_blob_lookup(&old, c->git, &d->old_file.id);
	check_text(c, d->new_file.path, now, old);
	return 0;
}

static int check_new(struct check *c, const git_diff_delta *d)
{
	uint64_t blob_max = c->rules->blob_max ? c->rules->blob_max : REPO_BLOB_MAX;
	uint64_t data_max = c->rules->data_max ? c->rules->data_max : REPO_DATA_MAX;
	const char *path = d->new_file.path;
	git_object_t type = GIT_OBJECT_INVALID;
	size_t size = 0;

	if (d->new_file.mode == GIT_FILEMODE_COMMIT) {
		bool moves = c->rules->submodules && d->old_file.mode == GIT_FILEMODE_COMMIT;

		check_found(c, moves ? REPO_WARN : REPO_REJECT, "submodule", path,
			    moves ? "'%s' is at another commit of its repository."
				  : "'%s' is another repository's commit.",
			    path);
		return 0;
	}
	/* Only the header is read: the content may be gigabytes of zeros. */
	if (git_odb_read_header(&size, &type, c->odb, &d->new_file.id) < 0 ||
	    type != GIT_OBJECT_BLOB)
		return damaged(c, path);
	c->added += size;
	if (c->added > data_max && !c->too_much) {
		c->too_much = true;
		check_found(c, REPO_REJECT, "size", NULL,
			    "The commits bring more than %llu MiB of files.",
			    (unsigned long long)(data_max / MiB));
	}
	if (size > blob_max) {
		check_found(c, REPO_REJECT, "size", path, "'%s' has %zu KiB; %llu are allowed.",
			    path, size / KiB, (unsigned long long)(blob_max / KiB));
		return 0;
	}
	if (c->too_much)
		return 0;
	if (d->new_file.mode == GIT_FILEMODE_LINK)
		return check_link(c, path, &d->new_file.id, size);
	return check_content(c, d, blob_max);
}

static bool is_named(const struct repo_rules *rules, const char *path, const git_diff_delta *d)
{
	for (size_t i = 0; rules->named && i < rules->named->n; i++)
		if (gitpath_is_named(rules->named->v[i], path, d->old_file.mode, d->new_file.mode))
			return true;
	return false;
}

static int check_delta(struct check *c, const git_diff_delta *d)
{
	const char *path = d->new_file.path ? d->new_file.path : d->old_file.path;
	const char *why = gitpath_protected(path);
	bool gone = d->status == GIT_DELTA_DELETED;

	if (!why && d->new_file.mode == GIT_FILEMODE_LINK)
		why = gitpath_protected_link(path);
	if (!why && is_named(c->rules, path, d))
		why = "a program that your git settings name";
	if (gitpath_is_odd(path))
		check_found(c, REPO_REJECT, "name", path,
			    "'%s' is a path that a file system may take for another, or for .git.",
			    path);
	if (why && !is_own(c->rules, path))
		check_found(c, REPO_REJECT, "protected", path,
			    "'%s' is %s and not the agent's: %s. A task that names the path, or "
			    "loop.may_change in your configuration, lets it through.",
			    path, gone ? "removed" : "written", why);
	return gone ? 0 : check_new(c, d);
}

/* Counts paths while the diff is made: nested trees in a small pack can expand to a huge list. */
static int count_path(const git_diff *diff, const git_diff_delta *d, const char *matched, void *arg)
{
	struct check *c = arg;
	unsigned max = c->rules->paths_max ? c->rules->paths_max : REPO_PATHS_MAX;

	if (++c->paths <= max)
		return 0;
	if (!c->too_many)
		check_found(c, REPO_REJECT, "size", NULL, "The commits change more than %u paths.",
			    max);
	c->too_many = true;
	return -1;
}

int check_changes(struct check *c, git_commit *parent, git_commit *commit, struct err *err)
{
	cleanup_git(tree) git_tree *a = NULL, *b = NULL;
	cleanup_git(diff) git_diff *diff = NULL;
	git_diff_options opts;

	if (c->too_many)
		return 0;
	if (git_commit_tree(&b, commit) < 0 || (parent && git_commit_tree(&a, parent) < 0))
		return damaged(c, "its tree");
	(void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	/* A diff between trees consults neither attributes nor filters. */
	opts.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
	opts.notify_cb = count_path;
	opts.payload = c;
	if (git_diff_tree_to_tree(&diff, c->git, a, b, &opts) < 0)
		return c->too_many ? 0 : damaged(c, "its tree");
	for (size_t i = 0; i < git_diff_num_deltas(diff); i++) {
		int r = check_delta(c, git_diff_get_delta(diff, i));

		if (r < 0)
			return r;
	}
	return 0;
}
