#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "wire/fleet.h"

/* A stream of the other end, in pieces whose size the first byte says: its first bit is the side. What
 * is read of a body is written again, and must read as the same. */
static void read_verdict(const struct fleet_msg *m)
{
	struct fleet_verdict v, again;
	struct err err = {0};
	cleanup_free char *text = NULL;
	struct fleet_msg copy = *m;
	json_t *j;

	if (fleet_verdict_read(m, &v, &err) < 0) {
		if (!err.msg[0] || v.doc)
			abort();
		return;
	}
	j = fleet_verdict_json(&v);
	text = json_dumps(j, JSON_COMPACT);
	copy.data = text;
	copy.len = strlen(text);
	if (fleet_verdict_read(&copy, &again, &err) < 0 || strcmp(again.why, v.why) != 0 ||
	    again.code != v.code)
		abort();
	fleet_done(&again);
	fleet_done(&v);
	json_decref(j);
}

/* What is read and written again reads as well. */
#define DOCUMENT(what)                                                                             \
	do {                                                                                       \
		struct fleet_##what x, again;                                                      \
                                                                                                   \
		if (fleet_##what##_read(m, &x, &err) == 0) {                                       \
			json_t *j = fleet_##what##_json(&x);                                       \
			char *text = json_dumps(j, JSON_COMPACT);                                  \
			struct fleet_msg copy = *m;                                                \
                                                                                                   \
			copy.data = text;                                                          \
			copy.len = strlen(text);                                                   \
			if (fleet_##what##_read(&copy, &again, &err) < 0)                          \
				abort();                                                           \
			fleet_done(&again);                                                        \
			free(text);                                                                \
			json_decref(j);                                                            \
		}                                                                                  \
		fleet_done(&x);                                                                    \
	} while (0)

static void read_document(const struct fleet_msg *m)
{
	struct err err = {0};
	uint64_t ms;
	bool now;

	DOCUMENT(start);
	DOCUMENT(hello);
	DOCUMENT(task);
	DOCUMENT(pack_end);
	DOCUMENT(record);
	DOCUMENT(ack);
	DOCUMENT(rules);
	DOCUMENT(question);
	DOCUMENT(reply);
	read_verdict(m);
	(void)fleet_stop_read(m, &now, &err);
	(void)fleet_limit_read(m, &ms, &err);
}

static void read_bytes(const struct fleet_msg *m)
{
	struct fleet_ask ask;
	struct fleet_open open;
	uint32_t a, b;
	uint64_t c, d;
	const char *p;
	size_t n;

	if (fleet_ask_read(m, &ask) == 0 && ask.body + ask.len != m->data + m->len)
		abort();
	if (fleet_open_read(m, &open) == 0 && strlen(open.target) >= sizeof(open.target))
		abort();
	(void)fleet_pair_read(m, &a, &b);
	(void)fleet_ping_read(m, &c, &d);
	if (fleet_data_read(m, &a, &p, &n) == 0 && p + n != m->data + m->len)
		abort();
	(void)fleet_log_name_valid(m->data, m->len);
	if (fleet_log_path_valid(m->data, m->len) &&
	    (m->data[0] == '/' || memmem(m->data, m->len, "/../", 4) || memchr(m->data, 0, m->len)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fleet_in in;
	struct fleet_msg m;
	size_t step, left = size;
	int r = 0;

	if (size < 1)
		return 0;
	step = (size_t)(data[0] >> 1) + 1;
	fleet_in_init(&in, data[0] & 1 ? FLEET_NODE : FLEET_HOME);
	data++;
	left--;
	while (r == 0 && left) {
		size_t n = step < left ? step : left;

		if (fleet_in_add(&in, data, n) < 0)
			break;
		data += n;
		left -= n;
		while ((r = fleet_next(&in, &m)) == 1) {
			if (!fleet_type_name(m.type) || m.len > FLEET_MESSAGE_MAX)
				abort();
			read_document(&m);
			read_bytes(&m);
		}
	}
	fleet_in_done(&in);
	return 0;
}
