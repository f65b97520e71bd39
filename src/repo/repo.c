#include "repo/repo.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "git/tree-path.h"
#include "repo/repo-parts.h"

#define NOTE_MAX (4 * MiB)
#define SLUG_MAX 50
#define PATH_SHOWN_MAX 400

int repo_open(const char *workspace, const char *state, struct repo **ret, struct err *err)
{
	cleanup_repo struct repo *r = xcalloc(1, sizeof(*r));
	int rc = gitdir_find(workspace, getenv("HOME"), &r->git, err);

	if (rc < 0)
		return rc;
	if (!r->git.root && r->git.note)
		return err_set(err, ENOENT, "'%s' is no repository: %s", workspace, r->git.note);
	if (!r->git.root)
		return err_set(err, ENOENT, "'%s' is no git repository; make one with `git init`",
			       workspace);
	if (gitdir_is_bare(&r->git))
		return err_set(err, ENOENT, "'%s' is a bare repository, without files to work on",
			       workspace);
	r->state = xstrdup(state);
	r->limit_ms = REPO_WORK_MS;
	*ret = take_ptr(r);
	return 0;
}

void repo_free(struct repo *r)
{
	if (!r)
		return;
	gitdir_done(&r->git);
	json_decref(r->view);
	free(r->state);
	free(r);
}

const char *repo_root(const struct repo *r)
{
	return r->git.root;
}

int repo_oid_of(const char *hex, git_oid *ret, struct err *err)
{
	if (strlen(hex) != REPO_OID_LEN || git_oid_fromstr(ret, hex) < 0)
		return err_set(err, EINVAL, "'%.50s' is not the name of a commit", hex);
	return 0;
}

void repo_put_oid(json_t *out, const char *key, const git_oid *oid)
{
	char hex[REPO_OID_LEN + 1] = "";

	if (!git_oid_is_zero(oid))
		(void)git_oid_tostr(hex, sizeof(hex), oid);
	(void)json_object_set_new(out, key, json_string(hex));
}

int repo_answer_oid(const json_t *out, const char *key, struct repo_oid *ret)
{
	const char *hex = json_string_value(json_object_get(out, key));

	if (!hex || strlen(hex) > REPO_OID_LEN)
		return -EPROTO;
	memcpy(ret->hex, hex, strlen(hex) + 1);
	return 0;
}

char *repo_answer_str(const json_t *out, const char *key)
{
	const char *s = json_string_value(json_object_get(out, key));

	return s && *s ? xstrdup(s) : NULL;
}

void repo_answer_list(const json_t *out, const char *key, struct strv *ret)
{
	const json_t *item;
	size_t i;

	json_array_foreach (json_object_get(out, key), i, item)
		if (json_is_string(item))
			strv_push(ret, json_string_value(item));
}

int repo_head_ref(git_repository *git, char **ret_ref, git_oid *ret_oid, struct err *err)
{
	cleanup_git(reference) git_reference *head = NULL, *end = NULL;
	int r;

	*ret_oid = (git_oid){0};
	*ret_ref = NULL;
	if (git_reference_lookup(&head, git, "HEAD") < 0)
		return gitlib_err(err, "cannot read HEAD");
	if (git_reference_type(head) == GIT_REFERENCE_SYMBOLIC) {
		const char *name = git_reference_symbolic_target(head);

		if (strncmp(name, "refs/heads/", strlen("refs/heads/")) != 0)
			return err_set(err, EINVAL, "HEAD is no branch; check one out");
		*ret_ref = xstrdup(name);
	}
	r = git_reference_resolve(&end, head);
	if (r == 0)
		*ret_oid = *git_reference_target(end);
	if (r < 0 && r != GIT_ENOTFOUND) {
		free(take_ptr(*ret_ref));
		return gitlib_err(err, "cannot read HEAD");
	}
	return 0;
}

static int read_head(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_free char *ref = NULL;
	git_oid oid;
	int r = repo_head_ref(j->git, &ref, &oid, err);

	if (r < 0)
		return r;
	repo_put_oid(out, "oid", &oid);
	if (ref)
		(void)json_object_set_new(out, "branch", json_text(ref + strlen("refs/heads/")));
	return 0;
}

int repo_head(struct repo *r, struct repo_oid *ret, char **ret_branch, struct err *err)
{
	const struct repo_task task = REPO_TASK(read_head, NULL, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc < 0)
		return rc;
	if (ret && repo_answer_oid(out, "oid", ret) < 0)
		return err_set(err, EPROTO, "HEAD has no name");
	if (ret_branch)
		*ret_branch = repo_answer_str(out, "branch");
	return 0;
}

int repo_identity(struct repo *r, char **ret_name, char **ret_email, struct err *err)
{
	const char *name, *email;
	int rc = r->view ? 0 : repo_view_take(r, &r->view, err);

	if (rc < 0)
		return rc;
	name = repo_view_setting(r, "user.name");
	email = repo_view_setting(r, "user.email");
	if (!name || !*name || !email || !*email)
		return err_set(err, ENOENT,
			       "git does not know whose commits these are; say so with `git config "
			       "--global user.name NAME` and `git config --global user.email "
			       "ADDRESS`");
	*ret_name = xstrdup(name);
	*ret_email = xstrdup(email);
	return 0;
}

int repo_signature(const struct repo *r, git_signature **ret, struct err *err)
{
	const char *name = repo_view_setting(r, "user.name");
	const char *email = repo_view_setting(r, "user.email");

	if (git_signature_now(ret, name && *name ? name : "ralph",
			      email && *email ? email : "ralph@localhost") < 0)
		return gitlib_err(err, "cannot say whose commit it is");
	return 0;
}

bool repo_is_ours(const char *path)
{
	/* The workspace may be a subdirectory of the working tree. */
	return strncmp(path, ".ralph/", strlen(".ralph/")) == 0 || strstr(path, "/.ralph/");
}

/* Returns the two letters of `git status --short`, trimmed. */
static const char *letters(unsigned status, char ret[3])
{
	static const struct {
		unsigned index, tree;
		char letter;
	} rows[] = {
		{GIT_STATUS_INDEX_NEW, 0, 'A'},
		{GIT_STATUS_INDEX_MODIFIED, GIT_STATUS_WT_MODIFIED, 'M'},
		{GIT_STATUS_INDEX_DELETED, GIT_STATUS_WT_DELETED, 'D'},
		{GIT_STATUS_INDEX_RENAMED, GIT_STATUS_WT_RENAMED, 'R'},
		{GIT_STATUS_INDEX_TYPECHANGE, GIT_STATUS_WT_TYPECHANGE, 'T'},
	};
	size_t n = 0;

	if (status & GIT_STATUS_CONFLICTED)
		return "UU";
	if (status & GIT_STATUS_WT_NEW)
		return "??";
	for (size_t i = 0; i < ARRAY_SIZE(rows) && n == 0; i++)
		if (status & rows[i].index)
			ret[n++] = rows[i].letter;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (status & rows[i].tree && (n == 0 || ret[n - 1] != rows[i].letter) && n < 2)
			ret[n++] = rows[i].letter;
	ret[n] = '\0';
	return n ? ret : "!";
}

static int list_dirty(struct repo_job *j, json_t *out, struct err *err)
{
	cleanup_git(status_list) git_status_list *list = NULL;
	json_t *lines = json_array();
	int r = repo_status(j, NULL, &list, err);
	size_t n = r == 0 ? repo_status_count(list) : 0;

	(void)json_object_set_new(out, "lines", lines);
	for (size_t i = 0; i < n && json_array_size(lines) < REPO_DIRTY_MAX; i++) {
		const git_status_entry *e = git_status_byindex(list, i);
		const git_diff_delta *d =
			e->index_to_workdir ? e->index_to_workdir : e->head_to_index;
		const char *path = d->old_file.path ? d->old_file.path : d->new_file.path;
		cleanup_free char *shown = gitpath_shown(path, strlen(path), PATH_SHOWN_MAX);
		cleanup_free char *line = NULL;
		char two[3];

		if (repo_is_ours(path))
			continue;
		line = xasprintf("%s %s", letters(e->status, two), shown);
		(void)json_array_append_new(lines, json_text(line));
	}
	return r;
}

int repo_dirty(struct repo *r, struct strv *ret, struct err *err)
{
	const struct repo_task task = REPO_TASK(list_dirty, NULL, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0)
		repo_answer_list(out, "lines", ret);
	return rc;
}

char *repo_slug(const char *title)
{
	char slug[SLUG_MAX + 1];
	size_t n = 0;

	for (const char *p = title; *p && n < SLUG_MAX; p++) {
		if (isalnum((unsigned char)*p) && (unsigned char)*p < 0x80)
			slug[n++] = (char)tolower((unsigned char)*p);
		else if (n && slug[n - 1] != '-')
			slug[n++] = '-';
	}
	while (n && slug[n - 1] == '-')
		n--;
	slug[n] = '\0';
	return xasprintf("ralph/%s", n ? slug : "work");
}

static int open_state(const struct repo *r, struct err *err)
{
	int fd = open(r->state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", r->state) : fd;
}

/* Worktrees share the state directory, so the name of a note includes the worktree. */
char *repo_note_name(const struct repo *r, const char *name)
{
	return streq(r->git.dir, r->git.common) ? xstrdup(name)
						: xasprintf("%s.%s", path_base(r->git.dir), name);
}

int repo_note_read(const struct repo *r, const char *note, json_t **ret, struct err *err)
{
	cleanup_free char *name = repo_note_name(r, note);
	cleanup_fd int dir = open_state(r, err);
	cleanup_buf struct buf b;
	int rc;

	buf_init(&b, NOTE_MAX);
	if (dir < 0)
		return dir;
	rc = path_read(dir, name, &b);
	if (rc < 0)
		return err_sys(err, -rc, "cannot read '%s/%s'", r->state, name);
	rc = json_parse(buf_str(&b), b.len, ret, err);
	return rc < 0 ? err_wrap(err, rc, "%s/%s", r->state, name) : 0;
}

int repo_note_write(const struct repo *r, const char *note, const json_t *content, struct err *err)
{
	cleanup_free char *name = repo_note_name(r, note);
	cleanup_fd int dir = open_state(r, err);
	cleanup_free char *text = json_dumps(content, JSON_INDENT(2));
	int rc;

	if (dir < 0)
		return dir;
	rc = path_write_atomic(dir, name, text ? text : "", text ? strlen(text) : 0, 0600,
			       PATH_WRITE_SYNC);
	return rc < 0 ? err_sys(err, -rc, "cannot write '%s/%s'", r->state, name) : 0;
}

int repo_note_locks(struct repo *r, const char *note, struct err *err)
{
	cleanup_free char *name = repo_note_name(r, note);
	cleanup_fd int dir = open_state(r, err);
	struct stat st;
	int rc;

	if (dir < 0)
		return dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, errno, "cannot read '%s/%s'", r->state, name);
	/* File times may be coarser than the clock. */
	rc = repo_clear_locks(r, st.st_mtim.tv_sec - 1, err);
	return rc < 0 ? rc : 0;
}

int repo_note_remove(const struct repo *r, const char *note, struct err *err)
{
	cleanup_free char *name = repo_note_name(r, note);
	cleanup_fd int dir = open_state(r, err);

	if (dir < 0)
		return dir;
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot remove '%s/%s'", r->state, name);
	return 0;
}
