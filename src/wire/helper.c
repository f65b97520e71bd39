#include "wire/helper.h"

#include <sys/prctl.h>
#include <sys/resource.h>

int helper_protect(struct err *err)
{
	const struct rlimit none = {0, 0};

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(err, errno, "cannot protect its memory");
	return 0;
}

int helper_frame(const struct helper_frame *rows, size_t n, void *arg, struct wire_msg *m,
		 struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if ((int)m->type == rows[i].type)
			return rows[i].on(arg, m, err);
	return err_set(err, EPROTO, "frame %d is unknown", (int)m->type);
}
