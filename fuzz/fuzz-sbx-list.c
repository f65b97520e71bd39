#include "fuzz.h"

#include <stdlib.h>

#include "base/path.h"
#include "engine/sbx/sbx.h"

/* Any bytes as the list of Docker Sandboxes: what is taken from it could not be an option, has no
 * control bytes, and a workspace is a whole path. */
static void check(const struct engine_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct engine_entry *e = &l->v[i];

		if (!e->name[0] || e->name[0] == '-')
			abort();
		for (const char *p = e->name; *p; p++)
			if (*p <= ' ' || *p >= 0x7f)
				abort();
		if (e->workspace && !path_is_normal(e->workspace))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct engine_list l = {0};
	struct sbx_found f = {0};
	struct err e = {0};

	if (sbx_list_parse((const char *)data, size, &l, &e) == 0)
		check(&l);
	(void)sbx_list_find((const char *)data, size, "agent-loop-x", &f, &e);
	free(f.workspace);
	engine_list_done(&l);
	return 0;
}
