#include "cred/claude-env.h"

#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "cred/claude-file.h"

#define MANAGED "/etc/claude-code/managed-settings.json"

static int load_one(const char *path, json_t **ret, struct err *err)
{
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(path, &b, NULL, err);
	if (r == -ENOENT || (r == 0 && b.len == 0))
		return 0;
	if (r == 0)
		r = json_parse(buf_str(&b), b.len, ret, err);
	if (r == 0 && !json_is_object(*ret))
		r = err_set(err, EINVAL, "not an object");
	if (r < 0)
		return err_wrap(err, r, "the settings of Claude Code in '%s'", path);
	return 0;
}

int claude_env_load(const struct cred_host *h, struct claude_env *ret, struct err *err)
{
	cleanup_free char *dir = claude_dir(h), *own = path_join(dir, "settings.json");
	int r;

	*ret = (struct claude_env){.host = h};
	r = load_one(own, &ret->own, err);
	if (r == 0)
		r = load_one(MANAGED, &ret->managed, err);
	if (r < 0)
		claude_env_done(ret);
	return r;
}

void claude_env_done(struct claude_env *e)
{
	json_decref(e->own);
	json_decref(e->managed);
	*e = (struct claude_env){0};
}

const char *claude_env_get(const struct claude_env *e, const char *name)
{
	const json_t *const files[] = {e->own, e->managed};
	const char *v = cred_host_env(e->host, name);

	for (size_t i = 0; !v && i < ARRAY_SIZE(files); i++) {
		v = json_string_value(json_object_get(json_object_get(files[i], "env"), name));
		v = v && *v ? v : NULL;
	}
	return v;
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
	static const char *const models[][2] = {
		{"model", "ANTHROPIC_MODEL"},
		{"small_model", "ANTHROPIC_SMALL_FAST_MODEL"},
		{"opus_model", "ANTHROPIC_DEFAULT_OPUS_MODEL"},
		{"sonnet_model", "ANTHROPIC_DEFAULT_SONNET_MODEL"},
		{"haiku_model", "ANTHROPIC_DEFAULT_HAIKU_MODEL"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		const char *v = claude_env_get(e, models[i][1]);

		if (v)
			strv_pushf(options, "%s=%s", models[i][0], v);
	}
}
