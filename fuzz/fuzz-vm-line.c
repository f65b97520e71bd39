#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/mux.h"
#include "vm/vm.h"

/* Any bytes as what comes from a machine: they are frames or an error, and nothing of a channel waits
 * beyond its credit. Frames that are not the channels' own are read as those that have addresses. */
static int on_frame(struct mux *m, struct wire_msg *msg, struct buf *program)
{
	struct sockaddr_storage to = {0};
	struct vm_wake w;
	struct wire_reader r;
	unsigned len;

	wire_read(&r, msg);
	(void)vm_address_get(&r, &to, &len);
	(void)vm_wake_get(msg, &w);
	return mux_hold(m, WIRE_ENDED, msg->id, &msg->body);
}

static int on_over(struct mux *m, enum wire_type type, uint32_t id, const struct buf *body)
{
	return 0;
}

static void add(struct mux *m, uint32_t id, enum mux_which which, unsigned ways)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	(void)close(pair[1]);
	(void)mux_add(m, id, which, pair[0], ways);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pollfd p[MUX_ROWS_MAX];
	int line[2], r = 0;
	struct mux m;

	if (size > 32 * KiB ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, line) < 0)
		return 0;
	mux_init(&m, line[0]);
	m.frame = on_frame;
	m.over = on_over;
	add(&m, 1, MUX_IN, MUX_READS);
	add(&m, 1, MUX_OUT, MUX_WRITES);
	add(&m, 2, MUX_TTY, MUX_READS | MUX_WRITES);
	add(&m, 3, MUX_CONNECTION, MUX_READS | MUX_WRITES);
	if (write(line[1], data, size) < 0)
		abort();
	for (int i = 0; i < 4 && r == 0; i++) {
		(void)poll(p, mux_gather(&m, p), 0);
		r = mux_turn(&m, p);
		for (struct mux_channel *c = m.channels; c; c = c->next)
			if (c->out.len > MUX_CREDIT || c->credit > MUX_CREDIT)
				abort();
	}
	mux_done(&m);
	(void)close(line[1]);
	return 0;
}
