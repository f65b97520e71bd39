/* What an answer has used, and what it says of the provider's limits. */
#include "reader/reader.h"

#include <assert.h>
#include <string.h>

#include "flow/event.h"
#include "http/http1.h"
#include "reader/parse/meter.h"

static bool begins(struct slice s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && slice_ieq((struct slice){s.p, n}, slice_of(with));
}

static bool is_limit(struct slice name)
{
	return slice_is(name, "retry-after") || begins(name, "anthropic-ratelimit-") ||
	       begins(name, "x-ratelimit-") || begins(name, "x-codex-");
}

/* Notes one rate-limit field as a line; a field that no longer fits is left out. */
static void note_limit(struct buf *limits, const struct http1_field *f)
{
	char name[HTTP1_NAME_MAX + 5], value[256];
	size_t before = limits->len;

	(void)event_text(name, sizeof(name), f->name.p, f->name.n);
	(void)event_text(value, sizeof(value), f->value.p, f->value.n);
	if (buf_printf(limits, "%s: %s\n", name, value) < 0)
		limits->len = before;
}

static enum meter_form read_head(const struct reader_answer *a, struct buf *limits)
{
	enum meter_form form = METER_NONE;
	static struct http1_head h;

	http1_reset(&h);
	if (a->n_head == 0 || http1_parse_response(a->head, a->n_head, HTTP1_TO_OTHER, &h) <= 0)
		return METER_NONE;
	for (size_t i = 0; i < h.n_fields; i++) {
		const struct http1_field *f = &h.fields[i];

		if (f->id == HTTP1_F_CONTENT_TYPE && h.status / 100 == 2)
			form = meter_form(f->value);
		else if (f->id == HTTP1_F_OTHER && is_limit(f->name))
			note_limit(limits, f);
	}
	return form;
}

static bool feed(void *arg, const char *p, size_t n)
{
	meter_feed(arg, p, n);
	return true;
}

bool reader_measure(const struct reader_answer *a, char model[static READER_MODEL_MAX + 1],
		    struct buf *limits, struct gw_usage *ret)
{
	struct meter_sum sum;
	struct meter m;
	bool whole;

	static_assert(READER_MODEL_MAX == METER_MODEL_MAX, "a name that was read fits");
	meter_init(&m, read_head(a, limits));
	whole = reader_each(&a->body, feed, &m);
	sum = meter_sum(&m);
	*ret = (struct gw_usage){
		.credential = a->credential,
		.model = model,
		.reservation = a->reservation,
		.cost = a->cost,
		.status = a->status,
		.input = sum.input,
		.output = sum.output,
		.cache_read = sum.cache_read,
		.cache_write = sum.cache_write,
		.limits = buf_str(limits),
	};
	if (a->reservation && a->cost == GW_COST_USED && !(m.seen && whole))
		ret->cost = GW_COST_RESERVED;
	memcpy(model, m.model, sizeof(m.model));
	if (!model[0])
		reader_model(a->target, model, READER_MODEL_MAX + 1);
	meter_done(&m);
	return a->reservation || limits->len || m.seen;
}
