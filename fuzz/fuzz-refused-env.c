#include "fuzz.h"

#include "policy/refused-env.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/*
 * Lines: a pattern, a name, a value. A pattern that is taken refuses at least what it matches as a
 * glob, and a name that is refused alone is refused with any value.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_strv struct strv patterns = {0};
	char *line[3] = {text, NULL, NULL};
	struct err err = {0};
	bool refused, by_glob;

	for (size_t i = 1; i < ARRAY_SIZE(line); i++) {
		line[i] = line[i - 1] + strcspn(line[i - 1], "\n");
		if (*line[i])
			*line[i]++ = '\0';
	}
	if (!line[0][0] || refused_env_wrong(line[0]))
		return 0;
	strv_push(&patterns, line[0]);
	refused = refused_env_check(line[1], NULL, &patterns, "fuzz", &err) < 0;
	by_glob = strpbrk(line[0], "*?[") ? fnmatch(line[0], line[1], FNM_CASEFOLD) == 0
					  : strcasestr(line[1], line[0]) != NULL;
	if ((by_glob && !refused) || (refused && err.exit_code != EXIT_REFUSED))
		abort();
	if (refused_env_check(line[1], line[2], &patterns, "fuzz", &err) == 0 && refused)
		abort();
	return 0;
}
