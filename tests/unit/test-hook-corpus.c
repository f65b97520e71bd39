/* The corpora of tests/hook: nothing that must be stopped passes, and little else is stopped. */
#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/path.h"
#include "hook/judge.h"

#define HARMLESS_MAX_PERCENT 2

static const char *const verdicts[] = {"-", "warn", "block"};

static const char *environment(const char *name)
{
	static const char *const set[][2] = {
		{"PATH", "/usr/bin:/bin"}, {"USER", "dev"}, {"SHELL", "/bin/bash"}, {"LANG", "C"}};

	for (size_t i = 0; i < ARRAY_SIZE(set); i++)
		if (streq(name, set[i][0]))
			return set[i][1];
	return NULL;
}

/* The worst that is said, and whether it was in this category. */
static enum severity judged(const char *command, const char *category, bool *right)
{
	volatile enum severity worst = SEV_NONE; /* set behind a longjmp */
	struct arena a;
	struct judge j;

	arena_init(&a, JUDGE_MEMORY);
	judge_init(&j, &a, "/home/dev/project", "/home/dev");
	j.getenv = environment;
	if (setjmp(a.out) == 0) {
		judge_script(&j, command, strlen(command));
	} else {
		print_message("gave up: %s: %s\n", a.why, command);
		worst = SEV_BLOCK;
	}
	for (unsigned int i = 0; i < j.n_findings; i++)
		if (j.findings[i].severity > worst)
			worst = j.findings[i].severity;
	*right = worst == SEV_NONE;
	for (unsigned int i = 0; i < j.n_findings; i++)
		if (j.findings[i].severity == worst &&
		    streq(category_info(j.findings[i].category)->name, category))
			*right = true;
	if (getenv("RALPH_HOOK_SHOW"))
		for (unsigned int i = 0; i < j.n_findings; i++)
			print_message("    %s %s: %s: %s\n", verdicts[j.findings[i].severity],
				      category_info(j.findings[i].category)->name,
				      j.findings[i].text, j.findings[i].why);
	arena_done(&a);
	return worst;
}

/* ␤ is a newline. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (strncmp(s, "␤", 3) == 0) {
			*to++ = '\n';
			s += 3;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static void run_corpus(const char *name, unsigned int *missed, unsigned int *alarms,
		       unsigned int *bad, unsigned int *harmless)
{
	cleanup_free char *path = xasprintf(SOURCE_ROOT "/tests/hook/%s", name);
	cleanup_buf struct buf b;
	char *save = NULL;

	buf_init(&b, 1 * MiB);
	assert_int_equal(path_read(AT_FDCWD, path, &b), 0);
	for (char *line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *category = strchr(line, '\t'), *command;
		enum severity got;
		bool right;

		if (line[0] == '#')
			continue;
		assert_non_null(category);
		*category++ = '\0';
		command = strchr(category, '\t');
		assert_non_null(command);
		*command++ = '\0';
		unescape(command);
		got = judged(command, category, &right);
		if (streq(line, "-")) {
			(*harmless)++;
			if (got != SEV_NONE) {
				(*alarms)++;
				print_message("false alarm (%s): %s\n", verdicts[got], command);
			}
			continue;
		}
		(*bad)++;
		if (!streq(line, verdicts[got]) || !right) {
			(*missed)++;
			print_message("missed (%s, not %s %s%s): %s\n", verdicts[got], line,
				      category, right ? "" : ", other category", command);
		}
	}
}

static void check_corpus(const char *name)
{
	unsigned int missed = 0, alarms = 0, bad = 0, harmless = 0;

	run_corpus(name, &missed, &alarms, &bad, &harmless);
	print_message("%s: %u of %u missed, %u false alarms of %u\n", name, missed, bad, alarms,
		      harmless);
	assert_int_equal(missed, 0);
	assert_true(alarms * 100 <= harmless * HARMLESS_MAX_PERCENT);
}

static void nothing_of_the_corpus_is_missed_and_little_else_is_stopped(void **state)
{
	check_corpus("corpus.tsv");
}

static void so_it_is_with_what_was_written_afterwards(void **state)
{
	check_corpus("heldout.tsv");
	check_corpus("third.tsv");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_the_corpus_is_missed_and_little_else_is_stopped),
		cmocka_unit_test(so_it_is_with_what_was_written_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
