#include "repo/repo-parts.h"

#include <fcntl.h>
#include <git2/sys/repository.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

/*
 * DOC: Theory of operation
 *
 * A view holds the user's settings, read once, before any agent has written anything:
 *
 *	settings    the keys below, the only ones that operations on the repository use
 *	remotes     {name: {url, pushurl}}, without passwords
 *	branches    {name: remote}, and "" for remote.pushDefault
 *	alternates  lines of objects/info/alternates
 *	readable    paths outside that git reads: alternates, excludes, included settings
 *	config      hash of the repository's settings
 *
 * Settings of the user and the system count as they are. Of the repository's own settings only
 * those in its file count, not its includes: an included file may be in the working tree.
 */
#define CONFIG_MAX (1 * MiB)
#define LIST_MAX 1000
#define BORROWED_DEPTH 5

/* Keys that change bytes or names, and run nothing. */
static const char *const kept[] = {
	"core.autocrlf",
	"core.eol",
	"core.excludesfile",
	"core.filemode",
	"core.symlinks",
	"core.ignorecase",
	"core.logallrefupdates",
	"core.precomposeunicode",
	"core.sharedrepository",
	"user.name",
	"user.email",
};

static bool is_kept(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (streq(kept[i], key))
			return true;
	return false;
}

static char *home_path(const char *path)
{
	const char *home = getenv("HOME");

	if (strncmp(path, "~/", 2) == 0 && home)
		return path_join(home, path + 2);
	return path[0] == '/' ? xstrdup(path) : NULL;
}

static void add_readable(json_t *out, const char *path)
{
	json_t *list = json_object_get(out, "readable");

	if (path && json_array_size(list) < LIST_MAX)
		(void)json_array_append_new(list, json_text(path));
}

/* Returns https://user:password@host/… without the password. */
static char *without_password(const char *url)
{
	const char *host = strstr(url, "://"), *at, *colon;
	size_t n;

	if (!host)
		return xstrdup(url);
	host += 3;
	n = strcspn(host, "/?#");
	at = memrchr(host, '@', n);
	colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
	return colon ? xasprintf("%.*s%s", (int)(colon - url), url, at) : xstrdup(url);
}

/* Returns NAME of "remote.NAME.url", which may contain dots; NULL for another key. The caller
 * frees it. */
static char *middle(const char *key, const char *section, const char *end)
{
	size_t n = strlen(key), a = strlen(section), b = strlen(end);

	if (n <= a + b + 2 || strncmp(key, section, a) != 0 || key[a] != '.' ||
	    !streq(key + n - b, end) || key[n - b - 1] != '.')
		return NULL;
	return xstrndup(key + a + 1, n - a - b - 2);
}

static void take_remote(json_t *out, const char *key, const char *value)
{
	static const char *const ends[] = {"url", "pushurl"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		cleanup_free char *name = middle(key, "remote", ends[i]);
		cleanup_free char *url = name ? without_password(value) : NULL;
		json_t *remotes = json_object_get(out, "remotes");
		json_t *remote = name ? json_object_get(remotes, name) : NULL;

		if (!name || (!remote && json_object_size(remotes) >= LIST_MAX))
			continue;
		if (!remote) {
			remote = json_object();
			(void)json_object_set_new(remotes, name, remote);
		}
		/* git fetches from the first of several URLs. */
		if (!json_object_get(remote, ends[i]))
			(void)json_object_set_new(remote, ends[i], json_text(url));
	}
}

static void take_branch(json_t *out, const char *key, const char *value)
{
	json_t *branches = json_object_get(out, "branches");
	cleanup_free char *push = middle(key, "branch", "pushremote");
	cleanup_free char *name = middle(key, "branch", "remote");

	if (json_object_size(branches) >= LIST_MAX)
		return;
	if (push)
		(void)json_object_set_new(branches, push, json_text(value));
	else if (streq(key, "remote.pushdefault"))
		(void)json_object_set_new(branches, "", json_text(value));
	else if (name && !json_object_get(branches, name))
		(void)json_object_set_new(branches, name, json_text(value));
}

static void take_entry(const struct repo *r, json_t *out, const git_config_entry *e)
{
	bool local = e->level >= GIT_CONFIG_LEVEL_LOCAL;
	const char *value = e->value ? e->value : "true";
	cleanup_free char *if_path = middle(e->name, "includeif", "path");
	cleanup_free char *path = NULL;

	if (if_path || streq(e->name, "include.path")) {
		path = home_path(value);
		if (!path)
			path = path_join(r->git.common, value);
		if (local)
			add_readable(out, path);
		return;
	}
	if (local && e->include_depth > 0)
		return;
	if (streq(e->name, "core.excludesfile")) {
		path = local ? NULL : home_path(value);
		if (path)
			(void)json_object_set_new(json_object_get(out, "settings"), e->name,
						  json_text(path));
		return;
	}
	if (is_kept(e->name))
		(void)json_object_set_new(json_object_get(out, "settings"), e->name,
					  json_text(value));
	take_remote(out, e->name, value);
	take_branch(out, e->name, value);
}

/* Adds git's default excludes file when the user has not set one. */
static void take_excludes(json_t *out)
{
	json_t *settings = json_object_get(out, "settings");
	const char *named = json_string_value(json_object_get(settings, "core.excludesfile"));
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	cleanup_free char *path = NULL;

	if (!named) {
		path = xdg && xdg[0] == '/' ? path_join(xdg, "git/ignore")
		       : home		    ? path_join(home, ".config/git/ignore")
					    : NULL;
		if (path)
			(void)json_object_set_new(settings, "core.excludesfile", json_text(path));
		named = path;
	}
	add_readable(out, named);
}

/* Alternates are followed recursively. */
static void take_alternates(json_t *out, const char *objects, json_t *lines, int depth)
{
	cleanup_fd int dir = open(objects, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = dir < 0 ? -1
				    : path_open_beneath(dir, "info/alternates",
							O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	cleanup_buf struct buf b;
	cleanup_strv struct strv found = {0};

	buf_init(&b, CONFIG_MAX);
	if (fd < 0 || fd_read_all(fd, &b) < 0)
		return;
	strv_split(&found, buf_str(&b), '\n');
	for (size_t i = 0; i < found.n && i < LIST_MAX; i++) {
		cleanup_free char *joined = path_join(objects, found.v[i]);
		cleanup_free char *real = realpath(joined, NULL);

		if (lines)
			(void)json_array_append_new(lines, json_text(found.v[i]));
		add_readable(out, real);
		if (real && depth < BORROWED_DEPTH)
			take_alternates(out, real, NULL, depth + 1);
	}
}

int repo_config_hash(const struct repo *r, char hex[REPO_OID_LEN + 1])
{
	cleanup_fd int dir = open(r->git.common, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf b;
	git_oid oid;

	buf_init(&b, CONFIG_MAX);
	hex[0] = '\0';
	if (dir < 0 || path_read(dir, "config", &b) < 0 ||
	    git_odb_hash(&oid, b.data ? b.data : "", b.len, GIT_OBJECT_BLOB) < 0)
		return -EIO;
	(void)git_oid_tostr(hex, REPO_OID_LEN + 1, &oid);
	return 0;
}

static int each_setting(const struct repo *r, git_config *config, json_t *out, struct err *err)
{
	git_config_iterator *it = NULL;
	git_config_entry *e;

	if (git_config_iterator_new(&it, config) < 0)
		return gitlib_err(err, "cannot read git's settings");
	while (git_config_next(&e, it) == 0)
		take_entry(r, out, e);
	git_config_iterator_free(it);
	return 0;
}

static int take_view(struct repo_job *j, json_t *out, struct err *err)
{
	const struct repo *r = j->repo;
	cleanup_git(repository) git_repository *git = NULL;
	cleanup_git(config) git_config *config = NULL;
	cleanup_free char *objects = path_join(r->git.common, "objects");
	char hash[REPO_OID_LEN + 1];
	int rc;

	/* Only this job reads the user's settings. */
	gitlib_start_open();
	if (git_repository_open_ext(&git, r->git.root, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0 ||
	    git_repository_config_snapshot(&config, git) < 0)
		return gitlib_err(err, r->git.root);
	(void)repo_config_hash(r, hash);
	(void)json_object_set_new(out, "version", json_integer(1));
	(void)json_object_set_new(out, "config", json_string(hash));
	(void)json_object_set_new(out, "settings", json_object());
	(void)json_object_set_new(out, "remotes", json_object());
	(void)json_object_set_new(out, "branches", json_object());
	(void)json_object_set_new(out, "alternates", json_array());
	(void)json_object_set_new(out, "readable", json_array());
	rc = each_setting(r, config, out, err);
	take_excludes(out);
	take_alternates(out, objects, json_object_get(out, "alternates"), 0);
	return rc;
}

int repo_view_take(struct repo *r, json_t **ret, struct err *err)
{
	const struct repo_task task = REPO_TASK(take_view, NULL, REPO_TASK_VIEW);
	cleanup_json json_t *view = NULL;
	int rc = repo_work(r, &task, &view, err);

	if (rc < 0)
		return rc;
	*ret = json_incref(view);
	return 0;
}

int repo_view_use(struct repo *r, const json_t *view, struct err *err)
{
	static const struct {
		const char *key;
		json_type type;
	} parts[] = {{"settings", JSON_OBJECT}, {"remotes", JSON_OBJECT},
		     {"branches", JSON_OBJECT}, {"alternates", JSON_ARRAY},
		     {"readable", JSON_ARRAY},	{"config", JSON_STRING}};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const json_t *part = json_object_get(view, parts[i].key);

		if (!part || json_typeof(part) != parts[i].type)
			return err_set(err, EINVAL, "the loop's view of the repository has no '%s'",
				       parts[i].key);
	}
	json_decref(r->view);
	r->view = json_deep_copy(view);
	return 0;
}

const json_t *repo_view_list(const struct repo *r, const char *key)
{
	return json_object_get(r->view, key);
}

const char *repo_view_setting(const struct repo *r, const char *key)
{
	return json_string_value(json_object_get(json_object_get(r->view, "settings"), key));
}

/* Writes a setting to the configuration file: a section, a key and a quoted value per line. */
static void put_setting(struct buf *b, const char *key, const char *value)
{
	const char *dot = strchr(key, '.');

	(void)buf_printf(b, "[%.*s]\n\t%s = \"", (int)(dot - key), key, dot + 1);
	for (const char *p = value; *p; p++) {
		if (*p == '\n')
			(void)buf_puts(b, "\\n");
		else if (*p == '"' || *p == '\\')
			(void)buf_printf(b, "\\%c", *p);
		else
			(void)buf_putc(b, *p);
	}
	(void)buf_puts(b, "\"\n");
}

static int neutral_settings(const struct repo *r, git_repository *git, git_config **ret,
			    struct err *err)
{
	static const char *const fixed[][2] = {
		{"core.bare", "false"}, {"core.protecthfs", "true"}, {"core.protectntfs", "true"}};
	char path[64];
	cleanup_buf struct buf b;
	int fd; /* stays open: libgit2 may read it again */

	buf_init(&b, CONFIG_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		put_setting(&b, fixed[i][0], fixed[i][1]);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const char *value = repo_view_setting(r, kept[i]);

		if (value)
			put_setting(&b, kept[i], value);
	}
	fd = b.full ? -E2BIG : fd_memfd("gitconfig", buf_str(&b), b.len);
	if (fd < 0)
		return err_sys(err, -fd, "cannot make settings");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (git_config_new(ret) < 0 ||
	    git_config_add_file_ondisk(*ret, path, GIT_CONFIG_LEVEL_LOCAL, git, 0) < 0)
		return gitlib_err(err, "cannot use the settings");
	return 0;
}

static bool is_dir(const char *said, const char *want)
{
	size_t n = strlen(want);

	return said && strncmp(said, want, n) == 0 && (streq(said + n, "/") || !said[n]);
}

int repo_open_git(const struct repo *r, git_repository **ret, struct err *err)
{
	cleanup_git(repository) git_repository *git = NULL;
	cleanup_git(config) git_config *config = NULL;
	cleanup_git(odb) git_odb *odb = NULL;
	int rc;

	if (git_repository_open_ext(&git, r->git.root, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0)
		return gitlib_err(err, r->git.root);
	if (!is_dir(git_repository_path(git), r->git.dir) ||
	    !is_dir(git_repository_commondir(git), r->git.common) ||
	    !is_dir(git_repository_workdir(git), r->git.root))
		return err_set(err, EXDEV,
			       "'%s': its git directory says that files or settings lie elsewhere",
			       r->git.root);
	rc = neutral_settings(r, git, &config, err);
	if (rc < 0)
		return rc;
	/* The commit graph is turned off: it repeats the content of commits, and the agent could
	 * forge it. */
	if (git_repository_set_config(git, config) < 0 || git_repository_odb(&odb, git) < 0 ||
	    git_odb_set_commit_graph(odb, NULL) < 0)
		return gitlib_err(err, r->git.root);
	*ret = take_ptr(git);
	return 0;
}
