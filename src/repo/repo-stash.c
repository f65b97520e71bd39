#include "repo/repo-stash.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/path.h"
#include "repo/repo-move.h"

/*
 * DOC: Theory of operation
 *
 *	save       commits the changes; stash.pack has a copy of their objects
 *	"saved"    is noted
 *	clean      sets a reference; resets the files to HEAD
 *	"taken"    is noted; the loop runs, and the pack survives whatever it does to the objects
 *	"restoring" is noted
 *	restore    files, index
 *	"restored" is noted; then the reference, the pack and, last, the note are removed
 *
 * Each step may be done twice: it touches a file only if the file has its content from before the
 * step or from after it. So repo_recover() continues at the noted step.
 */
#define NOTE "stash.json"
#define PACK "stash.pack"
#define PACK_NEW "stash.pack.new"

static int write_chunk(void *buf, size_t size, void *arg)
{
	const int *fd = arg;

	return fd_write_all(*fd, buf, size);
}

static int pack_objects(git_repository *git, const git_oid *oid, const git_oid *head, int fd,
			struct err *err)
{
	git_packbuilder *pack = NULL;
	git_revwalk *walk = NULL;
	int r = git_packbuilder_new(&pack, git);

	if (r == 0)
		r = git_revwalk_new(&walk, git);
	if (r == 0)
		r = git_revwalk_push(walk, oid);
	if (r == 0)
		r = git_revwalk_hide(walk, head);
	if (r == 0)
		r = git_packbuilder_insert_walk(pack, walk);
	if (r == 0)
		r = git_packbuilder_foreach(pack, write_chunk, &fd);
	git_revwalk_free(walk);
	git_packbuilder_free(pack);
	return r < 0 ? gitlib_err(err, "cannot keep the changes") : 0;
}

static int do_save(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_free char *ref = NULL, *message = NULL;
	struct repo_snap_how how = {.strict = true};
	struct repo_snap snap;
	git_oid head;
	int r = repo_head_ref(j->git, &ref, &head, err);

	if (r == 0 && git_oid_is_zero(&head))
		r = err_set(err, ENOENT,
			    "the repository has no commit yet; make a first one with `git commit`");
	if (r == 0 && git_repository_state(j->git) != GIT_REPOSITORY_STATE_NONE)
		r = err_set(err, EBUSY,
			    "a merge, rebase or the like is not finished; finish it, or abort it");
	if (r < 0)
		return r;
	message = xasprintf("On %s: before ralph", ref ? ref + strlen("refs/heads/") : "no branch");
	how.message = message;
	r = repo_snap(j, &how, &snap, err);
	if (r == 0 && !git_oid_is_zero(&snap.oid))
		r = pack_objects(j->git, &snap.oid, &head, j->fd, err);
	if (r < 0)
		return r;
	repo_put_oid(out, "oid", &snap.oid);
	repo_put_oid(out, "head", &head);
	(void)json_object_set_new(out, "branch", json_text(ref ? ref + strlen("refs/heads/") : ""));
	return 0;
}

static int open_state(const struct repo *r, struct err *err)
{
	int fd = open(r->state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", r->state) : fd;
}

static int set_phase(const struct repo *r, json_t *note, const char *phase, struct err *err)
{
	(void)json_object_set_new(note, "phase", json_string(phase));
	return repo_note_write(r, NOTE, note, err);
}

static int read_note(const struct repo *r, json_t **ret, struct repo_stash_arg *arg,
		     const char **ret_phase, struct err *err)
{
	int rc = repo_note_read(r, NOTE, ret, err);

	if (rc == 0)
		rc = json_get_str(*ret, "oid", &arg->oid, err);
	if (rc == 0)
		rc = json_get_str(*ret, "ref", &arg->ref, err);
	return rc == 0 ? json_get_str(*ret, "phase", ret_phase, err) : rc;
}

static int clean(struct repo *r, json_t *note, const struct repo_stash_arg *arg, struct err *err)
{
	const struct repo_task task = REPO_TASK(repo_stash_clean, arg, REPO_TASK_WRITE);
	int rc = repo_work(r, &task, NULL, err);

	return rc == 0 ? set_phase(r, note, "taken", err) : rc;
}

/* The pack must be complete and in place before the note mentions it. */
static int settle_pack(const struct repo *r, int dir, int pack, struct err *err)
{
	cleanup_free char *name = repo_note_name(r, PACK), *fresh = repo_note_name(r, PACK_NEW);

	if (fsync(pack) < 0 || renameat(dir, fresh, dir, name) < 0 || fsync(dir) < 0)
		return err_sys(err, errno, "cannot keep the changes");
	return 0;
}

static char *stash_ref(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return xasprintf("refs/ralph/stash/%lld", (long long)now.tv_sec);
}

bool repo_has_stash(struct repo *r)
{
	cleanup_json json_t *note = NULL;
	struct err ignored;

	return repo_note_read(r, NOTE, &note, &ignored) != -ENOENT;
}

static int refuse_second(const struct repo *r, struct err *err)
{
	cleanup_json json_t *note = NULL;
	cleanup_free char *name = repo_note_name(r, NOTE);
	struct repo_stash_arg arg = {.ref = "?"};
	const char *phase;
	struct err ignored;
	int rc;

	(void)read_note(r, &note, &arg, &phase, &ignored);
	rc = err_set(err, EEXIST, "changes of yours from before are still stashed at %s", arg.ref);
	return err_hint(err, rc, "get them with `git stash apply %s`, and remove '%s/%s'", arg.ref,
			r->state, name);
}

int repo_stash(struct repo *r, struct err *err)
{
	cleanup_json json_t *out = NULL, *note = NULL;
	cleanup_free char *ref = stash_ref(), *fresh = repo_note_name(r, PACK_NEW);
	cleanup_fd int dir = open_state(r, err), pack = -1;
	struct repo_task task = REPO_TASK(do_save, NULL, REPO_TASK_WRITE);
	struct repo_stash_arg arg = {.ref = ref};
	int rc;

	if (dir < 0)
		return dir;
	if (repo_has_stash(r))
		return refuse_second(r, err);
	pack = openat(dir, fresh, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (pack < 0)
		return err_sys(err, errno, "cannot create '%s/%s'", r->state, fresh);
	task.fd = pack;
	rc = repo_work(r, &task, &out, err);
	if (rc == 0)
		rc = json_get_str(out, "oid", &arg.oid, err);
	if (rc < 0 || !*arg.oid) {
		(void)unlinkat(dir, fresh, 0);
		return rc;
	}
	note = json_deep_copy(out);
	(void)json_object_set_new(note, "version", json_integer(1));
	(void)json_object_set_new(note, "ref", json_string(ref));
	rc = settle_pack(r, dir, pack, err);
	if (rc == 0)
		rc = set_phase(r, note, "saved", err);
	return rc == 0 ? clean(r, note, &arg, err) : rc;
}

/* Imports the pack, in case objects of the stash were deleted meanwhile. */
static int do_import(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_git(odb) git_odb *odb = NULL;
	cleanup_free char *dir = path_join(j->repo->git.common, "objects/pack");
	git_indexer_progress progress = {0};
	git_indexer *indexer = NULL;
	char chunk[16 * KiB];
	ssize_t n = 0;
	int r = git_repository_odb(&odb, j->git);

	if (r == 0)
		r = git_indexer_new(&indexer, dir, 0, odb, NULL);
	while (r == 0 && (n = read(j->fd, chunk, sizeof(chunk))) > 0)
		r = git_indexer_append(indexer, chunk, (size_t)n, &progress);
	if (r == 0 && n == 0)
		r = git_indexer_commit(indexer, &progress);
	git_indexer_free(indexer);
	return r < 0 || n < 0 ? gitlib_err(err, "cannot get the stash back") : 0;
}

static int import(struct repo *r, struct err *err)
{
	struct repo_task task = REPO_TASK(do_import, NULL, REPO_TASK_WRITE);
	cleanup_free char *name = repo_note_name(r, PACK);
	cleanup_fd int dir = open_state(r, err);
	cleanup_fd int pack = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return dir;
	if (pack < 0)
		return err_sys(err, errno, "cannot open '%s/%s'", r->state, name);
	task.fd = pack;
	return repo_work(r, &task, NULL, err);
}

static int fits(struct repo *r, const struct repo_stash_arg *arg, struct err *err)
{
	const struct repo_task task = REPO_TASK(repo_stash_fits, arg, 0);
	int rc = repo_work(r, &task, NULL, err);

	if (rc < 0 && rc != -EBUSY) {
		rc = import(r, err);
		if (rc == 0)
			rc = repo_work(r, &task, NULL, err);
	}
	return rc;
}

static int do_forget(struct repo_job *j, json_t *out, struct err *err)
{
	const struct repo_stash_arg *arg = j->arg;
	int r = git_reference_remove(j->git, arg->ref);

	return r < 0 && r != GIT_ENOTFOUND ? gitlib_err(err, arg->ref) : 0;
}

/* The note is removed last. Its reference and pack may already be gone, which is no error. */
static int forget(struct repo *r, const struct repo_stash_arg *arg, struct err *err)
{
	const struct repo_task task = REPO_TASK(do_forget, arg, REPO_TASK_WRITE);
	cleanup_free char *name = repo_note_name(r, PACK);
	cleanup_fd int dir = open_state(r, err);
	int rc = dir < 0 ? dir : repo_work(r, &task, NULL, err);

	if (rc == 0)
		(void)unlinkat(dir, name, 0);
	return rc == 0 ? repo_note_remove(r, NOTE, err) : rc;
}

int repo_unstash(struct repo *r, struct err *err)
{
	cleanup_json json_t *note = NULL;
	struct repo_stash_arg arg;
	const struct repo_task task = REPO_TASK(repo_stash_restore, &arg, REPO_TASK_WRITE);
	const char *phase;
	int rc;

	if (!repo_has_stash(r))
		return 0;
	rc = read_note(r, &note, &arg, &phase, err);
	if (rc == 0 && streq(phase, "restored"))
		return forget(r, &arg, err);
	if (rc == 0)
		rc = fits(r, &arg, err);
	if (rc == 0)
		rc = set_phase(r, note, "restoring", err);
	if (rc == 0)
		rc = repo_work(r, &task, NULL, err);
	if (rc == 0)
		rc = set_phase(r, note, "restored", err);
	return rc == 0 ? forget(r, &arg, err) : rc;
}

static int find_oid(size_t index, const char *message, const git_oid *oid, void *arg)
{
	return git_oid_equal(oid, arg); /* not 0: found, and the walk ends */
}

static int do_list(struct repo_job *j, json_t *out, struct err *err)
{
	const struct repo_stash_arg *arg = j->arg;
	cleanup_git(reference) git_reference *made = NULL;
	git_oid oid;
	int r = repo_oid_of(arg->oid, &oid, err);

	/* It is there when a kill has interrupted this once. */
	if (r < 0 || git_stash_foreach(j->git, find_oid, &oid) == 1)
		return r;
	if (git_reference_ensure_log(j->git, "refs/stash") < 0 ||
	    git_reference_create(&made, j->git, "refs/stash", &oid, 1, "before ralph") < 0)
		return gitlib_err(err, "refs/stash");
	return 0;
}

int repo_stash_hand_over(struct repo *r, struct err *err)
{
	cleanup_json json_t *note = NULL;
	struct repo_stash_arg arg;
	const struct repo_task task = REPO_TASK(do_list, &arg, REPO_TASK_WRITE);
	const char *phase;
	int rc = read_note(r, &note, &arg, &phase, err);

	if (rc == 0)
		rc = repo_work(r, &task, NULL, err);
	if (rc < 0) { /* objects that the agent has removed are in the pack */
		rc = import(r, err);
		if (rc == 0)
			rc = repo_work(r, &task, NULL, err);
	}
	return rc == 0 ? forget(r, &arg, err) : rc;
}

/* Continues at the step that the note records. */
static int stash_recover(struct repo *r, char **ret_done, struct err *err)
{
	cleanup_json json_t *note = NULL;
	struct repo_stash_arg arg;
	const char *phase;
	int rc;

	if (!repo_has_stash(r))
		return 0;
	rc = read_note(r, &note, &arg, &phase, err);
	if (rc < 0 || streq(phase, "taken"))
		return rc;
	rc = repo_note_locks(r, NOTE, err);
	if (rc < 0)
		return rc;
	if (streq(phase, "saved")) {
		rc = clean(r, note, &arg, err);
		if (rc == 0)
			*ret_done = xstrdup("your changes are stashed now, which was interrupted");
		return rc;
	}
	rc = repo_unstash(r, err);
	if (rc == 0)
		*ret_done = xstrdup("your changes are back now, which was interrupted");
	return rc;
}

static void add_sentence(char **all, char *one)
{
	char *joined = *all && one ? xasprintf("%s; %s", *all, one) : NULL;

	if (joined) {
		free(*all);
		free(one);
	}
	*all = joined ? joined : *all ? *all : one;
}

int repo_recover(struct repo *r, char **ret_done, struct err *err)
{
	static int (*const steps[])(struct repo *, char **, struct err *) = {
		repo_move_recover, repo_worktree_recover, stash_recover};
	cleanup_free char *all = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(steps); i++) {
		char *one = NULL;

		rc = steps[i](r, &one, err);
		add_sentence(&all, one);
	}
	if (rc == 0 && ret_done)
		*ret_done = take_ptr(all);
	return rc;
}
