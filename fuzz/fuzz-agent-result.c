#include "fuzz.h"

#include "agent/result.h"

#include <stdlib.h>
#include <string.h>

/* The first byte says whose output it is; the rest are its lines. What is kept stays within its
 * limits, whatever an agent prints. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data + 1;
	struct agent_result r;
	size_t left;

	if (size < 1)
		return 0;
	agent_result_init(&r);
	for (left = size - 1; left;) {
		const char *end = memchr(p, '\n', left);
		size_t n = end ? (size_t)(end - p) : left;

		agent_result_line(&r, agent_at(data[0] % agent_count())->stream, p, n);
		p += n + (end != NULL);
		left -= n + (end != NULL);
	}
	if ((r.text && strlen(r.text) > AGENT_TEXT_MAX) ||
	    (r.session && strlen(r.session) > AGENT_TEXT_MAX))
		abort();
	agent_result_done(&r);
	return 0;
}
