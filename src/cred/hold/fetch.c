#include "cred/fetch.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "base/proc.h"

#define GRACE_MS 5000			/* beyond the request's own limit, for the process */
#define ANSWER_MAX (4 * FETCH_BODY_MAX) /* as JSON, escaped */

static char *request_text(const struct fetch *f)
{
	cleanup_json json_t *j =
		json_pack("{ss ss ss* ss* ss* sI}", "method", f->method, "url", f->url,
			  "content_type", f->content_type, "body", f->body, "ca_file", f->ca_file,
			  "timeout_ms", (json_int_t)FETCH_MS);
	json_t *headers = json_array();

	for (size_t i = 0; f->headers && i < f->headers->n; i++)
		(void)json_array_append_new(headers, json_string(f->headers->v[i]));
	if (!j || json_object_set_new(j, "headers", headers) < 0)
		return NULL;
	return json_dumps(j, JSON_COMPACT);
}

/* fetch gets the host's proxy and certificate variables, and nothing else of the environment. */
static void fetch_env(const struct cred_host *h, struct strv *env)
{
	static const char *const names[] = {NETWORK_ENV};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = cred_host_env(h, names[i]);

		if (v)
			strv_pushf(env, "%s=%s", names[i], v);
	}
}

static int wait_answer(const struct fetch *f, int fd, struct buf *b, struct err *err)
{
	uint64_t end = now_ms() + FETCH_MS + GRACE_MS;
	int step = f->tick ? f->tick_ms : FETCH_MS;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int n = poll(&p, 1, step);

		if (f->tick)
			f->tick(f->arg);
		if (n > 0 && buf_reserve(b, 4 * KiB) == 0) {
			ssize_t got = read(fd, b->data + b->len, 4 * KiB);

			if (got == 0)
				return 0;
			if (got > 0)
				b->len += (size_t)got;
		} else if (n > 0) {
			return err_set(err, EFBIG, "the answer is too long");
		}
		if (now_ms() >= end)
			return err_set(err, ETIMEDOUT, "no answer came in time");
	}
}

static int run_fetch(const struct cred_host *h, const struct fetch *f, struct buf *out,
		     struct err *err)
{
	cleanup_(child_done) struct child child = {.pid = -1, .pidfd = -1};
	cleanup_free char *program = path_join(h->libexec, "fetch");
	cleanup_secret char *text = request_text(f);
	cleanup_fd int in = -1, out_r = -1, out_w = -1;
	char *argv[] = {program, NULL};
	cleanup_strv struct strv env;
	struct run run = RUN_INIT;
	int pair[2], r;

	strv_init(&env);
	if (!text)
		return err_set(err, EINVAL, "the request is not text");
	in = fd_memfd("ralph-fetch", text, strlen(text));
	if (in < 0)
		return err_sys(err, -in, "cannot create a memory file");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	out_r = pair[0];
	out_w = pair[1];
	fetch_env(h, &env);
	run.argv = argv;
	run.env = env.v;
	run.dir = "/";
	run.stdio[0] = in;
	run.stdio[1] = out_w;
	run.flags = RUN_DIE_WITH_US;
	r = run_start(&run, &child, err);
	if (r < 0)
		return r;
	closep(&out_w);
	return wait_answer(f, out_r, out, err);
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
