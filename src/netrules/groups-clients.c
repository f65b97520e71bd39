#include "netrules/groups-clients.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/proc.h"
#include "policy/host.h"

#define FILE_MAX (1 * MiB)
#define OUTPUT_MAX (64 * KiB)
#define ASK_MS 2000
#define BLANKS " \t\r"

void groups_add_url(struct strv *ret, const char *url)
{
	const char *sep = strstr(url, "://"), *auth, *at;
	char text[HOST_PORT_TEXT_SIZE];
	struct host h;
	struct err ignored;
	uint16_t port;
	size_t n;
	bool http;

	if (!sep || strncmp(url, "file:", 5) == 0)
		return;
	http = sep - url >= 4 && strncmp(sep - 4, "http", 4) == 0;
	auth = sep + 3;
	n = strcspn(auth, "/?#" BLANKS "\"'\n,|");
	at = memrchr(auth, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - auth);
		auth = at + 1;
	}
	if (host_parse_authority(auth, n, http ? 80 : 443, &h, &port, &ignored) < 0)
		return;
	host_format(&h, port, text);
	if ((port == 80 || port == 443) && h.kind != HOST_IP6)
		(void)memcpy(text, h.name, (size_t)h.len + 1);
	if (!strv_has(ret, text))
		strv_push(ret, text);
}

/* All URLs of a text, whatever separates them. */
static void add_urls(struct strv *ret, const char *text)
{
	const char *sep;

	while ((sep = strstr(text, "://"))) {
		const char *start = sep;

		while (start > text && !strchr(BLANKS "\"'\n,|=([", start[-1]))
			start--;
		groups_add_url(ret, start);
		text = sep + 3;
	}
}

static const char *get(const struct groups_env *env, const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = env->environ; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=' && (*e)[n + 1])
			return *e + n + 1;
	return NULL;
}

static bool in_workspace(const struct groups_env *env, const char *path)
{
	cleanup_free char *real = NULL;
	struct err ignored;

	if (!env->workspace)
		return false;
	return path_under(path, env->workspace) || path_real(path, &real, &ignored) < 0 ||
	       path_under(real, env->workspace);
}

/* The file's text, or NULL: absent, unreadable, too large, or the agent's to write. */
static char *slurp(const struct groups_env *env, const char *path)
{
	cleanup_buf struct buf b;

	buf_init(&b, FILE_MAX);
	if (path[0] != '/' || in_workspace(env, path) || path_read(AT_FDCWD, path, &b) < 0)
		return NULL;
	return xstrdup(buf_str(&b));
}

static char *home_file(const struct groups_env *env, const char *dir_var, const char *dir,
		       const char *file)
{
	const char *var = dir_var ? get(env, dir_var) : NULL, *home = get(env, "HOME");

	if (var)
		return path_join(var, file);
	return xasprintf("%s/%s/%s", home ? home : "/nonexistent", dir, file);
}

static char *etc_file(const struct groups_env *env, const char *file)
{
	return xasprintf("%s/etc/%s", env->root ? env->root : "", file);
}

/* Compares the key of a "key = value" line. `tail` also accepts a longer key that ends with ':' and
 * this one ('@scope:registry'). */
static bool key_is(const char *line, size_t n, const char *key, bool tail)
{
	size_t key_n = strlen(key);

	if (n < key_n || memcmp(line + n - key_n, key, key_n) != 0)
		return false;
	return n == key_n || (tail && line[n - key_n - 1] == ':');
}

/* Adds the URLs of a key's lines. A value continues on indented lines. Returns true when the key
 * itself had a URL, as opposed to a longer key that ends with it. */
static bool scan(struct strv *ret, const char *text, const char *key, bool tail)
{
	bool in_value = false, exact = false, any = false;

	while (*text) {
		size_t n = strcspn(text, "\n"), indent = strspn(text, BLANKS);
		cleanup_free char *line = xstrndup(text, n);
		size_t key_n = strcspn(line + indent, "=:" BLANKS);
		char *eq = strchr(line, '=');

		text += n + (text[n] == '\n');
		if (strchr("#;", line[indent]))
			continue;
		if (tail && eq)
			key_n = strcspn(line + indent, "=" BLANKS);
		if (eq || indent == 0) {
			in_value = key_is(line + indent, key_n, key, tail);
			exact = key_n == strlen(key);
		}
		if (!in_value)
			continue;
		any |= exact && strstr(line, "://");
		add_urls(ret, line);
	}
	return any;
}

static bool scan_file(const struct groups_env *env, struct strv *ret, char *path, const char *key,
		      bool tail)
{
	cleanup_free char *owned = path, *text = slurp(env, owned);

	return text && scan(ret, text, key, tail);
}

/* PATH without relative directories and without the workspace's. */
static char *safe_path(const struct groups_env *env)
{
	cleanup_strv struct strv dirs = {0};
	cleanup_buf struct buf b;
	const char *path = get(env, "PATH");

	buf_init(&b, 64 * KiB);
	strv_split(&dirs, path ? path : "/usr/bin:/bin", ':');
	for (size_t i = 0; i < dirs.n; i++)
		if (dirs.v[i][0] == '/' && !in_workspace(env, dirs.v[i]))
			(void)buf_printf(&b, "%s%s", b.len ? ":" : "", dirs.v[i]);
	return xstrdup(buf_str(&b));
}

static char *find_program(const struct groups_env *env, const char *path, const char *name)
{
	cleanup_strv struct strv dirs = {0};

	strv_split(&dirs, path, ':');
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *file = path_join(dirs.v[i], name);

		if (faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0 && !in_workspace(env, file))
			return take_ptr(file);
	}
	return NULL;
}

/* The client's own answer, or NULL when there is none to be had. args: up to three. */
static char *ask(const struct groups_env *env, const char *name, const char *a, const char *b,
		 const char *c)
{
	cleanup_free char *path = safe_path(env), *file = find_program(env, path, name);
	cleanup_free char *out = NULL;
	cleanup_strv struct strv argv = {0}, vars = {0};
	const char *home = get(env, "HOME"), *args[] = {a, b, c};
	struct err ignored;
	int code;

	if (!file)
		return NULL;
	strv_push(&argv, file);
	for (size_t i = 0; i < ARRAY_SIZE(args) && args[i]; i++)
		strv_push(&argv, args[i]);
	strv_env_set(&vars, "PATH", path);
	strv_env_set(&vars, "HOME", home ? home : "/");
	strv_env_set(&vars, "GOTOOLCHAIN", "local");
	strv_env_set(&vars, "COLUMNS", "200");
	if (run_capture_in("/", argv.v, vars.v, ASK_MS, OUTPUT_MAX, &out, &code, &ignored) < 0 ||
	    code != 0)
		return NULL;
	return take_ptr(out);
}

static bool add_variable(const struct groups_env *env, struct strv *ret, const char *name)
{
	const char *value = get(env, name);

	if (value)
		add_urls(ret, value);
	return value != NULL;
}

int groups_read_npm(const struct groups_env *env, struct strv *ret, struct err *err)
{
	const char *user = get(env, "NPM_CONFIG_USERCONFIG");
	bool any = add_variable(env, ret, "NPM_CONFIG_REGISTRY");
	cleanup_free char *answer = NULL;

	any |= add_variable(env, ret, "npm_config_registry");
	any |= scan_file(env, ret, user ? xstrdup(user) : home_file(env, NULL, ".", ".npmrc"),
			 "registry", true);
	any |= scan_file(env, ret, etc_file(env, "npmrc"), "registry", true);
	if (any)
		return 0;
	answer = ask(env, "npm", "config", "get", "registry");
	if (answer)
		add_urls(ret, answer);
	return 0;
}

/* pip has no command that prints its built-in index; its help text names it as a default. */
static void ask_pip(const struct groups_env *env, struct strv *ret)
{
	cleanup_free char *help = ask(env, "pip", "install", "--help", NULL);
	const char *option, *url;

	if (!help)
		help = ask(env, "pip3", "install", "--help", NULL);
	option = help ? strstr(help, "--index-url") : NULL;
	option = option ? strstr(option, "(default") : NULL;
	url = option ? strstr(option, "http") : NULL;
	if (url)
		groups_add_url(ret, url);
}

int groups_read_pip(const struct groups_env *env, struct strv *ret, struct err *err)
{
	const char *named = get(env, "PIP_CONFIG_FILE");
	bool any = add_variable(env, ret, "PIP_INDEX_URL");
	char *files[] = {
		named ? xstrdup(named) : xstrdup("/nonexistent"),
		home_file(env, "XDG_CONFIG_HOME", ".config", "pip/pip.conf"),
		home_file(env, NULL, ".pip", "pip.conf"),
		etc_file(env, "pip.conf"),
	};

	(void)add_variable(env, ret, "PIP_EXTRA_INDEX_URL");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		(void)scan_file(env, ret, xstrdup(files[i]), "extra-index-url", false);
		any |= scan_file(env, ret, files[i], "index-url", false);
	}
	if (!any)
		ask_pip(env, ret);
	return 0;
}

int groups_read_cargo(const struct groups_env *env, struct strv *ret, struct err *err)
{
	static const char *const names[] = {"config.toml", "config"};
	static const char *const keys[] = {"registry", "index"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			(void)scan_file(env, ret, home_file(env, "CARGO_HOME", ".cargo", names[i]),
					keys[k], false);
	return 0;
}

int groups_read_go(const struct groups_env *env, struct strv *ret, struct err *err)
{
	cleanup_free char *answer = NULL;

	if (add_variable(env, ret, "GOPROXY") ||
	    scan_file(env, ret, home_file(env, "XDG_CONFIG_HOME", ".config", "go/env"), "GOPROXY",
		      false))
		return 0;
	answer = ask(env, "go", "env", "GOPROXY", NULL);
	if (answer)
		add_urls(ret, answer);
	return 0;
}

/* "deb [options] URI suite …", one per line. */
static void scan_list(struct strv *ret, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		cleanup_free char *line = xstrndup(text, n);
		const char *s = line + strspn(line, BLANKS);

		text += n + (text[n] == '\n');
		if (strncmp(s, "deb ", 4) == 0 || strncmp(s, "deb\t", 4) == 0 ||
		    strncmp(s, "deb-src", 7) == 0)
			add_urls(ret, s);
	}
}

/* deb822: "URIs:" and the lines that continue it. */
static void scan_sources(struct strv *ret, const char *text)
{
	bool in_uris = false;

	while (*text) {
		size_t n = strcspn(text, "\n");
		cleanup_free char *line = xstrndup(text, n);

		text += n + (text[n] == '\n');
		if (line[0] == '#')
			continue;
		if (!strchr(BLANKS, line[0]) || line[0] == '\0')
			in_uris = strncasecmp(line, "URIs:", 5) == 0;
		if (in_uris)
			add_urls(ret, line);
	}
}

static void read_apt_file(const struct groups_env *env, struct strv *ret, const char *path)
{
	cleanup_free char *text = slurp(env, path);
	const char *dot = strrchr(path, '.');

	if (text && dot && streq(dot, ".list"))
		scan_list(ret, text);
	else if (text && dot && streq(dot, ".sources"))
		scan_sources(ret, text);
}

int groups_read_apt(const struct groups_env *env, struct strv *ret, struct err *err)
{
	cleanup_free char *list = etc_file(env, "apt/sources.list");
	cleanup_free char *parts = etc_file(env, "apt/sources.list.d");
	DIR *dir = opendir(parts);
	struct dirent *d;

	read_apt_file(env, ret, list);
	while (dir && (d = readdir(dir))) {
		cleanup_free char *file = path_join(parts, d->d_name);

		read_apt_file(env, ret, file);
	}
	if (dir)
		(void)closedir(dir);
	return 0;
}
