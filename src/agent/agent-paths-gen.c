/*
 * Writes hook/agent-paths.h from the rows of the agents when ralph is built. The hook may not use
 * this room: it is a small static program that starts in a fraction of a millisecond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"

static bool has(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (streq(*list, word))
			return true;
	return false;
}

/* A file in a directory of the agent's counts in every home; one with a bare name in the user's. */
static void put_logins(FILE *f, const struct agent *a)
{
	for (const char *const *p = a->logins; *p; p++)
		(void)fprintf(f, "{PATH_CRED, \"%s/%s\"},\n", strchr(*p, '/') ? "**" : "~", *p);
}

static void put_private(FILE *f, const struct agent *a)
{
	for (const char *const *p = a->private; *p; p++)
		(void)fprintf(f, "{PATH_TRUSTED, \"~/%s%s\"},\n", *p,
			      has(a->logins, *p) ? "" : "/**");
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "we") : NULL;

	if (!f)
		return EXIT_FAILURE;
	for (size_t i = 0; i < agent_count(); i++) {
		put_logins(f, agent_at(i));
		put_private(f, agent_at(i));
	}
	return fclose(f) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
