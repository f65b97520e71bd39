#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "wire/guest-proto.h"
#include "wire/wire.h"

/* Any bytes as the body of a frame, read as the fields their first byte says: nothing is read
 * outside, whatever the lengths claim, and a body that was read whole is written back the same. */
static void read_any(struct wire_reader *r, uint8_t what, struct buf *again)
{
	struct strv v;
	const char *p;
	size_t n;

	switch (what % 5) {
	case 0:
		wire_put_u32(again, wire_get_u32(r));
		break;
	case 1:
		wire_put_u64(again, wire_get_u64(r));
		break;
	case 2:
		p = wire_get_bytes(r, &n);
		wire_put_bytes(again, p ? p : "", n);
		break;
	case 3:
		p = wire_get_str(r);
		wire_put_str(again, p ? p : "");
		break;
	default:
		strv_init(&v);
		wire_get_strv(r, &v);
		wire_put_strv(again, &v);
		strv_done(&v);
		break;
	}
}

static void read_setup(const struct wire_msg *m)
{
	cleanup_guest_setup struct guest_setup s = {0};
	struct err err = {0};

	if (guest_setup_get(m, &s, &err) < 0 && !err.msg[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_wire_msg struct wire_msg m = {0};
	cleanup_buf struct buf again = {0};
	struct wire_reader r;
	size_t script;

	if (size < 1)
		return 0;
	script = data[0] % 16;
	if (size < 1 + script)
		return 0;
	wire_msg_init(&m);
	buf_init(&again, WIRE_BODY_MAX);
	if (buf_append(&m.body, data + 1 + script, size - 1 - script) < 0)
		return 0;
	wire_read(&r, &m);
	for (size_t i = 0; i < script; i++)
		read_any(&r, data[1 + i], &again);
	if (wire_read_end(&r) == 0 &&
	    (again.len != m.body.len || (again.len && memcmp(again.data, m.body.data, again.len))))
		abort();
	read_setup(&m);
	return 0;
}
