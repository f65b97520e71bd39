#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/filter.h"

/*
 * Whatever goes in, what comes out holds nothing that begins a string other than a harmless OSC,
 * no request that makes the terminal type, and no C1 control; and where the input is cut makes no
 * difference. The first byte says where.
 */
static bool osc_is_harmless(const char *p, const char *end)
{
	static const int harmless[] = {0, 1, 2, 4, 7, 8, 10, 11, 12, 104, 110, 111, 112, 133};
	int v = 0;

	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9' && v < 10000; p++)
		v = v * 10 + (*p - '0');
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		if (v == harmless[i])
			return true;
	return false;
}

static void check_escape(const char *p, const char *end)
{
	if (p == end)
		abort(); /* an escape by itself would take in what comes next */
	if (memchr("PX^_kZ%", *p, 7))
		abort();
	if (*p == ']' && !osc_is_harmless(p + 1, end))
		abort();
	if (*p != '[')
		return;
	for (p++; p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x40;)
		p++;
	if (p == end || *p == 'i')
		abort();
}

static void check(const char *p, size_t n)
{
	const char *end = p + n;
	unsigned char lead = 0;

	for (; p < end; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == 0x1b)
			check_escape(p + 1, end);
		if (c == 0x05 || (lead == 0xc2 && c >= 0x80 && c < 0xa0))
			abort();
		/* By itself: behind no byte that it could belong to. */
		if (c >= 0x80 && c < 0xa0 && lead < 0x80)
			abort();
		lead = c;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf whole = {0}, parts = {0}, undone = {0};
	struct filter f;
	size_t cut;

	if (size < 1)
		return 0;
	cut = data[0] % size;
	data++;
	size--;
	if (cut > size)
		cut = size;
	buf_init(&whole, size + 2 * FILTER_OVERHEAD);
	buf_init(&parts, size + 2 * FILTER_OVERHEAD);
	buf_init(&undone, MODES_UNDO_MAX);
	filter_init(&f, 0);
	filter_feed(&f, (const char *)data, size, &whole);
	filter_init(&f, 0);
	filter_feed(&f, (const char *)data, cut, &parts);
	filter_feed(&f, (const char *)data + cut, size - cut, &parts);
	if (whole.full || whole.len != parts.len || whole.len > size + FILTER_OVERHEAD ||
	    (whole.len && memcmp(whole.data, parts.data, whole.len) != 0))
		abort();
	check(buf_str(&whole), whole.len);
	filter_undo(&f, &undone);
	if (undone.full)
		abort();
	check(buf_str(&undone), undone.len);
	return 0;
}
