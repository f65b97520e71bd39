/* The network of a sandbox without a guest, before an agent is left alone in it. The probe cannot
 * run there: the image's own curl asks through the engine's proxy. */
#include "check/preflight-no-guest.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "check/inside.h"
#include "engine/engine.h"

#define ASK_MS 30000
#define OUT_MAX (64 * KiB)
/* A name that nobody can have: a request that is let through leads nowhere. */
#define REFUSED_NAME "ralph-preflight.invalid"

/* Prints a line with the gateway's answer, and then that of the engine's proxy. */
static const char script[] = "command -v curl >/dev/null || exit 127\n"
			     "p=${http_proxy:-$HTTP_PROXY}\n"
			     "ask() { curl -s --max-time 10 ${p:+--proxy \"$p\"} \"$@\"; }\n"
			     "[ -z \"$1\" ] || ask \"$1\"\n"
			     "echo; ask \"$2\"; true\n";

static int ask(const struct preflight_input *in, int conn, struct buf *out, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	const struct inside i = {.argv = &argv, .input = -1, .conn = conn, .timeout_ms = ASK_MS};
	int code = 0, r;

	strv_push(&argv, "sh");
	strv_push(&argv, "-c");
	strv_push(&argv, script);
	strv_push(&argv, "sh");
	if (in->spec->port)
		strv_pushf(&argv, "http://%s:%u/_ralph/health", engine_host(in->spec->engine),
			   in->spec->port);
	else
		strv_push(&argv, "");
	strv_push(&argv, "http://" REFUSED_NAME "/");
	r = inside_run(in->places, in->spec->name, &i, out, &code, err);
	if (r == 0 && code != 0)
		r = err_set(err, EIO,
			    code == 127 ? "there is no curl in the sandbox to ask with"
					: "the command that asks ended with %d",
			    code);
	return r;
}

/* The gateway refuses a request without the placeholder token, and says whose gateway it is. */
static bool is_gateway(const char *text, const char *sandbox)
{
	cleanup_free char *whose = xasprintf("\"sandbox\":\"%s\"", sandbox);

	return strstr(text, "\"refused by ralph\"") && strstr(text, whose);
}

/* Both programs of Docker's say that it was their policy; any other answer is none. */
static bool is_refusal(const char *text)
{
	return strcasestr(text, "blocked by network policy") ||
	       strstr(text, "Approval required for " REFUSED_NAME);
}

void preflight_no_guest(const struct preflight_input *in, int conn, struct preflight_net *ret)
{
	cleanup_buf struct buf out;
	struct err err = {0};
	char *second;

	buf_init(&out, OUT_MAX);
	*ret = (struct preflight_net){0};
	if (ask(in, conn, &out, &err) < 0) {
		ret->problem = xstrdup(err.msg);
		return;
	}
	(void)buf_str(&out);
	second = strchr(out.data, '\n');
	ret->has_gateway = in->spec->port != 0;
	if (!second)
		return;
	*second++ = '\0';
	ret->gateway = !ret->has_gateway || is_gateway(out.data, in->spec->name);
	ret->refused = is_refusal(second);
}
