#include "record/name.h"

#include <string.h>

bool name_valid(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= NAME_LEN_MAX && name[0] != '-' && name[n - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}
