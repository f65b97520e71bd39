/*
 * References of a repository that an agent could write to (engines that show the git directory as
 * it is) become what they were when the agent was let in. A branch that went on is the agent's
 * work and stays, as the rule per branch says; so do new branches and tags. For all else the
 * recorded commit counts, and what the agent made of it is held below refs/ralph/NAME. For a loop the
 * recorded commit counts for everything: the loop judges what is held, and moves its own branch.
 */
#include "repo/import/import.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/strv.h"

#define INDEX_FD 4   /* the index of then */
#define STASHES_FD 5 /* the list of stashes of then */
#define REFLOG "ralph: put back"
#define REFS_MAX 200000 /* a repository with more has too many to be looked through */

#define PIN_MAX 20000 /* commits that are kept by name; more are kept by their branches alone */
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

struct pin {
	git_oid v[PIN_MAX];
	size_t n;
};

struct back {
	struct import *im;
	json_t *out; /* {"ref", "as", "how"} */
	bool index;  /* the current branch or HEAD was put back */
	bool hold;   /* nothing of the agent's stays: for a loop */
};

static git_oid oid_of(const struct back *b, const char *ref)
{
	git_oid oid;

	return git_reference_name_to_id(&oid, b->im->repo, ref) == 0 ? oid : (git_oid){0};
}

static void tell(const struct back *b, const char *ref, const char *as, const char *how)
{
	json_t *j = json_pack("{so ss}", "ref", json_text(ref), "how", how);

	if (as)
		(void)json_object_set_new(j, "as", json_text(as));
	(void)json_array_append_new(b->out, j);
}

static int point(const struct back *b, const char *ref, const git_oid *oid, struct err *err)
{
	cleanup_git(reference) git_reference *made = NULL;

	return git_reference_create(&made, b->im->repo, ref, oid, 1, REFLOG) < 0
		       ? gitlib_err(err, ref)
		       : 0;
}

/* The agent's tip gets a name of its own; *ret: which, NULL without a tip. */
static int hold(const struct back *b, const char *ref, const git_oid *tip, char **ret,
		struct err *err)
{
	int r;

	if (git_oid_is_zero(tip))
		return 0;
	*ret = import_own_name(b->im, "", ref);
	r = point(b, *ret, tip, err);
	if (r < 0)
		free(take_ptr(*ret));
	return r;
}

/* Replaces a file of the git directory by what fd has. */
static int write_file(const struct back *b, const char *dir, const char *name, int fd,
		      struct err *err)
{
	cleanup_free char *lock = xasprintf("%s/%s.lock", dir, name);
	cleanup_free char *path = xasprintf("%s/%s", dir, name);
	cleanup_fd int to = open(lock, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	ssize_t n = 1;

	if (to < 0)
		return err_sys(err, errno, "cannot put '%s' back", path);
	while (n > 0)
		n = sendfile(to, fd, NULL, 64 * MiB);
	if (n == 0 && renameat(AT_FDCWD, lock, AT_FDCWD, path) == 0)
		return 0;
	(void)err_sys(err, errno, "cannot put '%s' back", path);
	(void)unlink(lock);
	return -EIO;
}

static bool is_lost(const struct back *b, const git_oid *oid)
{
	return !git_odb_exists(b->im->odb, oid);
}

static int put_back(struct back *b, const struct import_tip *was, const git_oid *is,
		    struct err *err)
{
	cleanup_free char *as = NULL;
	int r;

	if (is_lost(b, &was->oid)) {
		tell(b, was->ref, NULL, "lost");
		return 0;
	}
	r = hold(b, was->ref, is, &as, err);
	if (r == 0)
		r = point(b, was->ref, &was->oid, err);
	if (r == 0 && streq(was->ref, "refs/stash"))
		r = write_file(b, b->im->git.common, "logs/refs/stash", STASHES_FD, err);
	if (r == 0)
		tell(b, was->ref, as, git_oid_is_zero(is) ? "deleted" : "moved");
	if (b->im->told_head && streq(was->ref, b->im->told_head))
		b->index = true;
	return r;
}

/* Is what the agent made of it the user's from now on? */
static bool stays(const struct back *b, const struct import_tip *was, const git_oid *is)
{
	if (git_oid_is_zero(is))
		return false;
	if (strncmp(was->ref, "refs/remotes/", 13) == 0)
		return true; /* a claim about another repository, which the next fetch corrects */
	if (b->hold && !import_is_elsewhere(b->im, was->ref))
		return false;
	return strncmp(was->ref, "refs/heads/", 11) == 0 && import_descends(b->im, is, &was->oid);
}

static int look_at_known(struct back *b, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->im->n_tips; i++) {
		const struct import_tip *was = &b->im->tips[i];
		git_oid is = oid_of(b, was->ref);

		if (!git_oid_equal(&is, &was->oid) && !stays(b, was, &is))
			r = put_back(b, was, &is, err);
	}
	return r;
}

/*
 * Branches, tags and what others say of theirs may be new. A replacement (refs/replace) or a stash
 * would be the user's without a word. With a loop, only branches of other worktrees may be new.
 */
static bool may_be_new(const struct back *b, const char *ref)
{
	static const char *const kinds[] = {"refs/remotes/", "refs/ralph/", "refs/heads/",
					    "refs/tags/"};

	for (size_t i = 0; i < (b->hold ? 2 : ARRAY_SIZE(kinds)); i++)
		if (strncmp(ref, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return b->hold && import_is_elsewhere(b->im, ref);
}

static bool is_known(const struct back *b, const char *ref)
{
	for (size_t i = 0; i < b->im->n_tips; i++)
		if (streq(b->im->tips[i].ref, ref))
			return true;
	return false;
}

static int list_new(const struct back *b, struct strv *ret, struct err *err)
{
	git_reference_iterator *it = NULL;
	const char *name;
	size_t n = 0;
	int r = git_reference_iterator_new(&it, b->im->repo);

	while (r == 0 && n++ < REFS_MAX && git_reference_next_name(&name, it) == 0)
		if (!is_known(b, name) && !may_be_new(b, name))
			strv_push(ret, name);
	git_reference_iterator_free(it);
	if (r == 0 && n > REFS_MAX)
		return err_set(err, EFBIG, "the repository has more than %d references", REFS_MAX);
	return r < 0 ? gitlib_err(err, "cannot read the references") : 0;
}

static int look_at_new(struct back *b, struct err *err)
{
	cleanup_strv struct strv refs = {0};
	int r = list_new(b, &refs, err);

	for (size_t i = 0; r == 0 && i < refs.n; i++) {
		cleanup_free char *as = NULL;
		git_oid is = oid_of(b, refs.v[i]);

		r = hold(b, refs.v[i], &is, &as, err);
		if (r == 0 && git_reference_remove(b->im->repo, refs.v[i]) < 0)
			r = gitlib_err(err, refs.v[i]);
		if (r == 0)
			tell(b, refs.v[i], as, "new");
		/* The first commit of the branch. */
		b->index = b->index || (b->im->told_head && streq(refs.v[i], b->im->told_head));
	}
	return r;
}

/* The branch that it was on, or the commit. */
static int point_head(const struct back *b, struct err *err)
{
	cleanup_git(reference) git_reference *made = NULL;
	const char *to = b->im->told_head;
	git_oid oid;
	int r = strncmp(to, "refs/", 5) == 0
			? git_reference_symbolic_create(&made, b->im->repo, "HEAD", to, 1, REFLOG)
			: git_oid_fromstr(&oid, to);

	if (r == 0 && !made)
		r = git_reference_create(&made, b->im->repo, "HEAD", &oid, 1, REFLOG);
	return r < 0 ? gitlib_err(err, "HEAD") : 0;
}

/* Where it was on no branch, any commit is as good, but for a loop. */
static bool head_stays(const struct back *b)
{
	cleanup_git(reference) git_reference *head = NULL;
	const char *was = b->im->told_head, *is = NULL;

	if (git_reference_lookup(&head, b->im->repo, "HEAD") == 0)
		is = git_reference_symbolic_target(head);
	if (b->hold)
		return is && streq(is, was);
	return strncmp(was, "refs/", 5) != 0 || (is && strncmp(is, "refs/heads/", 11) == 0);
}

/* tip: what it was before anything was put back. */
static int look_at_head(struct back *b, const git_oid *tip, struct err *err)
{
	cleanup_free char *as = NULL;
	bool stays = !b->im->told_head || head_stays(b);
	int r = stays && !b->hold ? 0 : hold(b, "HEAD", tip, &as, err);

	if (stays || r < 0)
		return r;
	r = point_head(b, err);
	if (r == 0)
		tell(b, "HEAD", as, "moved");
	b->index = true;
	return r;
}

/* ---- before ---- */

/* Whatever the agent deletes, `git gc` keeps the commits that one of ralph's own has as parents. */
static void add_parent(const struct import *im, const git_oid *oid, struct pin *pin)
{
	cleanup_git(object) git_object *any = NULL, *commit = NULL;

	if (pin->n == PIN_MAX || git_object_lookup(&any, im->repo, oid, GIT_OBJECT_ANY) < 0 ||
	    git_object_peel(&commit, any, GIT_OBJECT_COMMIT) < 0)
		return;
	pin->v[pin->n++] = *git_object_id(commit);
}

/* Older stashes are in the list alone. */
static void add_stashes(const struct import *im, struct pin *pin)
{
	git_reflog *log = NULL;

	if (git_reflog_read(&log, im->repo, "refs/stash") < 0)
		return;
	for (size_t i = 0; i < git_reflog_entrycount(log); i++)
		add_parent(im, git_reflog_entry_id_new(git_reflog_entry_byindex(log, i)), pin);
	git_reflog_free(log);
}

static int write_pin(const struct import *im, const struct pin *pin, struct err *err)
{
	cleanup_free char *ref = import_own_name(im, "", PUT_BACK_PIN);
	cleanup_git(reference) git_reference *made = NULL;
	cleanup_buf struct buf b;
	char hex[GIT_OID_HEXSZ + 1];
	git_oid oid;

	buf_init(&b, 64 * (PIN_MAX + 8));
	(void)buf_puts(&b, "tree " EMPTY_TREE "\n");
	for (size_t i = 0; i < pin->n; i++)
		(void)buf_printf(&b, "parent %s\n", git_oid_tostr(hex, sizeof(hex), &pin->v[i]));
	(void)buf_puts(&b, "author ralph <> 0 +0000\ncommitter ralph <> 0 +0000\n\n"
			   "keeps commits while a sandbox can delete branches\n");
	if (git_odb_write(&oid, im->odb, "", 0, GIT_OBJECT_TREE) < 0 ||
	    git_odb_write(&oid, im->odb, b.data, b.len, GIT_OBJECT_COMMIT) < 0 ||
	    git_reference_create(&made, im->repo, ref, &oid, 1, REFLOG) < 0)
		return gitlib_err(err, ref);
	return 0;
}

/* What it puts back would need the list of stashes, which only libgit2 reads here. */
static int refuse_wide(const struct import *im, struct err *err)
{
	return im->wide ? err_set(err, ENOTSUP,
				  "'%s' names objects by SHA-256, and ralph cannot put it back "
				  "after "
				  "a sandbox that shares it; use another engine, or --clone",
				  im->git.common)
			: 0;
}

int put_back_pin(const char *root, const char *name, json_t *out, struct err *err)
{
	cleanup_(import_done) struct import im = {.name = name, .helper = -1};
	cleanup_free struct pin *pin = xcalloc(1, sizeof(*pin));
	static const int keep[] = {IMPORT_TIPS_FD};
	cleanup_fd int lock = -1;
	int r;

	fd_close_rest(keep, ARRAY_SIZE(keep));
	r = import_open(&im, root, &lock, err);
	if (r == 0)
		r = refuse_wide(&im, err);
	if (r == 0)
		r = import_read_tips(&im, err);
	if (r == 0)
		r = import_confine(&im, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < im.n_tips; i++)
		add_parent(&im, &im.tips[i].oid, pin);
	add_stashes(&im, pin);
	return write_pin(&im, pin, err);
}

/* ---- afterwards ---- */

int put_back_unpin(const char *root, const char *name, struct err *err)
{
	cleanup_(import_done) struct import im = {.name = name, .helper = -1, .lock = -1};
	cleanup_free char *ref = import_own_name(&im, "", PUT_BACK_PIN);
	cleanup_fd int lock = -1;
	int r = import_open(&im, root, &lock, err);

	if (r == 0 && git_reference_remove(im.repo, ref) < 0)
		r = gitlib_err(err, ref);
	return r;
}

int put_back_run(const char *root, const char *name, bool for_loop, json_t *out, struct err *err)
{
	cleanup_(import_done) struct import im = {.name = name, .helper = -1};
	static const int keep[] = {IMPORT_TIPS_FD, INDEX_FD, STASHES_FD};
	struct back b = {.im = &im, .out = json_array(), .hold = for_loop};
	cleanup_fd int lock = -1;
	git_oid tip;
	int r;

	(void)json_object_set_new(out, "back", b.out);
	fd_close_rest(keep, ARRAY_SIZE(keep));
	r = import_open(&im, root, &lock, err);
	if (r == 0)
		r = refuse_wide(&im, err);
	if (r == 0)
		r = import_read_tips(&im, err);
	if (r == 0)
		r = import_confine(&im, err);
	if (r < 0)
		return r;
	tip = oid_of(&b, "HEAD");
	r = look_at_known(&b, err);
	if (r == 0)
		r = look_at_new(&b, err);
	if (r == 0)
		r = look_at_head(&b, &tip, err);
	if (r == 0 && b.index)
		r = write_file(&b, im.git.dir, "index", INDEX_FD, err);
	return r;
}
