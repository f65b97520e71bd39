#include "repo/repo-push.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "repo/repo-parts.h"

#define SHALLOW_MAX (1 * MiB)
#define SETTINGS_MAX 200

struct want_push {
	const char *branch, *remote, *path;
	struct repo_oid *oid;
};

/* True for settings of the repository that say how to log in to a remote. */
static bool is_login(const char *key)
{
	return strncmp(key, "credential.", strlen("credential.")) == 0 ||
	       strncmp(key, "http.", strlen("http.")) == 0 || streq(key, "core.sshcommand");
}

static int read_settings(git_config *config, const char *remote, json_t *out, struct err *err)
{
	cleanup_free char *url_key = xasprintf("remote.%s.url", remote);
	cleanup_free char *push_key = xasprintf("remote.%s.pushurl", remote);
	json_t *settings = json_object();
	git_config_iterator *it = NULL;
	git_config_entry *e;

	(void)json_object_set_new(out, "settings", settings);
	if (git_config_iterator_new(&it, config) < 0)
		return gitlib_err(err, "cannot read git's settings");
	while (git_config_next(&e, it) == 0) {
		const char *value = e->value ? e->value : "true";

		/* git reads the settings of the user and the system itself. */
		if (e->level < GIT_CONFIG_LEVEL_LOCAL || e->include_depth > 0)
			continue;
		if (streq(e->name, url_key) && !json_object_get(out, "url"))
			(void)json_object_set_new(out, "url", json_text(value));
		if (streq(e->name, push_key) && !json_object_get(out, "pushurl"))
			(void)json_object_set_new(out, "pushurl", json_text(value));
		if (is_login(e->name) && json_object_size(settings) < SETTINGS_MAX)
			(void)json_object_set_new(settings, e->name, json_text(value));
	}
	git_config_iterator_free(it);
	return 0;
}

/* In the child: reads the repository's current settings, if they have not changed since the
 * view. */
static int live_settings(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_push *w = j->arg;
	const char *known = json_string_value(json_object_get(j->repo->view, "config"));
	cleanup_git(config) git_config *config = NULL;
	cleanup_free char *path = path_join(j->repo->git.common, "config");
	char hash[REPO_OID_LEN + 1];

	gitlib_start_open();
	if (repo_config_hash(j->repo, hash) < 0 || !known || !streq(hash, known))
		return 0;
	if (git_config_new(&config) < 0 ||
	    git_config_add_file_ondisk(config, path, GIT_CONFIG_LEVEL_LOCAL, NULL, 0) < 0)
		return gitlib_err(err, "cannot read git's settings");
	return read_settings(config, w->remote, out, err);
}

static int find_commit(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_push *w = j->arg;
	cleanup_free char *ref = xasprintf("refs/heads/%s", w->branch);
	cleanup_fd int dir = open(j->repo->git.common, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
		dir < 0 ? -1
			: path_open_beneath(dir, "shallow", O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_buf struct buf shallow;
	git_oid oid;
	int valid = 0;

	buf_init(&shallow, SHALLOW_MAX);
	if (git_branch_name_is_valid(&valid, w->branch) < 0 || !valid ||
	    git_reference_name_to_id(&oid, j->git, ref) < 0)
		return err_set(err, ENOENT, "there is no branch '%s' to push", w->branch);
	repo_put_oid(out, "oid", &oid);
	if (fd >= 0 && fd_read_all(fd, &shallow) == 0)
		(void)json_object_set_new(out, "shallow", json_text(buf_str(&shallow)));
	return 0;
}

/* Updates the remote-tracking reference, as git itself would after a push. */
static int note_pushed(struct repo_job *j, json_t *out, struct err *err)
{
	const struct want_push *w = j->arg;
	cleanup_free char *ref = xasprintf("refs/remotes/%s/%s", w->remote, w->branch);
	cleanup_git(reference) git_reference *made = NULL;
	git_oid oid;
	int r = repo_oid_of(w->oid->hex, &oid, err);

	if (r == 0 && git_reference_create(&made, j->git, ref, &oid, 1, "ralph: push") < 0)
		r = gitlib_err(err, ref);
	return r;
}

static const char *pick_remote(const struct repo *r, const char *remote, const char *branch)
{
	const json_t *branches = json_object_get(r->view, "branches");
	const json_t *remotes = json_object_get(r->view, "remotes");
	const char *own = json_string_value(json_object_get(branches, branch));
	const char *fallback = json_string_value(json_object_get(branches, ""));

	if (remote || own || fallback)
		return remote ? remote : own ? own : fallback;
	return json_object_size(remotes) == 1
		       ? json_object_iter_key(json_object_iter((json_t *)(uintptr_t)remotes))
		       : "origin";
}

/* Makes a relative path absolute, because git runs in another directory. */
static int check_url(const struct repo *r, const char *url, char **ret, struct err *err)
{
	const char *colon = strchr(url, ':'), *slash = strchr(url, '/');

	if (url[0] == '-' || !*url || strstr(url, "::"))
		return err_set(err, EINVAL, "'%s' is no URL that ralph pushes to", url);
	if (url[0] == '/' || (colon && (!slash || colon < slash)))
		*ret = xstrdup(url);
	else
		*ret = path_join(r->git.root, url);
	return 0;
}

static const char *url_in(const json_t *o)
{
	const char *push = json_string_value(json_object_get(o, "pushurl"));

	return push ? push : json_string_value(json_object_get(o, "url"));
}

static int push_to(struct repo *r, const struct want_push *w, int progress, struct err *err)
{
	const struct repo_task settings = REPO_TASK(live_settings, w, REPO_TASK_VIEW);
	const struct repo_task commit = REPO_TASK(find_commit, w, 0);
	const json_t *seen = json_object_get(json_object_get(r->view, "remotes"), w->remote);
	cleanup_free char *objects = path_join(r->git.common, "objects"), *url = NULL;
	cleanup_json json_t *live = NULL, *found = NULL;
	struct push p = {
		.state = r->state, .objects = objects, .path = w->path, .progress = progress};
	int rc = repo_work(r, &settings, &live, err);

	if (rc == 0)
		rc = repo_work(r, &commit, &found, err);
	if (rc == 0)
		rc = check_url(r, url_in(live) ? url_in(live) : url_in(seen), &url, err);
	if (rc == 0 && repo_answer_oid(found, "oid", w->oid) < 0)
		rc = err_set(err, EPROTO, "the branch has no commit");
	if (rc < 0)
		return rc;
	p.url = url;
	p.oid = w->oid->hex;
	p.branch = w->branch;
	p.settings = json_object_get(live, "settings");
	p.shallow = json_string_value(json_object_get(found, "shallow"));
	return push_run(&p, err);
}

int repo_push(struct repo *r, const char *remote, const char *branch, const char *path,
	      int progress, struct err *err)
{
	struct repo_oid oid;
	struct want_push want = {.branch = branch, .path = path, .oid = &oid};
	const struct repo_task note = REPO_TASK(note_pushed, &want, REPO_TASK_WRITE);
	int rc = r->view ? 0 : repo_view_take(r, &r->view, err);

	if (rc < 0)
		return rc;
	want.remote = pick_remote(r, remote, branch);
	if (!url_in(json_object_get(json_object_get(r->view, "remotes"), want.remote)))
		return err_set(err, ENOENT,
			       "there is no remote '%s' to push to; add one with `git remote add "
			       "%s URL`, before the loop",
			       want.remote, want.remote);
	rc = push_to(r, &want, progress, err);
	return rc == 0 ? repo_work(r, &note, NULL, err) : rc;
}
