#include "base/strv.h"

#include <stdlib.h>
#include <string.h>

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(struct strv *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(char *), by_bytes);
}
