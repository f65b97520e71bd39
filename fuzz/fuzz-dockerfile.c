#include "fuzz.h"

#include "base/mem.h"
#include "image/dockerfile.h"

#include <string.h>

/* Whatever the file says, the names that come out of it can be arguments of a program. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dockerfile d = {0};
	struct err e = {0};

	if (dockerfile_read((const char *)data, size, size % 2 ? "base:1" : NULL, &d, &e) < 0)
		return e.exit_code == EXIT_USAGE && e.msg[0] ? 0 : (abort(), 0);
	if (d.bases.n > DOCKERFILE_BASES_MAX)
		abort();
	for (size_t i = 0; i < d.bases.n; i++)
		if (!d.bases.v[i][0] || d.bases.v[i][0] == '-' || strpbrk(d.bases.v[i], " \t\n$"))
			abort();
	dockerfile_done(&d);
	return 0;
}
