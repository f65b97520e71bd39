#include "events/prices.h"

#include "base/parse.h"

#include <string.h>

#define USD(x) ((uint32_t)((x)*1000000))
/* The last two prices are for reading from a cache and writing to it. */
#define ROW(model, in, out, read, write)                                                           \
	{                                                                                          \
		model, USD(in), USD(out), USD(read), USD(write)                                    \
	}

/* Public price lists of the providers, November 2026: the standard tier, caches of the usual
 * lifetime. */
/* clang-format off */
static const struct price known[] = {
	/* unknown models: the highest price */
	ROW("",                   15.0,  75.0,  1.5,    18.75),

	ROW("claude-",            15.0,  75.0,  1.5,    18.75),
	ROW("claude-fable-",      10.0,  50.0,  1.0,    12.5),
	ROW("claude-fable-5-1",   10.0,  50.0,  0.25,   12.5),
	ROW("claude-mythos-",     10.0,  50.0,  1.0,    12.5),
	ROW("claude-mythos-5-1",  10.0,  50.0,  0.25,   12.5),
	ROW("claude-opus-",        5.0,  25.0,  0.5,     6.25),
	ROW("claude-opus-5-5",     4.0,  20.0,  0.2,     5.0),
	ROW("claude-opus-4-0",    15.0,  75.0,  1.5,    18.75),
	ROW("claude-opus-4-1",    15.0,  75.0,  1.5,    18.75),
	ROW("claude-opus-4-2",    15.0,  75.0,  1.5,    18.75), /* with its date: 4-20250514 */
	ROW("claude-3-opus",      15.0,  75.0,  1.5,    18.75),
	ROW("claude-sonnet-",      3.0,  15.0,  0.3,     3.75),
	ROW("claude-sonnet-5",     2.0,  10.0,  0.2,     2.5),
	ROW("claude-sonnet-5-5",   2.0,  10.0,  0.1,     2.5),
	ROW("claude-3-7-sonnet",   3.0,  15.0,  0.3,     3.75),
	ROW("claude-3-5-sonnet",   3.0,  15.0,  0.3,     3.75),
	ROW("claude-haiku-",       1.0,   5.0,  0.1,     1.25),
	ROW("claude-haiku-5-5",    0.5,   2.5,  0.05,    0.625), /* of long prompts */
	ROW("claude-3-5-haiku",    0.8,   4.0,  0.08,    1.0),
	ROW("claude-3-haiku",      0.25,  1.25, 0.03,    0.3),

	ROW("gpt-",                5.0,  30.0,  0.5,     5.0),
	ROW("gpt-6.1-sol",         2.0,  10.0,  0.1,     2.0),
	ROW("gpt-5.",              5.0,  30.0,  0.5,     5.0),
	ROW("gpt-5.5-pro",        30.0, 180.0, 30.0,    30.0),
	ROW("gpt-5.4",             2.5,  15.0,  0.25,    2.5),
	ROW("gpt-5.4-pro",        30.0, 180.0, 30.0,    30.0),
	ROW("gpt-5.4-mini",        0.75,  4.5,  0.075,   0.75),
	ROW("gpt-5.4-nano",        0.2,   1.25, 0.02,    0.2),
	ROW("gpt-5.2",             1.75, 14.0,  0.175,   1.75),
	ROW("gpt-5.2-pro",        21.0, 168.0, 21.0,    21.0),
	ROW("gpt-5.1",             1.25, 10.0,  0.125,   1.25),
	ROW("gpt-5",               1.25, 10.0,  0.125,   1.25),
	ROW("gpt-5-pro",          15.0, 120.0, 15.0,    15.0),
	ROW("gpt-5-mini",          0.25,  2.0,  0.025,   0.25),
	ROW("gpt-5-nano",          0.05,  0.4,  0.005,   0.05),
	ROW("gpt-4.1",             2.0,   8.0,  0.5,     2.0),
	ROW("gpt-4.1-mini",        0.4,   1.6,  0.1,     0.4),
	ROW("gpt-4.1-nano",        0.1,   0.4,  0.025,   0.1),
	ROW("gpt-4o",              2.5,  10.0,  1.25,    2.5),
	ROW("gpt-4o-mini",         0.15,  0.6,  0.075,   0.15),
	ROW("codex-",              1.5,   6.0,  0.375,   1.5),
	ROW("o3",                  2.0,   8.0,  0.5,     2.0),
	ROW("o4-mini",             1.1,   4.4,  0.275,   1.1),

	ROW("gemini-",             4.0,  18.0,  0.4,     4.0),
	ROW("gemini-3-pro",        2.0,  12.0,  0.2,     2.0),
	ROW("gemini-3-flash",      0.5,   3.0,  0.05,    0.5),
	ROW("gemini-2.5-pro",      1.25, 10.0,  0.125,   1.25),
	ROW("gemini-2.5-flash",    0.3,   2.5,  0.03,    0.3),
	ROW("gemini-2.5-flash-lite", 0.1, 0.4,  0.01,    0.1),
	ROW("gemini-2.0-flash",    0.1,   0.4,  0.025,   0.1),
};
/* clang-format on */

/* "us.anthropic.claude-…" of Bedrock and "models/gemini-…" name the model after the separator. */
static bool is_for(const char *model, const char *row, size_t n)
{
	for (const char *p = model; p; p = strpbrk(p, "./")) {
		p += p != model;
		if (strncmp(p, row, n) == 0)
			return true;
	}
	return false;
}

/* Parses "MODEL=INPUT/OUTPUT[/READ/WRITE]", which config/ has already checked. */
static void read_own(const char *entry, struct price *ret)
{
	uint32_t *const parts[] = {&ret->input, &ret->output, &ret->cache_read, &ret->cache_write};
	const char *p = strrchr(entry, '=') + 1;

	ret->model = entry;
	for (size_t i = 0; i < 4 && *p; i++) {
		size_t n = strcspn(p, "/");
		cleanup_free char *number = xstrndup(p, n);
		uint64_t v = 0;

		(void)parse_micro(number, &v);
		*parts[i] = (uint32_t)v;
		p += n + (p[n] == '/');
		if (i == 1) {
			ret->cache_read = ret->input / 10;
			ret->cache_write = ret->input + ret->input / 4;
		}
	}
}

static bool find_own(const char *model, const struct strv *own, struct price *ret)
{
	size_t longest = 0;
	bool found = false;

	for (size_t i = 0; own && i < own->n; i++) {
		const char *eq = strrchr(own->v[i], '=');
		size_t n = eq ? (size_t)(eq - own->v[i]) : 0;

		if (n < 1 || n < longest || !is_for(model, own->v[i], n))
			continue;
		read_own(own->v[i], ret);
		longest = n;
		found = true;
	}
	return found;
}

void price_find(const char *model, const struct strv *own, struct price *ret)
{
	size_t longest = 0;

	if (find_own(model, own, ret))
		return;
	*ret = known[0];
	for (size_t i = 1; i < ARRAY_SIZE(known); i++) {
		size_t n = strlen(known[i].model);

		if (n > longest && is_for(model, known[i].model, n)) {
			longest = n;
			*ret = known[i];
		}
	}
}

/* The longest answers, by the providers' documents, where a request sets no limit. */
static const struct {
	const char *model;
	uint32_t tokens;
} outputs[] = {
	{"", 131072},
	{"claude-", 131072},
	{"claude-3-5-", 8192},
	{"claude-3-haiku", 4096},
	{"claude-3-opus", 4096},
	{"gpt-4o", 16384},
	{"gpt-4.1", 32768},
	{"o3", 100000},
	{"o4-mini", 100000},
	{"gemini-", 65536},
	{"gemini-2.0-flash", 8192},
};

uint64_t price_output_max(const char *model)
{
	uint64_t tokens = outputs[0].tokens;
	size_t longest = 0;

	for (size_t i = 1; i < ARRAY_SIZE(outputs); i++) {
		size_t n = strlen(outputs[i].model);

		if (n > longest && is_for(model, outputs[i].model, n)) {
			longest = n;
			tokens = outputs[i].tokens;
		}
	}
	return tokens;
}

uint64_t price_of(const struct price *p, const struct usage_tokens *t)
{
	const uint64_t million = 1000000;
	const uint64_t counts[] = {t->input, t->output, t->cache_read, t->cache_write};
	const uint32_t prices[] = {p->input, p->output, p->cache_read, p->cache_write};
	uint64_t whole = 0, parts = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		whole += counts[i] / million * prices[i];
		parts += counts[i] % million * prices[i];
	}
	return whole + (parts + million - 1) / million;
}
