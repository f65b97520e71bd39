#include "cred/aws.h"

#include <string.h>

#include "cred/probe/claude-env.h"
#include "cred/probe/provider-rows.h"
#include "cred/run.h"

#define AWS_CONFIG_MS (60 * 1000)

/*
 * Answers of models, and the profiles by which models are named, which another host lists. Nothing
 * of what else these hosts do: making keys, profiles, jobs, reading logs.
 */
static const char *const requests[] = {
	"POST /model/*/invoke messages",
	"POST /model/*/invoke-with-response-stream messages",
	"POST /model/*/converse converse",
	"POST /model/*/converse-stream converse",
	"POST /model/*/count-tokens free",
	"POST /model/** unknown",
	"GET /inference-profiles https://bedrock.{domain}/inference-profiles",
	"GET /inference-profiles/* https://bedrock.{domain}/inference-profiles",
	NULL,
};

/* `aws configure get region`, which prints it or exits 1. */
static char *configured_region(const struct cred_host *h, const char *program, const char *profile)
{
	char *argv[] = {(char *)program,
			(char *)"configure",
			(char *)"get",
			(char *)"region",
			(char *)(profile ? "--profile" : NULL),
			(char *)profile,
			NULL};
	char *out = NULL;
	struct err err = {0};
	int code = 0;

	if (cred_run(h, argv, NULL, AWS_CONFIG_MS, &out, &code, &err) < 0 || code != 0 || !*out) {
		free(out);
		return NULL;
	}
	return out;
}

static int find_region(const struct claude_env *e, const char *program, const char *profile,
		       struct cred_ref *ret, struct err *err)
{
	const char *set = claude_env_get(e, "AWS_REGION");
	cleanup_free char *region = NULL, *domain = NULL;

	if (!set)
		set = claude_env_get(e, "AWS_DEFAULT_REGION");
	if (set)
		region = xstrdup(set);
	else if (program)
		region = configured_region(e->host, program, profile);
	if (!region)
		return err_set(err, ENOENT,
			       "no AWS region is set; set AWS_REGION, or run: aws configure set "
			       "region us-east-1");
	if (!aws_region_is_sane(region))
		return err_set(err, EINVAL, "'%.60s' is no AWS region", region);
	domain = aws_domain(region);
	strv_pushf(&ret->options, "region=%s", region);
	strv_pushf(&ret->options, "domain=%s", domain);
	ret->origin = xasprintf("https://bedrock-runtime.%s", domain);
	return 0;
}

/* The name is shown only where it can be pasted into a shell as it is: others have written it. */
static int refuse_profile(const char *name, struct err *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789_.@-");
	bool plain = n <= 64 && name[n] == '\0' && name[0] != '-';

	return err_set(err, EPERM,
		       "the project's settings of Claude Code name an AWS profile, and a project "
		       "does not choose among your logins; if you want it, run: export "
		       "AWS_PROFILE=%s",
		       plain ? name : "NAME");
}

static int find_keys(const struct claude_env *e, struct cred_ref *ret, struct err *err)
{
	cleanup_(aws_keys_done) struct aws_keys keys = {0};
	const char *named = cred_host_env(e->host, "AWS_PROFILE");
	/* aws sees the environment itself; only what it cannot see is told. */
	const char *profile = named ? NULL : claude_env_get(e, "AWS_PROFILE");
	const char *projects = claude_env_of_project(e, "AWS_PROFILE");
	cleanup_free char *program = NULL;
	int r;

	if (!named && projects && (!profile || !streq(projects, profile)))
		return refuse_profile(projects, err);
	r = aws_export(e->host, profile, &program, &keys, err);
	if (r < 0)
		return r;
	if (keys.expires_ms && keys.expires_ms <= cred_host_now(e->host))
		return err_set(err, EKEYEXPIRED,
			       "what aws gives has expired already; run: aws sso login");
	named = named ? named : profile;
	ret->source = xasprintf("aws:%s", named ? named : "default");
	ret->expires_ms = keys.expires_ms;
	ret->renewable = keys.expires_ms != 0;
	strv_pushf(&ret->options, "program=%s", program);
	if (profile)
		strv_pushf(&ret->options, "profile=%s", profile);
	return find_region(e, program, profile, ret, err);
}

static enum cred_probe probe(const struct cred_host *h, struct cred_ref *ret, struct err *err)
{
	cleanup_(claude_env_done) struct claude_env e;
	int r = claude_env_load(h, &e, err);

	if (r < 0)
		return CRED_UNUSABLE;
	if (!claude_env_on(&e, "CLAUDE_CODE_USE_BEDROCK"))
		return CRED_MISSING;
	claude_env_models(&e, &ret->options);
	if (cred_host_env(h, "AWS_BEARER_TOKEN_BEDROCK")) {
		ret->source = xstrdup("env:AWS_BEARER_TOKEN_BEDROCK");
		r = find_region(&e, NULL, NULL, ret, err);
	} else {
		r = find_keys(&e, ret, err);
	}
	if (r == 0)
		return CRED_FOUND;
	(void)err_wrap(err, r, "Bedrock is switched on by CLAUDE_CODE_USE_BEDROCK");
	return CRED_UNUSABLE;
}

const struct cred_provider cred_bedrock = {
	.name = "bedrock",
	.ends = true,
	.service = "anthropic",
	.endpoint = "bedrock",
	.phantom = "ralph-",
	.login = "aws sso login",
	.requests = requests,
	.probe = probe,
};
