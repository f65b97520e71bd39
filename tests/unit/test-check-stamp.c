#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "check/selftest.h"
#include "engine/engine.h"
#include "record/places.h"
#include "spec-sample.h"

static char root[] = "/tmp/ralph-stamp.XXXXXX";

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct sandbox_spec *asked(const char *engine)
{
	struct sandbox_spec *s = sample_spec();
	struct err e = {0};

	free(s->engine);
	s->engine = xstrdup(engine);
	free(s->kernel.program);
	free(s->kernel.version);
	s->kernel = (struct spec_kernel){0};
	if (engine_ask(s, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

/* Whether a pass of the first spec counts for the second. */
static bool counts(const struct sandbox_spec *passed, const struct sandbox_spec *now)
{
	struct places p = {.state = root};

	selftest_stamp(&p, passed);
	assert_true(selftest_passed_by(&p, passed, passed->name));
	return selftest_passed_by(&p, now, passed->name);
}

static void pass_with_one_kernel_says_nothing_of_another(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *before = NULL, *same = NULL, *after = NULL;
	cleanup_free char *kernel = xasprintf("%s/ralph/vm/kernel", root);

	write_file(kernel, "one");
	before = asked("vm:emulated");
	same = asked("vm:emulated");
	assert_true(counts(before, same));
	write_file(kernel, "another");
	after = asked("vm:emulated");
	assert_string_not_equal(before->kernel.version, after->kernel.version);
	assert_false(counts(before, after));
}

static void pass_with_one_runsc_says_nothing_of_another(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *before = NULL, *after = NULL;
	cleanup_free char *runsc = xasprintf("%s/runsc", root);

	write_file(runsc, "one");
	assert_int_equal(setenv("RALPH_RUNSC", runsc, 1), 0);
	before = asked("gvisor");
	write_file(runsc, "another");
	after = asked("gvisor");
	assert_false(counts(before, after));
}

static void pass_with_one_guest_says_nothing_of_another(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = asked("native");
	cleanup_free char *guest = xasprintf("%s/guest", root);
	struct places p = {.state = root};

	write_file(guest, "one");
	for (size_t i = 0; i < s->n_mounts; i++)
		if (streq(s->mounts[i].target, "/run/ralph/guest")) {
			free(s->mounts[i].source);
			s->mounts[i].source = xstrdup(guest);
		}
	assert_true(counts(s, s));
	write_file(guest, "another");
	assert_false(selftest_passed_by(&p, s, s->name));
}

static int make_places(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_free char *record = NULL, *machine = NULL;
	struct err e;

	if (!mkdtemp(root) || setenv("XDG_CACHE_HOME", root, 1) < 0)
		return -1;
	record = xasprintf("%s/sandboxes/%s", root, s->name);
	machine = xasprintf("%s/ralph/vm", root);
	return path_mkdirs(record, 0700, &e) < 0 || path_mkdirs(machine, 0700, &e) < 0 ? -1 : 0;
}

static int remove_places(void **state)
{
	struct err e;

	return path_remove_tree(AT_FDCWD, root, &e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pass_with_one_kernel_says_nothing_of_another),
		cmocka_unit_test(pass_with_one_runsc_says_nothing_of_another),
		cmocka_unit_test(pass_with_one_guest_says_nothing_of_another),
	};

	return cmocka_run_group_tests(tests, make_places, remove_places);
}
