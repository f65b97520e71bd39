#pragma once

/* Categories of findings, by which a command is refused or flagged. The allow file uses their
 * names. */
enum category {
	CAT_FILES,
	CAT_DISK,
	CAT_RESOURCES,
	CAT_PRIVILEGE,
	CAT_SERVICES,
	CAT_PACKAGES,
	CAT_KERNEL,
	CAT_ACCOUNTS,
	CAT_NETWORK,
	CAT_REMOTE_CODE,
	CAT_EXFILTRATION,
	CAT_CREDENTIALS,
	CAT_WRITES,
	CAT_GIT,
	CAT_DATABASE,
	CAT_CONTAINER,
	CAT_CLOUD,
	CAT_TRACES,
	CAT_N,
};

enum severity { SEV_NONE, SEV_WARN, SEV_BLOCK };

struct category_info {
	const char *name, *title;
};

const struct category_info *category_info(enum category c);
