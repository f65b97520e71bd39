#include "repo/repo-modules.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/path.h"
#include "repo/repo-held.h"
#include "repo/repo-move.h"

/*
 * The note is {PATH: {dir, head, branch, view}}: the git directory, which must be the same one later,
 * the commit and the branch ("": none) of its HEAD, and its settings (see repo-view.c), which are
 * read before the agent starts.
 */
#define NOTE "repo-modules.json"

static int list_links(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_git(index) git_index *index = NULL;
	json_t *paths = json_array();

	(void)json_object_set_new(out, "paths", paths);
	if (git_repository_index(&index, j->git) < 0)
		return gitlib_err(err, "cannot read the index");
	for (size_t i = 0; i < git_index_entrycount(index); i++) {
		const git_index_entry *e = git_index_get_byindex(index, i);

		if (e->mode != GIT_FILEMODE_COMMIT)
			continue;
		if (json_array_size(paths) == REPO_MODULES_MAX)
			return err_set(err, E2BIG, "there are more than %d submodules",
				       REPO_MODULES_MAX);
		(void)json_array_append_new(paths, json_text(e->path));
	}
	return 0;
}

/* A file without which git knows no submodule; most trees have none. */
static bool has_modules(const struct repo *r)
{
	cleanup_free char *path = path_join(r->git.root, ".gitmodules");
	struct stat st;

	return lstat(path, &st) == 0;
}

/* -ENOENT: it is not initialised, or something else is in its place. A link is not followed. */
static int open_module(const struct repo *r, const char *path, struct repo **ret, struct err *err)
{
	cleanup_free char *root = path_join(r->git.root, path), *real = realpath(root, NULL);
	cleanup_repo struct repo *m = NULL;
	cleanup_free char *state = NULL;
	char key[GITDIR_KEY_LEN + 1];
	int rc = real && streq(real, root) ? repo_open(root, r->state, &m, err) : -ENOENT;

	if (rc < 0 || !streq(m->git.root, root) || !path_under(m->git.dir, r->git.common))
		return rc < 0 ? rc : -ENOENT;
	/* Notes of its own: those of the repository around it are for that one. */
	gitdir_key(&m->git, root, key);
	state = xasprintf("%s/module-%.16s", r->state, key);
	if (mkdir(state, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s'", state);
	free(m->state);
	m->state = take_ptr(state);
	*ret = take_ptr(m);
	return 0;
}

static json_t *note_of(const struct repo *m, const struct repo_oid *head, const char *branch,
		       json_t *view)
{
	return json_pack("{ss ss ss sO}", "dir", m->git.dir, "head", head->hex, "branch",
			 branch ? branch : "", "view", view);
}

struct noting {
	struct repo *top;
	const char *name; /* of the sandbox whose proposals go; NULL: none do */
	json_t *note;
	unsigned depth;
};

static int note_links(struct noting *n, struct repo *in, const char *below, struct err *err);

/*
 * One that cannot be looked at is not noted, and so not put back. Those in it come first: a commit that
 * names theirs is taken after them.
 */
static int look_at_module(struct noting *n, const char *path, struct err *err)
{
	cleanup_repo struct repo *m = NULL;
	cleanup_strv struct strv dirty = {0};
	cleanup_json json_t *view = NULL;
	cleanup_free char *branch = NULL;
	struct repo_oid head = {0};
	int rc = open_module(n->top, path, &m, err);

	if (rc == 0)
		rc = repo_view_take(m, &view, err);
	if (rc == 0)
		rc = repo_view_use(m, view, err);
	if (rc == 0)
		rc = note_links(n, m, path, err);
	if (rc == 0)
		rc = repo_dirty(m, &dirty, err);
	if (rc == 0)
		rc = repo_head(m, &head, &branch, err);
	if (rc == 0 && n->name)
		rc = repo_proposal_settle(m, n->name, "", NULL, err);
	if (rc == 0 && dirty.n == 0 && head.hex[0])
		(void)json_object_set_new(n->note, path, note_of(m, &head, branch, view));
	return rc;
}

/* The submodules of a repository, which is one itself where below is not "". */
static int note_links(struct noting *n, struct repo *in, const char *below, struct err *err)
{
	const struct repo_task task = REPO_TASK(list_links, NULL, 0);
	cleanup_json json_t *out = NULL;
	cleanup_strv struct strv paths = {0};
	int rc;

	if (!has_modules(in) || n->depth == REPO_MODULES_DEPTH)
		return 0;
	rc = repo_work(in, &task, &out, err);
	repo_answer_list(out, "paths", &paths);
	n->depth++;
	for (size_t i = 0; rc == 0 && i < paths.n; i++) {
		cleanup_free char *path =
			*below ? path_join(below, paths.v[i]) : xstrdup(paths.v[i]);
		struct err why = {0};

		if (json_object_size(n->note) == REPO_MODULES_MAX)
			rc = err_set(err, E2BIG, "there are more than %d submodules",
				     REPO_MODULES_MAX);
		else if (look_at_module(n, path, &why) < 0)
			log_debug("repo", "submodule '%s' is not noted: %s", path, why.msg);
	}
	n->depth--;
	return rc;
}

int repo_modules_note(struct repo *r, const char *name, struct err *err)
{
	cleanup_json json_t *note = json_object();
	struct noting n = {.top = r, .name = name, .note = note};
	int rc;

	if (!has_modules(r))
		return repo_note_remove(r, NOTE, err);
	rc = note_links(&n, r, "", err);
	return rc == 0 ? repo_note_write(r, NOTE, note, err) : rc;
}

static int one_module(const struct repo *r, const char *path, json_t *noted, repo_module_fn *fn,
		      void *arg, struct err *err)
{
	cleanup_repo struct repo *m = NULL;
	cleanup_free char *said = NULL;
	const char *dir = NULL;
	int rc = json_get_str(noted, "dir", &dir, err);

	if (rc == 0)
		rc = open_module(r, path, &m, err);
	/* Something else is in its place: it is left alone. */
	if (rc == -ENOENT || (rc == 0 && !streq(m->git.dir, dir)))
		return 0;
	if (rc == 0)
		rc = repo_view_use(m, json_object_get(noted, "view"), err);
	if (rc == 0)
		rc = repo_recover(m, &said, err);
	if (rc == 0)
		rc = fn(arg, m, path, noted, err);
	return rc < 0 ? err_wrap(err, rc, "submodule '%s'", path) : 0;
}

int repo_modules_each(struct repo *r, repo_module_fn *fn, void *arg, struct err *err)
{
	cleanup_json json_t *note = NULL;
	const char *path;
	json_t *noted;
	struct err none;
	int rc = repo_note_read(r, NOTE, &note, &none);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0) {
		*err = none;
		return rc;
	}
	json_object_foreach (note, path, noted)
		if (rc == 0)
			rc = one_module(r, path, noted, fn, arg, err);
	return rc;
}

/* The reference of its HEAD; the caller frees it. */
static char *noted_ref(const json_t *noted)
{
	const char *branch = json_string_value(json_object_get(noted, "branch"));

	return branch && *branch ? xasprintf("refs/heads/%s", branch) : xstrdup("HEAD");
}

static bool is_moved(const struct repo_proposal *p, const char *ref, const char *head)
{
	return !streq(p->tip.hex, head) || !streq(p->ref, ref) || !streq(p->at.hex, p->tip.hex) ||
	       p->commit.hex[0];
}

/* p->at is the commit that the files are of. */
static int move_back(struct repo *m, const struct repo_proposal *p, const char *ref,
		     const char *head, char **ret_kept, struct err *err)
{
	const struct repo_move move = {
		.ref = ref, .from = p->at.hex, .to = head, .force = true, .why = "ralph: put back"};
	const char *base = streq(p->at.hex, p->tip.hex) ? NULL : p->at.hex;
	int rc = repo_keep(m, "rejected", base, !streq(p->at.hex, head), ret_kept, err);

	return rc == 0 ? repo_move(m, &move, err) : rc;
}

int repo_module_put_back(struct repo *module, const char *name, enum repo_module_flags flags,
			 const json_t *noted, char **ret_kept, bool *ret_done, struct err *err)
{
	const char *head = json_string_value(json_object_get(noted, "head"));
	cleanup_free char *ref = noted_ref(noted);
	cleanup_(repo_proposal_done) struct repo_proposal p = {0};
	cleanup_strv struct strv dirty = {0};
	int rc = repo_proposal(module, name, &p, err);

	*ret_done = false;
	if (rc == 0 && !head)
		rc = err_set(err, EPROTO, "it is not known where it was");
	if (rc == 0 && (flags & REPO_MODULE_FILES))
		rc = repo_dirty(module, &dirty, err);
	if (rc < 0 || (!is_moved(&p, ref, head) && dirty.n == 0))
		return rc;
	rc = move_back(module, &p, ref, head, ret_kept, err);
	*ret_done = rc == 0;
	return rc == 0 ? repo_proposal_settle(module, name, p.at.hex, NULL, err) : rc;
}
