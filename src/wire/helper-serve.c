#include "wire/helper.h"

#include <stdio.h>

static int serve(const struct helper_frame *rows, size_t n, void *arg, struct err *err)
{
	for (;;) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(HELPER_FD, &m);
		if (r <= 0)
			return r;
		r = helper_frame(rows, n, arg, &m, err);
		if (r < 0)
			return r;
	}
}

int helper_serve(const char *name, const struct helper_frame *rows, size_t n, void *arg)
{
	struct err err = {.msg = "the supervisor's frames end badly"};
	int r = serve(rows, n, arg, &err);

	if (r < 0)
		(void)fprintf(stderr, "ralph: %s: %s\n", name, err.msg);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
