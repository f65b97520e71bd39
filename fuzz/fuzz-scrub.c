#include "fuzz.h"

#include "gateway/parse/scrub.h"

#include <stdlib.h>
#include <string.h>

/* Of the same shape, two by two; the one half is tokens, the other has a pass phrase. */
static const char *const sets[][2] = {
	{"aabaabaaab", "abababab"},
	{"zzyzzyzzzy", "zyzyzyzy"},
	{"k/+=\"1234", "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"},
	{"z/-=(9876", "zyxwvutsrqponmlkjihgfedcba9876543210ZYXWVUTSRQPO"},
};

/* What went with each piece. */
struct result {
	char *out;
	size_t lengths[256];
	uint32_t count;
};

static void *need(size_t n)
{
	void *p = malloc(n);

	return p ? p : (abort(), p);
}

static void run(struct needles *n, const uint8_t *in, size_t len, size_t step, struct result *ret)
{
	struct scrub s;
	size_t o = 0;

	scrub_init(&s, n);
	for (size_t at = 0, i = 0; at < len; i++) {
		size_t part = len - at < step ? len - at : step;
		char *piece = need(part);
		struct slice before, after;

		memcpy(piece, in + at, part);
		at += part;
		scrub_run(&s, piece, part, at == len, &before, &after);
		if (before.n + after.n > len - o || after.n > part)
			abort();
		if (before.n)
			memcpy(ret->out + o, before.p, before.n);
		if (after.n)
			memcpy(ret->out + o + before.n, after.p, after.n);
		o += before.n + after.n;
		ret->lengths[i % 256] += o * (i + 1);
		free(piece);
	}
	if (o != len)
		abort();
	ret->count = s.count;
	scrub_done(&s);
}

/* No secret is left, and what was no part of one is as it was. */
static void check(const struct result *r, const char *const *secrets, const uint8_t *in, size_t n)
{
	for (size_t i = 0; i < 2; i++)
		if (n && memmem(r->out, n, secrets[i], strlen(secrets[i])))
			abort();
	for (size_t i = 0; i < n; i++)
		if (r->out[i] != (char)in[i] && (r->out[i] != '*' || r->count == 0))
			abort();
}

/* Lengths stay and are the same for any secrets of one shape; no secret stays. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct needles *needles[4];
	size_t step = size ? 1 + data[0] % 64 : 1;
	struct result r[4] = {0};

	for (size_t i = 0; i < 4 && size > 1; i++) {
		if (!needles[i])
			needles[i] = needles_new(sets[i], 2);
		r[i].out = need(size);
		run(needles[i], data + 1, size - 1, step, &r[i]);
		check(&r[i], sets[i], data + 1, size - 1);
		run(needles[i], data + 1, size - 1, size, &(struct result){.out = r[i].out});
		check(&r[i], sets[i], data + 1, size - 1);
	}
	for (size_t i = 0; i < 4; i += 2)
		if (memcmp(r[i].lengths, r[i + 1].lengths, sizeof(r[i].lengths)) != 0)
			abort();
	for (size_t i = 0; i < 4; i++)
		free(r[i].out);
	return 0;
}
