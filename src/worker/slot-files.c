/* What a task's loop finds: a home without anything in it, settings, the list, the request. */
#include "worker/node.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"

#define PEM_MAX (1 * MiB)
#define LIMIT_MAX_MS ((uint64_t)8 * 24 * 3600 * 1000)

/* Of the environment of this worker, besides what is the task's own. */
static const char *const passed[] = {"PATH",	      "LANG",	       "LC_ALL",      "TZ",
				     "RALPH_LIBEXEC", "SSL_CERT_FILE", "SSL_CERT_DIR"};
static const char *const proxies[] = {PROXY_ENV, ALL_PROXY_ENV, NO_PROXY_ENV};

static int write_file(const struct slot *s, const char *name, const char *text, struct err *err)
{
	int r = path_write_atomic(s->root, name, text, strlen(text), 0600, 0);

	return r < 0 ? err_sys(err, -r, "cannot write '%s/%s'", s->dir, name) : 0;
}

static int write_json(const struct slot *s, const char *name, const json_t *j, struct err *err)
{
	cleanup_free char *text = json_dumps(j, JSON_INDENT(1));

	return text ? write_file(s, name, text, err) : err_set(err, EINVAL, "%s: no JSON", name);
}

bool slot_row_dials_home(const json_t *row)
{
	const char *dial = json_string_value(json_object_get(row, "dial"));

	return dial && streq(dial, "home");
}

/* The key is used at home: requests with this credential go to home's gateway, through a tunnel. */
static int lead_home(const struct slot *s, json_t *row, struct err *err)
{
	const char *endpoint = NULL;
	cleanup_free char *origin = NULL;
	int r = json_get_str(row, "endpoint", &endpoint, err);

	if (r < 0 || !s->tunnels)
		return r < 0 ? r : -EINVAL;
	origin =
		xasprintf("http://127.0.0.1:%u/_ralph/%s", tunnels_endpoints(s->tunnels), endpoint);
	(void)json_object_set_new(row, "origin", json_text(origin));
	(void)json_object_set_new(row, "private", json_true());
	return 0;
}

/* A row's trust travels as text: home's file is not here. */
static int write_trust(const struct slot *s, json_t *row, size_t i, struct err *err)
{
	cleanup_free char *name = xasprintf("ca-%zu.pem", i), *path = path_join(s->dir, name);
	const char *pem = NULL;
	int r = slot_row_dials_home(row) ? lead_home(s, row, err) : 0;

	if (r == 0)
		r = json_opt_str(row, "ca", &pem, err);
	(void)json_object_del(row, "ca_file");
	(void)json_object_del(row, "source");
	if (r < 0 || !pem)
		return r;
	if (strlen(pem) > PEM_MAX)
		return err_set(err, E2BIG, "the certificates of a credential are too long");
	(void)json_object_set_new(row, "ca_file", json_text(path));
	return write_file(s, name, pem, err);
}

/* The rows of the task become a file of this slot's: the loop gets them with its request. */
static int write_credentials(const struct slot *s, struct err *err)
{
	json_t *row;
	size_t i;
	int r = 0;

	json_array_foreach ((json_t *)(uintptr_t)s->task.credentials, i, row)
		if (r == 0)
			r = json_is_object(row) ? write_trust(s, row, i, err)
						: err_set(err, EPROTO, "a credential is no object");
	return r;
}

int slot_files_make(struct slot *s, struct err *err)
{
	static const char *const dirs[] = {"home", "r", "list", "none"};
	const struct fleet_task *t = &s->task;
	int r = 0;

	/* The last task of this slot may still be cleared away. */
	s->dir = xasprintf("%s/%u", s->n->dir, s->n->tasks++);
	s->workspace = path_join(s->dir, "ws");
	if (mkdir(s->dir, 0700) < 0)
		return err_sys(err, errno, "cannot make '%s'", s->dir);
	s->root = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->root < 0)
		return err_sys(err, errno, "cannot open '%s'", s->dir);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(s->root, dirs[i], 0700) < 0)
			return err_sys(err, errno, "cannot make '%s/%s'", s->dir, dirs[i]);
	r = write_json(s, "list/prd.json", t->list, err);
	if (r == 0)
		r = write_file(s, "config.yaml", t->config, err);
	if (r == 0 && t->prompt)
		r = write_file(s, "prompt.md", t->prompt, err);
	if (r == 0)
		r = write_credentials(s, err);
	return r;
}

static void set_path(const struct slot *s, json_t *doc, const char *key, const char *name)
{
	cleanup_free char *path = path_join(s->dir, name);

	(void)json_object_set_new(doc, key, json_text(path));
}

/* The only settings are those of the task. The project's own file was judged at home. */
static json_t *settings_of(const struct slot *s)
{
	json_t *j =
		json_pack("{sO sb si}", "flags", s->task.flags, "trusted", 0, "memory_share", 0);

	set_path(s, j, "user", "config.yaml");
	set_path(s, j, "profiles", "none");
	set_path(s, j, "shipped", "none");
	set_path(s, j, "project", "none/config.yaml");
	return j;
}

int slot_request(const struct slot *s, int *ret_fd, struct err *err)
{
	static const char *const not_ours[] = {"kept_mode", "sandbox", "parent", "tested",
					       "prompt"};
	cleanup_json json_t *doc = json_deep_copy(s->task.request);
	cleanup_free char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(not_ours); i++)
		(void)json_object_del(doc, not_ours[i]);
	(void)json_object_set_new(doc, "mode", json_string("build"));
	(void)json_object_set_new(doc, "workspace", json_text(s->workspace));
	set_path(s, doc, "tasks", "list/prd.json");
	if (s->task.prompt)
		set_path(s, doc, "prompt", "prompt.md");
	(void)json_object_set_new(doc, "branch", json_text(s->task.branch));
	(void)json_object_set_new(doc, "base", json_text(s->task.base));
	(void)json_object_set_new(doc, "settings", settings_of(s));
	(void)json_object_set_new(doc, "credentials", json_deep_copy(s->task.credentials));
	set_path(s, doc, "cred_line", "line");
	set_path(s, doc, "limit", "limit");
	(void)json_object_set_new(doc, "parallel", json_integer(1));
	(void)json_object_set_new(doc, "json", json_true());
	(void)json_object_set_new(doc, "placed", json_true());
	(void)json_object_set_new(doc, "home_line", json_integer(people_theirs(s->people)));
	/* What runs without a sandbox runs with this machine's user: no task asks for that. */
	(void)json_object_set_new(doc, "direct", json_false());
	(void)json_object_set_new(doc, "color", json_false());
	(void)json_object_set_new(doc, "stash", json_false());
	(void)json_object_set_new(doc, "worktree", json_false());
	(void)json_object_set_new(doc, "push", json_false());
	if (!json_is_array(json_object_get(doc, "command")))
		(void)json_object_set_new(doc, "command", json_array());
	if (!json_object_get(doc, "no_wait"))
		(void)json_object_set_new(doc, "no_wait", json_false());
	text = json_dumps(doc, JSON_COMPACT);
	*ret_fd = text ? fd_memfd("request", text, strlen(text)) : -EINVAL;
	return *ret_fd < 0 ? err_sys(err, -*ret_fd, "cannot make a request") : 0;
}

int slot_limit(const struct slot *s, uint64_t for_ms)
{
	uint64_t at = now_ms() + (for_ms < LIMIT_MAX_MS ? for_ms : LIMIT_MAX_MS);
	cleanup_free char *text = xasprintf("%llu", (unsigned long long)at);

	return path_write_atomic(s->root, "limit", text, strlen(text), 0600, 0);
}

static void pass(struct strv *ret, const char *name)
{
	const char *value = getenv(name);

	if (value)
		strv_pushf(ret, "%s=%s", name, value);
}

void slot_environ(const struct slot *s, struct strv *ret)
{
	const char *url = s->tunnels ? tunnels_url(s->tunnels) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		pass(ret, passed[i]);
	for (size_t i = 0; i < ARRAY_SIZE(proxies) && !url; i++)
		pass(ret, proxies[i]);
	if (url) {
		strv_pushf(ret, "https_proxy=%s", url);
		strv_pushf(ret, "http_proxy=%s", url);
	}
	strv_pushf(ret, "HOME=%s/home", s->dir);
	strv_pushf(ret, "XDG_RUNTIME_DIR=%s/r", s->dir);
	strv_push(ret, "USER=agent");
}
