#include "compose/gitconfig-env.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "engine/engine.h"
#include "policy/gitconfig.h"

#define SETTINGS_MAX (256 * KiB) /* of .gitmodules and of config */
#define SUBMODULES_MAX 128
#define IGNORE_FILE "/run/ralph/gitignore"

struct overlay {
	struct sandbox_spec *spec;
	const char *config; /* the repository's own settings */
	size_t config_len;
	const char *base; /* the URL that relative URLs start from */
	unsigned n;
};

static int read_settings(const char *dir, const char *name, struct buf *b)
{
	cleanup_fd int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
		root < 0 ? -ENOENT : path_open_beneath(root, name, O_RDONLY | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	return fd_read_all(fd, b);
}

static void put(struct overlay *o, const char *key, const char *value)
{
	cleanup_free char *k = xasprintf("GIT_CONFIG_KEY_%u", o->n);
	cleanup_free char *v = xasprintf("GIT_CONFIG_VALUE_%u", o->n);

	spec_env_set(o->spec, k, key, SPEC_SET, "ralph");
	spec_env_set(o->spec, v, value, SPEC_SET, "ralph");
	o->n++;
}

/* "../lib.git" next to where the repository came from, as git resolves it. */
static char *absolute_url(const char *base, const char *url)
{
	cleanup_free char *head = xstrdup(base);

	while (url[0] == '.') {
		char *cut;

		if (strncmp(url, "./", 2) == 0) {
			url += 2;
			continue;
		}
		if (strncmp(url, "../", 3) != 0)
			break;
		url += 3;
		cut = strrchr(head, '/');
		if (!cut)
			cut = strrchr(head, ':');
		if (!cut)
			return NULL;
		*cut = '\0';
	}
	return xasprintf("%s/%s", head, url);
}

struct known {
	const char *name;
	bool url;
};

static bool is_registered(const struct gitconfig_entry *e, void *arg)
{
	const struct known *k = arg;

	return streq(e->section, "submodule") && e->sub && streq(e->sub, k->name) &&
	       streq(e->key, "url");
}

static bool add_submodule(const struct gitconfig_entry *e, void *arg)
{
	struct overlay *o = arg;
	struct known k = {.name = e->sub};
	cleanup_free char *key = NULL, *url = NULL;

	if (!streq(e->section, "submodule") || !e->sub || !streq(e->key, "url") || !e->value)
		return false;
	/* git validates the URL. A value that begins like an option is not a URL. */
	if (e->value[0] == '-' || strchr(e->sub, '\n') ||
	    gitconfig_each(o->config, o->config_len, is_registered, &k) == 1)
		return false;
	url = e->value[0] == '.' ? absolute_url(o->base, e->value) : xstrdup(e->value);
	if (!url)
		return false;
	key = xasprintf("submodule.%s.url", e->sub);
	put(o, key, url);
	return o->n >= SUBMODULES_MAX;
}

/* A name as a line of .gitignore that means nothing but itself. */
static void put_ignored(struct buf *b, const char *rel)
{
	(void)buf_putc(b, '/');
	for (; *rel; rel++) {
		if (strchr("*?[]\\! #", *rel))
			(void)buf_putc(b, '\\');
		(void)buf_putc(b, *rel);
	}
	(void)buf_putc(b, '\n');
}

/* A hidden file is not a regular file inside, and git would fail on it, so git ignores it. */
static void ignore_hidden(struct overlay *o)
{
	struct sandbox_spec *s = o->spec;
	size_t n = s->n_mounts;
	cleanup_buf struct buf b;
	struct spec_mount *m;

	buf_init(&b, SETTINGS_MAX);
	for (size_t i = 0; i < n; i++)
		if (s->mounts[i].kind == SPEC_HIDE &&
		    path_under(s->mounts[i].target, s->workspace) &&
		    !strchr(s->mounts[i].target, '\n'))
			put_ignored(&b, s->mounts[i].target + strlen(s->workspace) + 1);
	if (b.len == 0 || b.full)
		return;
	m = spec_mount_add(s, SPEC_FILE, NULL, IGNORE_FILE, "git ignores what is hidden");
	m->data = buf_take(&b);
	m->mode = 0444;
	m->of_tree = true;
	put(o, "core.excludesFile", IGNORE_FILE);
}

struct origin {
	char *url;
};

static bool take_origin(const struct gitconfig_entry *e, void *arg)
{
	struct origin *o = arg;

	if (!streq(e->section, "remote") || !e->sub || !streq(e->sub, "origin") ||
	    !streq(e->key, "url") || !e->value)
		return false;
	o->url = xstrdup(e->value);
	return true;
}

void gitconfig_env(struct sandbox_spec *s, const struct gitdir *git)
{
	struct overlay o = {.spec = s};
	struct origin origin = {0};
	cleanup_buf struct buf config, modules;
	cleanup_free char *count = NULL;

	buf_init(&config, SETTINGS_MAX);
	buf_init(&modules, SETTINGS_MAX);
	if (!git->root || spec_env_find(s, "GIT_CONFIG_COUNT"))
		return;
	put(&o, "repack.updateServerInfo", "false");
	/* Another kernel numbers files by itself: an index of one side would be stale on the other. */
	if (engine_has(s->engine, ENGINE_OWN_KERNEL))
		put(&o, "core.checkStat", "minimal");
	ignore_hidden(&o);
	/* Where the settings of the repository cannot be written: submodules are not in them. */
	if (!s->git.private && streq(git->root, s->workspace) &&
	    read_settings(s->workspace, ".gitmodules", &modules) == 0) {
		(void)read_settings(git->common, "config", &config);
		o.config = buf_str(&config);
		o.config_len = config.len;
		(void)gitconfig_each(o.config, o.config_len, take_origin, &origin);
		o.base = origin.url ? origin.url : s->workspace;
		(void)gitconfig_each(buf_str(&modules), modules.len, add_submodule, &o);
	}
	count = xasprintf("%u", o.n);
	spec_env_set(s, "GIT_CONFIG_COUNT", count, SPEC_SET, "ralph");
	free(origin.url);
}
