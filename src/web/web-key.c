#include "web/web-key.h"

#include <sha256.h>
#include <stdio.h>
#include <string.h>

void web_key(const char *text, char ret[ROUTE_KEY_LEN + 1])
{
	uint8_t d[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)text, strlen(text));
	SHA256Final(d, &ctx);
	for (size_t i = 0; i < ROUTE_KEY_LEN / 2; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", d[i]);
}
