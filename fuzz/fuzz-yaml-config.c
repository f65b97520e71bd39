#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"

/* Any bytes as a project file, untrusted and trusted; what loads, prints, and every refusal has a
 * place and exit code 2. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_sources src = {
		.project_file = "f.yaml",
		.project_text = (const char *)data,
		.project_len = size,
		.home = "/home/u",
		.profile_dir = "/nonexistent",
	};

	for (int trusted = 0; trusted < 2; trusted++) {
		cleanup_(config_freep) struct config *c = NULL;
		struct config_entry *entries = NULL;
		struct err err = {0};
		size_t n = 0;

		src.trusted = trusted;
		if (!data)
			return 0;
		if (config_load(&src, &c, &err) < 0) {
			if (err.exit_code != EXIT_USAGE || !*err.msg)
				abort();
			continue;
		}
		(void)config_entries(c, &entries, &n);
		config_entries_free(entries, n);
	}
	return 0;
}
