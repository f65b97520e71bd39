#include "fuzz.h"

#include "workspace/gitindex.h"

/* Any bytes are taken; what is read stays inside of them (the sanitizer's to say). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t hash[GITINDEX_HASH_LEN];
	struct gitindex index;
	struct stat st = {0};

	gitindex_hash(data, size, hash);
	(void)gitindex_lists(data, size, ".env", hash);
	if (gitindex_read(data, size, &index) < 0)
		return 0;
	for (size_t i = 0; i < index.n; i++)
		(void)gitindex_is_same(&index.v[i], &st, 0);
	(void)gitindex_tree(&index, hash);
	gitindex_done(&index);
	return 0;
}
