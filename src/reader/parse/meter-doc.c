/* Finds usage and model in one JSON document of a provider. */
#include "reader/parse/meter.h"

/* The kinds of values that are open, or that a key announces. The scanner skips all others. */
enum place {
	AT_NOTHING,
	AT_ROOT,    /* the document; a list of documents */
	AT_WRAP,    /* "message" of Anthropic, "response" of OpenAI and Code Assist */
	AT_USAGE,   /* the numbers */
	AT_DETAILS, /* numbers that are part of others */
	AT_MODEL,
	AT_COUNT, /* from here on: a number, by enum meter_count */
};

static const struct {
	uint8_t in, is, n;
	const char *key;
} keys[] = {
#define ROW(in, is, key)                                                                           \
	{                                                                                          \
		in, is, sizeof(key) - 1, key                                                       \
	}
	ROW(AT_ROOT, AT_WRAP, "message"),
	ROW(AT_ROOT, AT_WRAP, "response"),
	ROW(AT_ROOT, AT_MODEL, "model"),
	ROW(AT_ROOT, AT_MODEL, "modelVersion"),
	ROW(AT_ROOT, AT_USAGE, "usage"),
	ROW(AT_ROOT, AT_USAGE, "usageMetadata"),
	ROW(AT_ROOT, AT_USAGE, "amazon-bedrock-invocationMetrics"),
	ROW(AT_USAGE, AT_COUNT + COUNT_INPUT, "input_tokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_INPUT, "prompt_tokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_INPUT, "promptTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_INPUT, "inputTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_INPUT, "inputTokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_OUTPUT, "outputTokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_CACHE_READ, "cacheReadInputTokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_CACHE_WRITE, "cacheWriteInputTokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_OUTPUT, "output_tokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_OUTPUT, "completion_tokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_OUTPUT, "candidatesTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_OUTPUT, "outputTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_CACHE_READ, "cache_read_input_tokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_CACHE_READ, "cacheReadInputTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_CACHE_WRITE, "cache_creation_input_tokens"),
	ROW(AT_USAGE, AT_COUNT + COUNT_CACHE_WRITE, "cacheWriteInputTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_CACHED, "cachedContentTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_TOOL_INPUT, "toolUsePromptTokenCount"),
	ROW(AT_USAGE, AT_COUNT + COUNT_THOUGHTS, "thoughtsTokenCount"),
	ROW(AT_USAGE, AT_DETAILS, "input_tokens_details"),
	ROW(AT_USAGE, AT_DETAILS, "prompt_tokens_details"),
	ROW(AT_DETAILS, AT_COUNT + COUNT_CACHED, "cached_tokens"),
#undef ROW
};

void meter_doc_start(struct meter *m)
{
	jscan_init(&m->doc.j);
	m->doc.depth = m->doc.n_model = 0;
	m->doc.key = AT_ROOT;
	m->doc.over = false;
}

static uint8_t place_of(const struct meter_doc *d)
{
	uint8_t in = d->depth ? d->at[d->depth - 1] : AT_NOTHING;

	/* A wrapper holds what a document holds, but no wrapper. */
	in = in == AT_WRAP ? AT_ROOT : in;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].in == in && keys[i].n == d->j.len && !d->j.cut &&
		    memcmp(keys[i].key, d->j.text, d->j.len) == 0)
			return keys[i].is;
	return AT_NOTHING;
}

static void on_key(struct meter_doc *d)
{
	d->key = place_of(d);
	if (d->key == AT_WRAP && d->depth && d->at[d->depth - 1] == AT_WRAP)
		d->key = AT_NOTHING;
	if (d->key == AT_NOTHING)
		jscan_skip(&d->j);
}

static void on_open(struct meter_doc *d, bool array)
{
	bool list = array && d->depth == 0; /* Gemini without alt=sse */
	bool want = array ? list : d->key >= AT_ROOT && d->key <= AT_DETAILS;

	if (!want || d->depth == ARRAY_SIZE(d->at)) {
		jscan_skip(&d->j);
		return;
	}
	d->at[d->depth++] = list ? AT_NOTHING : d->key;
	d->key = list ? AT_ROOT : AT_NOTHING;
}

static void on_close(struct meter_doc *d, bool array)
{
	if (d->depth)
		d->depth--;
	/* The next of a list. */
	d->key = !array && d->depth == 1 && d->at[0] == AT_NOTHING ? AT_ROOT : AT_NOTHING;
}

static void on_number(struct meter *m)
{
	uint64_t v;

	if (m->doc.key < AT_COUNT || !jscan_uint(&m->doc.j, &v) || v > METER_TOKENS_MAX)
		return;
	m->counts[m->doc.key - AT_COUNT] = v;
	m->seen = true;
}

/* A piece of the model's name; printable or not at all, since it will be logged. */
static void on_string(struct meter *m)
{
	struct meter_doc *d = &m->doc;

	if (d->key != AT_MODEL)
		return;
	for (size_t i = 0; i < d->j.len && d->n_model <= METER_MODEL_MAX; i++) {
		char c = d->j.text[i];

		if (c <= ' ' || c > '~' || d->n_model == METER_MODEL_MAX)
			d->n_model = METER_MODEL_MAX + 1;
		else
			d->model[d->n_model++] = c;
	}
	if (!d->j.last)
		return;
	if (d->n_model > METER_MODEL_MAX)
		d->n_model = 0;
	memcpy(m->model, d->model, d->n_model);
	m->model[d->n_model] = '\0';
	d->n_model = 0;
}

void meter_doc_feed(struct meter *m, const char *p, size_t n)
{
	struct meter_doc *d = &m->doc;

	if (d->over)
		return;
	jscan_feed(&d->j, p, n);
	for (;;) {
		enum jscan_token t = jscan_next(&d->j);

		switch (t) {
		case JSCAN_MORE:
			return;
		case JSCAN_ERROR:
			d->over = true;
			return;
		case JSCAN_OBJECT:
		case JSCAN_ARRAY:
			on_open(d, t == JSCAN_ARRAY);
			break;
		case JSCAN_OBJECT_END:
		case JSCAN_ARRAY_END:
			on_close(d, t == JSCAN_ARRAY_END);
			break;
		case JSCAN_KEY:
			on_key(d);
			break;
		case JSCAN_NUMBER:
			on_number(m);
			break;
		case JSCAN_STRING:
			on_string(m);
			break;
		case JSCAN_TRUE:
		case JSCAN_FALSE:
		case JSCAN_NULL:
		case JSCAN_SKIPPED:
			break;
		}
	}
}
