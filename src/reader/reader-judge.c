/* Which of the provider's own tools a request asks for, and what it may cost. */
#include "reader/reader.h"

#include <stdio.h>
#include <string.h>

#include "http/http1.h"
#include "reader/parse/outline.h"

#define OVERHEAD_TOKENS 4096   /* that a provider adds to a request, for tools above all */
#define PICTURE_TOKENS 8192    /* at most, whatever its size */
#define CONTEXT_TOKENS 1000000 /* for input that is not in the request */

static const char no_price[] =
	"the request asks for a service tier whose price ralph does not know, "
	"and this sandbox has a budget";

static enum outline_form form_of(enum request_kind kind)
{
	switch (kind) {
	case REQUEST_MESSAGES:
		return OUTLINE_MESSAGES;
	case REQUEST_CHAT:
		return OUTLINE_CHAT;
	case REQUEST_RESPONSES:
		return OUTLINE_RESPONSES;
	case REQUEST_GEMINI:
		return OUTLINE_GEMINI;
	case REQUEST_CONVERSE:
		return OUTLINE_CONVERSE;
	case REQUEST_UNKNOWN:
	case REQUEST_FREE:
	case REQUEST_KIND_N:
		break;
	}
	return OUTLINE_ANY;
}

/* The tool that a path stands for, where its requests are not known; NULL: none. */
static const char *tool_of_path(const char *target)
{
	cleanup_free char *path = xstrndup(target, strcspn(target, "?"));

	if (strcasestr(path, "batch"))
		return "batches";
	return strcasestr(path, "/files") || strcasestr(path, "/upload") ? "files" : NULL;
}

/* Google reads parameters such as "$httpHeaders", "$req" and "$ct" in place of fields and body. */
static bool query_is_plain(const char *target)
{
	for (const char *p = strchr(target, '?'); p; p = strchr(p + 1, '&'))
		if (p[1] == '$' || p[1] == '%')
			return false;
	return true;
}

/* Would everybody read the body as the JSON that we read? */
static bool is_plain(const char *target, const struct http1_head *h)
{
	struct slice type = {0};

	if (!query_is_plain(target))
		return false;

	for (size_t i = 0; i < h->n_fields; i++) {
		const struct http1_field *f = &h->fields[i];

		if (f->id == HTTP1_F_CONTENT_ENCODING && !slice_is(f->value, "identity"))
			return false;
		if (f->id == HTTP1_F_CONTENT_TYPE && type.p)
			return false;
		if (f->id == HTTP1_F_CONTENT_TYPE)
			type = f->value;
	}
	return outline_type_is_plain(type);
}

/* Bedrock is told of other tiers in fields. */
static bool has_tier(const struct http1_head *h)
{
	for (size_t i = 0; i < h->n_fields; i++) {
		struct slice name = h->fields[i].name;

		if (name.n > 14 &&
		    slice_ieq((struct slice){name.p, 14}, slice_of("x-amzn-bedrock")))
			return true;
	}
	return false;
}

static bool feed(void *arg, const char *p, size_t n)
{
	return outline_feed(arg, p, n);
}

/* false: refused, see outline_why(). */
static bool read_body(struct outline *o, const struct reader_request *q, const struct http1_head *h)
{
	const char *tool = q->kind == REQUEST_UNKNOWN ? tool_of_path(q->target) : NULL;

	if (tool && !outline_use(o, tool))
		return false;
	if (h->body == HTTP1_BODY_NONE || (h->body == HTTP1_BODY_LENGTH && h->length == 0))
		return true;
	o->bad |= !is_plain(q->target, h) || !reader_each(&q->body, feed, o);
	return outline_end(o);
}

/* The most that the request can use. */
static struct gw_spend estimate(const struct reader_request *q, const struct outline *o,
				char model[static READER_MODEL_MAX + 1])
{
	struct gw_spend s = {
		.credential = q->credential,
		.model = model,
		.input = q->body.n + OVERHEAD_TOKENS + o->pictures * PICTURE_TOKENS,
		.output = o->limited ? o->output + 1 : 0,
		.answers = o->answers,
	};

	if (o->unseen && s.input < CONTEXT_TOKENS)
		s.input = CONTEXT_TOKENS;
	reader_model(q->target, model, READER_MODEL_MAX + 1);
	if (!model[0])
		(void)snprintf(model, READER_MODEL_MAX + 1, "%s", o->model);
	return s;
}

bool reader_judge(const struct reader_setup *setup, const struct reader_request *q,
		  char model[static READER_MODEL_MAX + 1], struct gw_spend *ret_spend,
		  char **ret_why)
{
	bool metered = setup->budget && request_has_tokens(q->kind);
	static struct http1_head h;
	struct outline o;

	*ret_spend = (struct gw_spend){0};
	*ret_why = NULL;
	outline_init(&o, form_of(q->kind),
		     strv_has(&setup->tools, GW_TOOLS_ALL) ? NULL : &setup->tools);
	http1_reset(&h);
	if (http1_parse_request(q->head, q->n_head, &h) <= 0)
		o.bad = true;
	if (metered && has_tier(&h))
		*ret_why = xstrdup(no_price);
	else if (o.bad || !read_body(&o, q, &h))
		*ret_why = outline_why(&o);
	else if (metered && o.premium)
		*ret_why = xstrdup(no_price);
	else if (metered && o.two_models)
		*ret_why = xstrdup("the request names two models");
	if (!*ret_why && metered)
		*ret_spend = estimate(q, &o, model);
	return !*ret_why;
}
