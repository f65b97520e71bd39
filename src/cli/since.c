#include "cli/since.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/parse.h"

int since_parse(const char *text, int64_t *ret_ms, struct err *err)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					    "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
	uint64_t ago;

	if (parse_duration(text, &ago) == 0) {
		int64_t now = (int64_t)time(NULL) * 1000;

		*ret_ms = ago < (uint64_t)now ? now - (int64_t)ago : 0;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm = {.tm_isdst = -1};
		const char *end = strptime(text, forms[i], &tm);

		if (!end || (*end && !streq(end, "Z")))
			continue;
		*ret_ms = (int64_t)(*end ? timegm(&tm) : mktime(&tm)) * 1000;
		return 0;
	}
	return err_usage(err, "--since '%s' is no time; write 10m, 2026-01-31 or 2026-01-31T12:00",
			 text);
}
