#include "cred/probe/claude-env.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "cred/claude-file.h"

#define MANAGED "/etc/claude-code/managed-settings.json"

static const char *const models[][2] = {
	{"model", "ANTHROPIC_MODEL"},
	{"small_model", "ANTHROPIC_SMALL_FAST_MODEL"},
	{"opus_model", "ANTHROPIC_DEFAULT_OPUS_MODEL"},
	{"sonnet_model", "ANTHROPIC_DEFAULT_SONNET_MODEL"},
	{"haiku_model", "ANTHROPIC_DEFAULT_HAIKU_MODEL"},
};

char *claude_dir(const struct cred_host *h)
{
	const char *own = cred_host_env(h, "CLAUDE_CONFIG_DIR");

	return own && own[0] == '/' ? xstrdup(own) : cred_host_home(h, ".claude");
}

static int parse(const struct buf *b, const char *path, json_t **ret, struct err *err)
{
	int r;

	if (b->len == 0)
		return 0;
	r = json_parse(b->data, b->len, ret, err);
	if (r == 0 && !json_is_object(*ret))
		r = err_set(err, EINVAL, "not an object");
	return r < 0 ? err_wrap(err, r, "the settings of Claude Code in '%s'", path) : 0;
}

static int load_one(const char *path, json_t **ret, struct err *err)
{
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(NULL, path, &b, NULL, err);
	if (r < 0 && r != -ENOENT)
		return err_wrap(err, r, "the settings of Claude Code in '%s'", path);
	return r == -ENOENT ? 0 : parse(&b, path, ret, err);
}

/* No link of the project's is followed. */
static int load_beneath(const char *project, const char *name, json_t **ret, struct err *err)
{
	cleanup_fd int dir = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
		dir < 0 ? -ENOENT : path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK, 0);
	struct buf b;
	struct stat st;
	int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	buf_init(&b, CRED_FILE_MAX);
	if (r == 0)
		r = fd_read_all(fd, &b);
	r = r < 0 ? err_sys(err, -r, "cannot read '%s' of the project", name)
		  : parse(&b, name, ret, err);
	buf_done(&b);
	return r;
}

int claude_env_load(const struct cred_host *h, struct claude_env *ret, struct err *err)
{
	cleanup_free char *dir = claude_dir(h), *own = path_join(dir, "settings.json");
	int r = 0;

	*ret = (struct claude_env){.host = h};
	if (h->project)
		r = load_beneath(h->project, ".claude/settings.local.json", &ret->local, err);
	if (r == 0 && h->project)
		r = load_beneath(h->project, ".claude/settings.json", &ret->project, err);
	if (r == 0)
		r = load_one(own, &ret->own, err);
	if (r == 0)
		r = load_one(MANAGED, &ret->managed, err);
	if (r < 0)
		claude_env_done(ret);
	return r;
}

void claude_env_done(struct claude_env *e)
{
	json_decref(e->local);
	json_decref(e->project);
	json_decref(e->own);
	json_decref(e->managed);
	*e = (struct claude_env){0};
}

static const char *set_in(const json_t *file, const char *name)
{
	const char *v = json_string_value(json_object_get(json_object_get(file, "env"), name));

	return v && *v ? v : NULL;
}

static bool is_projects_to_say(const char *name)
{
	static const char *const names[] = {"CLAUDE_CODE_USE_BEDROCK", "AWS_REGION",
					    "AWS_DEFAULT_REGION"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (streq(name, models[i][1]))
			return true;
	return false;
}

const char *claude_env_of_project(const struct claude_env *e, const char *name)
{
	const char *v = set_in(e->local, name);

	return v ? v : set_in(e->project, name);
}

const char *claude_env_get(const struct claude_env *e, const char *name)
{
	const char *v = cred_host_env(e->host, name);

	if (!v && is_projects_to_say(name))
		v = claude_env_of_project(e, name);
	if (!v)
		v = set_in(e->own, name);
	return v ? v : set_in(e->managed, name);
}

bool claude_env_on(const struct claude_env *e, const char *name)
{
	static const char *const yes[] = {"1", "true", "yes", "on"};
	const char *v = claude_env_get(e, name);

	for (size_t i = 0; v && i < ARRAY_SIZE(yes); i++)
		if (strcasecmp(v, yes[i]) == 0)
			return true;
	return false;
}

void claude_env_models(const struct claude_env *e, struct strv *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		const char *v = claude_env_get(e, models[i][1]);

		if (v)
			strv_pushf(options, "%s=%s", models[i][0], v);
	}
}
