#include "cred/aws.h"

#include <string.h>

#include "base/json/json.h"
#include "base/path.h"
#include "cred/oauth.h"
#include "cred/run.h"
#include "cred/token.h"

#define AWS_MS (60 * 1000) /* aws may talk to the SSO service */
#define OLD_AWS 2	   /* exit code of an aws without the command */

void aws_keys_done(struct aws_keys *k)
{
	k->access_key = cred_secret_free(k->access_key);
	k->secret_key = cred_secret_free(k->secret_key);
	k->token = cred_secret_free(k->token);
}

static int take_keys(const json_t *j, struct aws_keys *ret, struct err *err)
{
	const char *access_key, *secret_key, *token = NULL, *expires = NULL;
	const json_t *version = json_object_get(j, "Version");
	int r;

	if (version && json_integer_value(version) != 1)
		return err_set(err, EINVAL, "its version is not 1");
	r = json_get_str(j, "AccessKeyId", &access_key, err);
	if (r == 0)
		r = json_get_str(j, "SecretAccessKey", &secret_key, err);
	if (r == 0 && !json_is_null(json_object_get(j, "SessionToken")))
		r = json_opt_str(j, "SessionToken", &token, err);
	if (r == 0 && !json_is_null(json_object_get(j, "Expiration")))
		r = json_opt_str(j, "Expiration", &expires, err);
	if (r < 0)
		return r;
	token = token && *token ? token : NULL;
	if (!token_is_sane(access_key) || !token_is_sane(secret_key) ||
	    (token && !token_is_sane(token)) || strchr(access_key, '/') || strchr(access_key, ','))
		return err_set(err, EINVAL, "a key in it holds what no key does");
	if (expires && *expires && when_parse(expires, &ret->expires_ms) < 0)
		return err_set(err, EINVAL, "its Expiration is no date");
	ret->access_key = xstrdup(access_key);
	ret->secret_key = xstrdup(secret_key);
	ret->token = token ? xstrdup(token) : NULL;
	return 0;
}

int aws_keys_parse(const char *text, size_t len, struct aws_keys *ret, struct err *err)
{
	cleanup_secret_json json_t *j = NULL;

	/* The parser's message may quote the text. */
	if (json_parse(text, len, &j, err) < 0 || !json_is_object(j))
		return err_set(err, EINVAL, "not a JSON object");
	return take_keys(j, ret, err);
}

static bool says(const char *said, const char *part)
{
	return said && strstr(said, part);
}

int aws_explain(int code, const char *said, const char *profile, struct err *err)
{
	cleanup_free char *with = profile ? xasprintf(" --profile %s", profile) : xstrdup("");
	cleanup_free char *of =
		profile ? xasprintf("profile '%s'", profile) : xstrdup("default profile");
	const char *the = profile ? "" : "the ";

	if (code == OLD_AWS)
		return err_set(err, ENOTSUP,
			       "this aws has no 'configure export-credentials'; install AWS CLI "
			       "2.9 or later");
	if (says(said, "SSO") || says(said, "Token has expired") || says(said, "Token for"))
		return err_set(err, EKEYEXPIRED,
			       "the AWS login of %s%s has expired; run: aws sso login%s", the, of,
			       with);
	if (says(said, "custom-process"))
		return err_set(
			err, EKEYREJECTED,
			"the credential_process of %s%s fails; run it by hand: aws configure "
			"export-credentials%s",
			the, of, with);
	if (says(said, "could not be found"))
		return err_set(err, ENOENT,
			       "AWS has no %s; run: aws configure list-profiles, and set "
			       "AWS_PROFILE",
			       of);
	return err_set(err, EKEYREJECTED,
		       "AWS has no credentials for %s%s (aws: exit %d); run: aws sso login%s, or: "
		       "aws configure%s",
		       the, of, code, with, with);
}

void aws_export_argv(const char *program, const char *profile, struct strv *ret)
{
	static const char *const words[] = {"configure", "export-credentials", "--format",
					    "process"};

	strv_push(ret, program);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strv_push(ret, words[i]);
	if (profile) {
		strv_push(ret, "--profile");
		strv_push(ret, profile);
	}
}

void aws_complaint_argv(const char *program, const char *profile, struct strv *ret)
{
	strv_push(ret, "/bin/sh");
	strv_push(ret, "-c");
	strv_push(ret, "exec \"$@\" 2>&1 >/dev/null");
	strv_push(ret, "sh");
	aws_export_argv(program, profile, ret);
}

/*
 * Runs aws again and returns its stderr, which cred_run() drops: only this text says what is wrong.
 */
static char *complaint(const struct cred_host *h, const char *program, const char *profile,
		       struct err *err)
{
	cleanup_strv struct strv sh = {0};
	char *said = NULL;
	int code;

	aws_complaint_argv(program, profile, &sh);
	(void)cred_run(h, sh.v, NULL, AWS_MS, &said, &code, err);
	return said;
}

static int export_with(const struct cred_host *h, const char *profile, const char *program,
		       struct aws_keys *ret, int *ret_code, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	cleanup_secret char *out = NULL, *said = NULL;
	int r;

	aws_export_argv(program, profile, &argv);
	r = cred_run(h, argv.v, NULL, AWS_MS, &out, ret_code, err);
	if (r < 0)
		return r;
	if (*ret_code == 0) {
		r = aws_keys_parse(out, strlen(out), ret, err);
		return r < 0 ? err_wrap(err, r, "what '%s' gives", program) : 0;
	}
	if (*ret_code != OLD_AWS)
		said = complaint(h, program, profile, err);
	/* aws reads the environment itself: nobody told it the profile there. */
	return aws_explain(*ret_code, said, profile ? profile : cred_host_env(h, "AWS_PROFILE"),
			   err);
}

int aws_export(const struct cred_host *h, const char *profile, char **program, struct aws_keys *ret,
	       struct err *err)
{
	cleanup_strv struct strv all = {0};
	int code = 0, r;

	if (*program)
		return export_with(h, profile, *program, ret, &code, err);
	cred_find_programs(h, "aws", &all);
	r = err_set(err, ENOENT, "there is no 'aws' on your PATH; install AWS CLI 2");
	for (size_t i = 0; i < all.n; i++) {
		r = export_with(h, profile, all.v[i], ret, &code, err);
		if (r < 0 && code == OLD_AWS)
			continue;
		*program = xstrdup(all.v[i]);
		break;
	}
	return r;
}
