#include "loop/notify/notify.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/proc.h"

#define POST_MS 10000
#define GRACE_MS 5000 /* beyond the request's own limit, for the process */
#define AGAIN_MS 1000
#define ANSWER_MAX (1 * MiB)

static void network_env(struct strv *ret)
{
	static const char *const names[] = {NETWORK_ENV};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			strv_pushf(ret, "%s=%s", names[i], getenv(names[i]));
}

/* The URL goes through stdin: it often holds a token, and arguments can be seen by others. */
static char *request_text(const char *url, const json_t *doc)
{
	cleanup_free char *body = json_dumps(doc, JSON_COMPACT);
	cleanup_json json_t *j =
		json_pack("{ss ss ss ss sI s[]}", "url", url, "method", "POST", "content_type",
			  "application/json", "body", body ? body : "{}", "timeout_ms",
			  (json_int_t)POST_MS, "headers");

	return j ? json_dumps(j, JSON_COMPACT) : NULL;
}

/* Returns 0 for an answer of success; *ret_again: a second try may help. */
static int judge(const char *answer, bool *ret_again, struct err *err)
{
	cleanup_json json_t *j = NULL;
	const char *why = NULL;
	uint64_t status = 0;

	*ret_again = true;
	if (json_parse(answer, strlen(answer), &j, err) < 0)
		return err_set(err, EIO, "libexec/ralph/fetch gives no answer");
	if (json_opt_str(j, "error", &why, err) == 0 && why)
		return err_set(err, EIO, "%.300s", why);
	if (json_get_uint(j, "status", &status, err) < 0)
		return -EIO;
	*ret_again = status >= 500 || status == 429;
	return status >= 200 && status < 300
		       ? 0
		       : err_set(err, EIO, "it answers with status %u", (unsigned)status);
}

static int post_once(const struct places *p, const char *text, bool *ret_again, struct err *err)
{
	cleanup_free char *program = places_program(p, "fetch"), *out = NULL;
	cleanup_strv struct strv env = {0};
	cleanup_fd int in = fd_memfd("webhook", text, strlen(text));
	struct run run = RUN_INIT;
	int code = 0, r;

	*ret_again = true;
	if (in < 0)
		return err_sys(err, -in, "cannot make a memory file");
	network_env(&env);
	run.argv = (char *[]){program, "-", NULL};
	run.env = env.v;
	run.stdio[0] = in;
	r = run_collect(&run, POST_MS + GRACE_MS, ANSWER_MAX, &out, &code, err);
	return r < 0 ? r : judge(out ? out : "", ret_again, err);
}

int webhook_post(const struct places *p, const char *url, const json_t *doc, struct err *err)
{
	cleanup_free char *text = request_text(url, doc);
	bool again = false;
	int r = text ? post_once(p, text, &again, err)
		     : err_set(err, EINVAL, "its address is not text");

	if (r < 0 && again) {
		(void)poll(NULL, 0, AGAIN_MS);
		r = post_once(p, text, &again, err);
	}
	return r;
}
