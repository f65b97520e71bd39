#include "fuzz.h"

#include "workspace/gitindex.h"

/* Any bytes are taken; what is read stays inside of them (the sanitizer's to say). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t hash[GITINDEX_HASH_LEN];

	gitindex_hash(data, size, hash);
	(void)gitindex_lists(data, size, ".env", hash);
	return 0;
}
