#include "cred/aws.h"

#include <string.h>

bool aws_region_is_sane(const char *region)
{
	size_t n = strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && n <= 32 && region[n] == '\0' && region[0] != '-' && region[n - 1] != '-';
}

char *aws_domain(const char *region)
{
	return xasprintf("%s.amazonaws.com%s", region, strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}
