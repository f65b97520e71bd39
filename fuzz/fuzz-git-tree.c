#include "fuzz.h"

#include "git/tree-object.h"
#include "git/tree-path.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const uint8_t *start, *end;
};

/* What is let through is inside of the bytes, and a name that can be checked out. */
static int check(const struct gittree_entry *e, void *arg)
{
	const struct walk *w = arg;
	const uint8_t *name = (const uint8_t *)e->name;

	if (name < w->start || e->id + 20 > w->end || strlen(e->name) != e->len)
		abort();
	if (gitpath_is_odd(e->name) || strchr(e->name, '/'))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct walk w = {data, data + size};
	const char *name;
	int r;
	const char *fault = gittree_check((const char *)data, size, 20, check, &w, &r, &name);

	if (name && !fault)
		abort();
	return 0;
}
