#include "cred/bearer.h"

#include <string.h>

#include "cred/probe/provider-rows.h"
#include "cred/run.h"

#define GH_MS (30 * 1000)

static const char *const nothing[] = {NULL};

/* gh asks no network for it, and prefers the same variables. */
static enum cred_probe probe_github(const struct cred_host *h, struct cred_ref *ret,
				    struct err *err)
{
	static const char *const names[] = {"GH_TOKEN", "GITHUB_TOKEN"};
	char *argv[] = {(char *)"gh", (char *)"auth", (char *)"token", NULL};
	cleanup_free char *gh = cred_find_program(h, "gh");
	cleanup_secret char *token = NULL;
	int code = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!cred_host_env(h, names[i]))
			continue;
		ret->source = xasprintf("env:%s", names[i]);
		return CRED_FOUND;
	}
	if (!gh)
		return CRED_MISSING;
	if (cred_run(h, argv, NULL, GH_MS, &token, &code, err) < 0)
		return CRED_UNUSABLE;
	if (code != 0 || !*token) {
		(void)err_set(err, ENOENT, "gh has no token for github.com; run: gh auth login");
		return CRED_UNUSABLE;
	}
	ret->source = xstrdup("command:gh auth token");
	return CRED_FOUND;
}

static char *npmrc_path(const struct cred_host *h)
{
	static const char *const names[] = {"NPM_CONFIG_USERCONFIG", "npm_config_userconfig"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *set = cred_host_env(h, names[i]);

		if (set)
			return xstrdup(set);
	}
	return cred_host_home(h, ".npmrc");
}

static enum cred_probe probe_npm(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_free char *path = npmrc_path(h);
	cleanup_secret char *token = NULL;
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(h, path, &b, &ret->warning, err);
	if (r < 0)
		return r == -ENOENT ? CRED_MISSING : CRED_UNUSABLE;
	token = npmrc_token(h, buf_str(&b), NULL, 0);
	if (!token)
		return CRED_MISSING;
	ret->source = xasprintf("file:%s", path);
	return CRED_FOUND;
}

/* A bearer credential exists only if the user names it: the host has no place to look for it. */
static enum cred_probe probe_nothing(const struct cred_host *h, struct cred_ref *ret,
				     struct err *err)
{
	return CRED_MISSING;
}

/* Checks a source that the user named, as far as that needs no command run. */
static enum cred_probe check_source(const struct cred_host *h, const char *name, const char *source,
				    struct cred_ref *ret, struct err *err)
{
	const char *at = cred_source_is(source, "env");
	cleanup_(cred_wipe) struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	if (at && !cred_host_env(h, at)) {
		(void)err_set(err, ENOENT, "the credential '%s': %s is not set; set it", name, at);
		return CRED_UNUSABLE;
	}
	at = cred_source_is(source, "file");
	if (!at)
		return CRED_FOUND;
	r = cred_read_file(h, at, &b, &ret->warning, err);
	if (r == 0 && b.len == 0)
		r = err_set(err, EINVAL, "'%s' is empty; write the token into it", at);
	if (r == -ENOENT)
		r = err_set(err, ENOENT, "'%s' is not there; write the token into it", at);
	if (r == 0)
		return CRED_FOUND;
	(void)err_wrap(err, r, "the credential '%s'", name);
	return CRED_UNUSABLE;
}

static const struct cred_provider *row_of(const char *name)
{
	static const struct cred_provider *const rows[] = {&cred_github, &cred_npm};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (streq(rows[i]->service, name))
			return rows[i];
	return NULL;
}

enum cred_probe cred_named(const struct cred_host *h, const char *name, const char *source,
			   struct cred_ref *ret, struct err *err)
{
	const struct cred_provider *row = row_of(name);
	struct cred_ref ref;
	enum cred_probe found;

	cred_ref_init(&ref);
	if (source) {
		/* A file of npm's own form is npm's to read; another one holds the token alone. */
		row = row == &cred_npm || !row ? &cred_bearer : row;
		found = check_source(h, name, source, &ref, err);
		ref.source = xstrdup(source);
	} else if (row) {
		found = row->probe(h, &ref, err);
		if (found == CRED_MISSING)
			(void)err_set(err, ENOENT, "the host has no credential '%s'; run: %s", name,
				      row->login);
	} else {
		(void)err_set(err, ENOENT,
			      "no credential is called '%s'; name its source: credentials: "
			      "[{name: %s, source: 'command:…'}]",
			      name, name);
		found = CRED_MISSING;
	}
	if (found != CRED_FOUND) {
		cred_ref_done(&ref);
		return found;
	}
	ref.provider = row;
	ref.name = xstrdup(name);
	ref.origin = row->origin ? xstrdup(row->origin) : NULL;
	cred_ref_done(ret);
	*ret = ref;
	return CRED_FOUND;
}

const struct cred_provider cred_github = {
	.name = "github",
	.service = "github",
	.phantom = "ghp_",
	.placeholder = "GH_TOKEN",
	.login = "gh auth login",
	.requests = nothing,
	.probe = probe_github,
};

const struct cred_provider cred_npm = {
	.name = "npm",
	.service = "npm",
	.phantom = "npm_",
	.login = "npm login",
	.requests = nothing,
	.probe = probe_npm,
};

const struct cred_provider cred_bearer = {
	.name = "bearer",
	.service = "bearer",
	.phantom = "ralph-",
	.login = "the command of its source",
	.requests = nothing,
	.probe = probe_nothing,
};
