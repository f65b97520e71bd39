#include "cred/fetch.h"

#include <string.h>

#include "base/json/json.h"
#include "base/path.h"
#include "cred/run.h"

#define GRACE_MS 5000			/* beyond the request's own limit, for the process */
#define ANSWER_MAX (4 * FETCH_BODY_MAX) /* as JSON, escaped */

void cred_fetch_argv(const struct cred_host *h, const char *url, const char *ca_file,
		     struct strv *ret)
{
	strv_take(ret, path_join(h->libexec, "fetch"));
	strv_push(ret, url);
	if (ca_file)
		strv_push(ret, ca_file);
}

static char *request_text(const struct fetch *f)
{
	cleanup_json json_t *j =
		json_pack("{ss ss* ss* sI}", "method", f->method, "content_type", f->content_type,
			  "body", f->body, "timeout_ms", (json_int_t)FETCH_MS);
	json_t *headers = json_array();

	for (size_t i = 0; f->headers && i < f->headers->n; i++)
		(void)json_array_append_new(headers, json_string(f->headers->v[i]));
	if (!j || json_object_set_new(j, "headers", headers) < 0)
		return NULL;
	return json_dumps(j, JSON_COMPACT);
}

static int run_fetch(const struct cred_host *h, const struct fetch *f, struct buf *out,
		     struct err *err)
{
	cleanup_secret char *text = request_text(f);
	cleanup_strv struct strv argv = {0};
	struct cred_call call = {
		.in = text,
		.timeout_ms = FETCH_MS + GRACE_MS,
		.tick = f->tick,
		.arg = f->arg,
		.tick_ms = f->tick_ms,
	};
	int code;

	if (!text)
		return err_set(err, EINVAL, "the request is not text");
	cred_fetch_argv(h, f->url, f->ca_file, &argv);
	call.argv = argv.v;
	return cred_call(h, &call, out, &code, err);
}

int cred_fetch(const struct cred_host *h, const struct fetch *f, unsigned *ret_status,
	       char **ret_body, struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_(cred_wipe) struct buf out;
	const char *body = "", *why = NULL;
	uint64_t status = 0;
	struct err torn;
	int r;

	buf_init(&out, ANSWER_MAX);
	r = run_fetch(h, f, &out, err);
	if (r < 0)
		return r;
	if (json_parse(buf_str(&out), out.len, &j, &torn) < 0)
		return err_set(err, EIO, "libexec/ralph/fetch gives no answer");
	if (json_opt_str(j, "error", &why, err) == 0 && why)
		return err_set(err, EIO, "%.300s", why);
	r = json_get_uint(j, "status", &status, err);
	if (r == 0)
		r = json_get_str(j, "body", &body, err);
	if (r < 0)
		return r;
	*ret_status = (unsigned)status;
	*ret_body = xstrdup(body);
	return 0;
}
