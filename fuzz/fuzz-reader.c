#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"

/* What a taken-over gateway may send the reader, and the reader a gateway: the first byte picks it. */
static void request(const struct wire_msg *m, bool budget)
{
	struct reader_setup setup = {.budget = budget};
	char model[READER_MODEL_MAX + 1];
	struct reader_request q;
	struct gw_spend spend;
	char *why = NULL;

	if (reader_get_request(m, &q) < 0)
		return;
	if (reader_judge(&setup, &q, model, &spend, &why) != !why)
		abort();
	if (!why && spend.credential && (!budget || !request_has_tokens(q.kind)))
		abort();
	free(why);
}

static void ask(const struct wire_msg *m)
{
	struct reader_ask q;
	struct gw_ask a;
	struct buf why;
	json_t *doc;

	buf_init(&why, WIRE_INLINE_MAX);
	if (reader_get_ask(m, &q) == 0) {
		if (reader_ask(&q, &doc, &a, &why) == 0 && a.choices.n > GW_ASK_CHOICES_MAX)
			abort();
		strv_done(&a.choices);
		json_decref(doc);
	}
	buf_done(&why);
}

static void answer(const struct wire_msg *m)
{
	char model[READER_MODEL_MAX + 1];
	struct reader_answer a;
	struct gw_usage u;
	struct buf limits;

	if (reader_get_answer(m, &a) < 0)
		return;
	buf_init(&limits, GW_LIMITS_MAX);
	(void)reader_measure(&a, model, &limits, &u);
	/* A reservation is never settled by an answer that did not say what it has used. */
	if (a.reservation && u.cost == GW_COST_USED && a.body.n == 0)
		abort();
	for (const char *p = model; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			abort();
	buf_done(&limits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader_verdict v;
	struct reader_setup s;
	struct wire_msg m;

	if (size < 1)
		return 0;
	wire_msg_init(&m);
	(void)buf_append(&m.body, data + 1, size - 1);
	switch (data[0] % 5) {
	case 0:
	case 1:
		request(&m, data[0] % 5 == 1);
		break;
	case 2:
		answer(&m);
		break;
	case 4:
		ask(&m);
		break;
	default:
		if (reader_get_verdict(&m, &v) == 0 && v.status && v.reserved)
			abort();
		if (reader_get_setup(&m, &s) == 0)
			abort(); /* without the line */
		break;
	}
	wire_msg_done(&m);
	return 0;
}
