#pragma once

#include "base/err.h"
#include "base/strv.h"

/*
 * Named groups of hosts for network.allow: '@github', '@npm' …
 *
 * The hosts of agents and of github are tables. Those of package managers are read from the user's
 * own client: its environment and configuration files first, so that a company's mirror is what the
 * group means; where they say nothing, the client itself is asked for its built-in default (two
 * seconds at most). No registry's host stands in this source. Files of the workspace are never
 * read, programs of the workspace never run: a client is looked for in absolute directories of PATH
 * outside it, and started in '/'.
 */
struct groups_env {
	char *const *environ;  /* the user's: PATH, HOME, XDG_CONFIG_HOME, and the clients' own */
	const char *workspace; /* nothing below it is read or run; NULL: none */
	const char *root;      /* directory that holds etc; NULL: "/" */
};

struct group {
	const char *name; /* with its '@' */
	const char *help; /* one line: what it is for, where its hosts come from */
};

const struct group *groups_list(size_t *ret_n);

/*
 * The patterns of one group, appended without doubles. An unknown group, or one for which nothing
 * is configured and no client can be asked, is an error with exit code 2 that says where it would
 * be read from. Never shows user names or passwords of configured URLs.
 */
int groups_expand(const char *name, const struct groups_env *env, struct strv *ret,
		  struct err *err);
