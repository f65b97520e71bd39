#pragma once

#include "netrules/groups.h"

/* How each package manager says where it fetches from. Readers add to `ret` what they find and
 * return -errno only for what the user must know. */

typedef int groups_reader(const struct groups_env *env, struct strv *ret, struct err *err);

groups_reader groups_read_npm, groups_read_pip, groups_read_cargo, groups_read_go, groups_read_apt;

/* Appends the pattern of a URL's host, when it has one that is reached over the network. Prefixes
 * such as 'sparse+' are skipped, user information is dropped. */
void groups_add_url(struct strv *ret, const char *url);
