/*
 * libexec/ralph/worker unpack DIR: makes DIR/ws, a repository with the branch of DIR/unpack.json checked
 * out, of DIR/in.pack. libexec/ralph/worker pack DIR BRANCH SINCE: prints the branch's commit, a newline,
 * and the pack of all that SINCE does not have. Programs of their own: a pack of home's may be large, and the
 * stream goes on meanwhile.
 */
#include "worker/node.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "git/libgit.h"

#define HOW_MAX (64 * KiB)
#define PIECE (256 * KiB)

GITLIB_CLEANUP(git_indexer, git_indexer)
GITLIB_CLEANUP(git_packbuilder, git_packbuilder)
GITLIB_CLEANUP(git_revwalk, git_revwalk)

struct how {
	const char *base, *start, *branch, *name, *email;
};

static int read_how(const char *dir, json_t **ret_doc, struct how *ret, struct err *err)
{
	cleanup_free char *path = path_join(dir, "unpack.json");
	const struct {
		const char *key, **at;
	} texts[] = {{"base", &ret->base},
		     {"start", &ret->start},
		     {"branch", &ret->branch},
		     {"name", &ret->name},
		     {"email", &ret->email}};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, HOW_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	r = json_parse(buf_str(&b), b.len, ret_doc, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = json_get_str(*ret_doc, texts[i].key, texts[i].at, err);
	return r;
}

/* Every object is hashed, and whatever one names must be there. */
static int index_pack(const char *dir, git_repository *repo, struct err *err)
{
	cleanup_free char *in = path_join(dir, "in.pack"), *piece = xmalloc(PIECE);
	cleanup_free char *to = path_join(git_repository_path(repo), "objects/pack");
	cleanup_git(indexer) git_indexer *x = NULL;
	cleanup_fd int fd = open(in, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	git_indexer_options o;
	git_indexer_progress p = {0};
	ssize_t n;

	(void)git_indexer_options_init(&o, GIT_INDEXER_OPTIONS_VERSION);
	o.verify = 1;
	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", in);
	if (git_indexer_new(&x, to, 0, NULL, &o) < 0)
		return gitlib_err(err, "cannot take the pack");
	while ((n = read(fd, piece, PIECE)) > 0)
		if (git_indexer_append(x, piece, (size_t)n, &p) < 0)
			return gitlib_err(err, "the pack of the base commit is damaged");
	if (n < 0 || git_indexer_commit(x, &p) < 0)
		return gitlib_err(err, "the pack of the base commit is damaged");
	return 0;
}

static int find_commit(git_repository *repo, const char *hex, git_commit **ret, struct err *err)
{
	git_oid oid;

	if (git_oid_fromstr(&oid, hex) < 0 || git_commit_lookup(ret, repo, &oid) < 0)
		return gitlib_err(err, "the pack does not have the base commit");
	return 0;
}

static int set_identity(git_repository *repo, const struct how *how, struct err *err)
{
	cleanup_git(config) git_config *c = NULL;

	if (git_repository_config(&c, repo) < 0 ||
	    git_config_set_string(c, "user.name", how->name) < 0 ||
	    git_config_set_string(c, "user.email", how->email) < 0)
		return gitlib_err(err, "cannot set the author");
	return 0;
}

static int check_out(git_repository *repo, const struct how *how, struct err *err)
{
	cleanup_git(commit) git_commit *base = NULL, *start = NULL;
	cleanup_git(reference) git_reference *ref = NULL, *head = NULL;
	cleanup_free char *name = xasprintf("refs/heads/%s", how->branch);
	git_checkout_options o;
	int valid = 0, r = find_commit(repo, how->base, &base, err);

	if (r == 0)
		r = find_commit(repo, how->start, &start, err);
	if (r < 0)
		return r;
	if (git_branch_name_is_valid(&valid, how->branch) < 0 || !valid)
		return err_set(err, EINVAL, "'%s' is no name of a branch", how->branch);
	if (!git_oid_equal(git_commit_id(base), git_commit_id(start)) &&
	    git_graph_descendant_of(repo, git_commit_id(start), git_commit_id(base)) != 1)
		return err_set(err, EINVAL, "the checkpoint is not on the base commit");
	(void)git_checkout_options_init(&o, GIT_CHECKOUT_OPTIONS_VERSION);
	o.checkout_strategy = GIT_CHECKOUT_FORCE;
	if (git_reference_create(&ref, repo, name, git_commit_id(start), 0, NULL) < 0 ||
	    git_reference_symbolic_create(&head, repo, "HEAD", name, 1, NULL) < 0 ||
	    git_checkout_head(repo, &o) < 0)
		return gitlib_err(err, "cannot check the base commit out");
	return 0;
}

static int unpack(const char *dir, struct err *err)
{
	cleanup_git(repository) git_repository *repo = NULL;
	cleanup_free char *workspace = path_join(dir, "ws");
	cleanup_json json_t *doc = NULL;
	struct how how = {0};
	int r = read_how(dir, &doc, &how, err);

	if (r == 0 && git_repository_init(&repo, workspace, 0) < 0)
		r = gitlib_err(err, "cannot make a repository");
	if (r == 0)
		r = index_pack(dir, repo, err);
	if (r == 0)
		r = set_identity(repo, &how, err);
	return r < 0 ? r : check_out(repo, &how, err);
}

static int on_bytes(void *p, size_t n, void *arg)
{
	return fd_write_all(STDOUT_FILENO, p, n) < 0 ? GIT_EUSER : 0;
}

static int write_pack(git_repository *repo, const git_oid *head, const char *since, struct err *err)
{
	cleanup_git(packbuilder) git_packbuilder *pb = NULL;
	cleanup_git(revwalk) git_revwalk *walk = NULL;
	git_oid oid;

	if (git_oid_fromstr(&oid, since) < 0 || git_revwalk_new(&walk, repo) < 0 ||
	    git_revwalk_push(walk, head) < 0 || git_revwalk_hide(walk, &oid) < 0 ||
	    git_packbuilder_new(&pb, repo) < 0 || git_packbuilder_insert_walk(pb, walk) < 0 ||
	    git_packbuilder_foreach(pb, on_bytes, NULL) < 0)
		return gitlib_err(err, "cannot make a pack of the commits");
	return 0;
}

static int pack(const char *dir, const char *branch, const char *since, struct err *err)
{
	cleanup_git(repository) git_repository *repo = NULL;
	cleanup_free char *workspace = path_join(dir, "ws");
	cleanup_free char *name = xasprintf("refs/heads/%s", branch);
	char line[GIT_OID_HEXSZ + 1];
	git_oid head;
	int r;

	if (git_repository_open_ext(&repo, workspace, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0 ||
	    git_reference_name_to_id(&head, repo, name) < 0)
		return gitlib_err(err, "cannot read the branch");
	(void)git_oid_fmt(line, &head);
	line[GIT_OID_HEXSZ] = '\n';
	r = fd_write_all(STDOUT_FILENO, line, sizeof(line));
	if (r < 0)
		return err_sys(err, -r, "cannot write");
	return git_oid_streq(&head, since) == 0 ? 0 : write_pack(repo, &head, since, err);
}

int slot_git_main(int argc, char **argv, struct err *err)
{
	gitlib_start();
	if (argc == 3 && streq(argv[1], "unpack"))
		return unpack(argv[2], err);
	if (argc == 5 && streq(argv[1], "pack"))
		return pack(argv[2], argv[3], argv[4], err);
	return err_usage(err, "this program is started by: ralph worker");
}
