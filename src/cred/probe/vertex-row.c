#include "cred/vertex.h"

#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/path.h"
#include "cred/probe/claude-env.h"
#include "cred/probe/provider-rows.h"
#include "cred/run.h"

#define LOGIN "gcloud auth application-default login"

/* The models of one publisher in the user's own project and region. */
#define MODELS "POST /v1/projects/{project}/locations/{region}/publishers/anthropic/models/"

static const char *const requests[] = {
	MODELS "count-tokens:rawPredict free",
	MODELS "*:rawPredict messages",
	MODELS "*:streamRawPredict messages",
	MODELS "** unknown",
	NULL,
};

static char *gcloud_dir(const struct cred_host *h)
{
	const char *set = cred_host_env(h, "CLOUDSDK_CONFIG");

	return set ? xstrdup(set) : cred_host_home(h, ".config/gcloud");
}

char *google_adc_path(const struct cred_host *h)
{
	const char *set = cred_host_env(h, "GOOGLE_APPLICATION_CREDENTIALS");
	cleanup_free char *dir = gcloud_dir(h);

	return set ? xstrdup(set) : path_join(dir, "application_default_credentials.json");
}

static bool exists(const char *path)
{
	cleanup_free char *real = NULL;
	struct err ignored = {0};

	return path_real(path, &real, &ignored) == 0;
}

/* A file that we renew ourselves; else gcloud, which knows all other kinds. */
static int find_source(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_(google_user_done) struct google_user u = {0};
	cleanup_free char *adc = google_adc_path(h), *dir = gcloud_dir(h);
	cleanup_free char *logins = path_join(dir, "credentials.db");
	cleanup_free char *gcloud = cred_find_program(h, "gcloud");
	int r = google_adc_read(h, adc, &u, &ret->warning, err);

	ret->renewable = true;
	if (r == 0) {
		ret->source = xasprintf("file:%s", adc);
		if (u.quota_project)
			strv_pushf(&ret->options, "quota_project=%s", u.quota_project);
		return 0;
	}
	if (r != -ENOENT)
		return r;
	if (!gcloud)
		return err_set(err, ENOENT,
			       "there is no login in '%s' that can be used without 'gcloud', and "
			       "no 'gcloud' on your PATH; install it and run: " LOGIN,
			       adc);
	if (exists(adc))
		ret->source = xstrdup("command:gcloud auth application-default print-access-token");
	else if (exists(logins))
		ret->source = xstrdup("command:gcloud auth print-access-token");
	else
		return err_set(err, ENOENT, "nobody is logged in to Google Cloud; run: " LOGIN);
	return 0;
}

static bool is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.:");

	return n > 0 && n <= 63 && s[n] == '\0' && s[0] != '.' && s[0] != '-';
}

/* The host of a region: most have their own, "global" none, "us" and "eu" another kind. */
static char *origin_of(const char *region)
{
	if (streq(region, "global"))
		return xstrdup("https://aiplatform.googleapis.com");
	if (streq(region, "us") || streq(region, "eu"))
		return xasprintf("https://aiplatform.%s.rep.googleapis.com", region);
	return xasprintf("https://%s-aiplatform.googleapis.com", region);
}

static int find_place(const struct claude_env *e, struct cred_ref *ret, struct err *err)
{
	static const char *const names[] = {"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT",
					    "GCLOUD_PROJECT"};
	const char *region = claude_env_get(e, "CLOUD_ML_REGION"), *project = NULL;

	for (size_t i = 0; !project && i < ARRAY_SIZE(names); i++)
		project = claude_env_get(e, names[i]);
	if (!project)
		return err_set(err, ENOENT, "no project is set; set ANTHROPIC_VERTEX_PROJECT_ID");
	if (!is_name(project))
		return err_set(err, EINVAL, "'%.60s' is no project of Google Cloud", project);
	if (!region)
		region = "us-east5"; /* Claude Code's own */
	if (!is_name(region) || strpbrk(region, ".:"))
		return err_set(err, EINVAL, "'%.60s' is no region of Google Cloud", region);
	strv_pushf(&ret->options, "project=%s", project);
	strv_pushf(&ret->options, "region=%s", region);
	ret->origin = origin_of(region);
	return 0;
}

static enum cred_probe probe(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_(claude_env_done) struct claude_env e;
	int r = claude_env_load(h, &e, err);

	if (r < 0)
		return CRED_UNUSABLE;
	if (!claude_env_on(&e, "CLAUDE_CODE_USE_VERTEX"))
		return CRED_MISSING;
	r = find_place(&e, ret, err);
	if (r == 0)
		r = find_source(h, ret, err);
	if (r == 0) {
		claude_env_models(&e, &ret->options);
		return CRED_FOUND;
	}
	(void)err_wrap(err, r, "Vertex AI is switched on by CLAUDE_CODE_USE_VERTEX");
	return CRED_UNUSABLE;
}

const struct cred_provider cred_vertex = {
	.name = "vertex",
	.ends = true,
	.service = "anthropic",
	.endpoint = "vertex",
	.phantom = "ralph-",
	.login = LOGIN,
	.requests = requests,
	.probe = probe,
};
