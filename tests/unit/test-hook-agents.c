/* The paths that the hook protects cover every agent's row. */
#include "tests.h"

#include "agent/agent.h"
#include "hook/paths.h"

static unsigned int classes_of(const char *below_home, const char *more)
{
	volatile unsigned int c = 0; /* set behind a longjmp */
	struct arena a;
	struct judge j;

	arena_init(&a, JUDGE_MEMORY);
	judge_init(&j, &a, "/home/dev/project", "/home/dev");
	if (setjmp(a.out) == 0)
		c = path_classes(&j, arena_printf(&a, "/home/dev/%s%s", below_home, more));
	else
		fail_msg("gave up: %s: %s", a.why, below_home);
	arena_done(&a);
	return c;
}

static void logins_of_every_agent_are_credentials(void **state)
{
	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent *a = agent_at(i);

		if (a->program && !a->logins[0])
			fail_msg("%s has no login", a->name);
		for (const char *const *p = a->logins; *p; p++)
			if (!(classes_of(*p, "") & PATH_CRED))
				fail_msg("%s: %s", a->name, *p);
	}
	assert_false(classes_of(".claude/projects/x.jsonl", "") & PATH_CRED);
}

static void private_places_of_every_agent_are_trusted_files(void **state)
{
	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent *a = agent_at(i);

		for (const char *const *p = a->private; *p; p++)
			if (!((classes_of(*p, "") | classes_of(*p, "/x")) & PATH_TRUSTED))
				fail_msg("%s: %s", a->name, *p);
	}
	assert_false(classes_of("src/main.c", "") & PATH_TRUSTED);
}

/* Those that were known before the rows had them. */
static void logins_keep_their_classes(void **state)
{
	static const char *const logins[] = {
		".claude/.credentials.json",
		".claude.json",
		".codex/auth.json",
		".gemini/oauth_creds.json",
		".gemini/gemini-credentials.json",
		".local/share/opencode/auth.json",
		".copilot/config.json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(logins); i++)
		if ((classes_of(logins[i], "") & (PATH_CRED | PATH_TRUSTED)) !=
		    (PATH_CRED | PATH_TRUSTED))
			fail_msg("%s", logins[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logins_of_every_agent_are_credentials),
		cmocka_unit_test(private_places_of_every_agent_are_trusted_files),
		cmocka_unit_test(logins_keep_their_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
