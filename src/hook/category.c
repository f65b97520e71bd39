#include "hook/category.h"

#include <assert.h>

/* clang-format off */
static const struct category_info infos[] = {
	[CAT_FILES]        = {"files",        "destroys files"},
	[CAT_DISK]         = {"disk",         "disks and mounts"},
	[CAT_RESOURCES]    = {"resources",    "exhausts the machine"},
	[CAT_PRIVILEGE]    = {"privilege",    "takes or gives rights"},
	[CAT_SERVICES]     = {"services",     "services and shutdown"},
	[CAT_PACKAGES]     = {"packages",     "packages of the system"},
	[CAT_KERNEL]       = {"kernel",       "the kernel and its settings"},
	[CAT_ACCOUNTS]     = {"accounts",     "users and their files"},
	[CAT_NETWORK]      = {"network",      "listeners, tunnels, shells over the network"},
	[CAT_REMOTE_CODE]  = {"remote-code",  "runs code that nobody has read"},
	[CAT_EXFILTRATION] = {"exfiltration", "sends data away"},
	[CAT_CREDENTIALS]  = {"credentials",  "reads credentials"},
	[CAT_WRITES]       = {"writes",       "writes what the host runs or trusts"},
	[CAT_GIT]          = {"git",          "destroys history or changes what git runs"},
	[CAT_DATABASE]     = {"database",     "drops data"},
	[CAT_CONTAINER]    = {"container",    "containers that reach the host"},
	[CAT_CLOUD]        = {"cloud",        "destroys infrastructure"},
	[CAT_TRACES]       = {"traces",       "logs, history, other processes"},
};
/* clang-format on */
static_assert(sizeof(infos) / sizeof(infos[0]) == CAT_N, "a row per category");

const struct category_info *category_info(enum category c)
{
	return &infos[c];
}
