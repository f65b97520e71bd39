#include "tests.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/path.h"
#include "engine/engine.h"
#include "engine/plan.h"
#include "spec-sample.h"

#define GOLDEN SOURCE_ROOT "/tests/golden"

/* The plan of a spec as text, or NULL with the error. */
static char *plan_of(const struct sandbox_spec *spec, struct err *err)
{
	cleanup_(engine_freep) struct engine *e = NULL;
	char *text = NULL;
	size_t n = 0;
	FILE *f;

	assert_int_equal(engine_new(spec->engine, &e, err), 0);
	if (engine_plan(e, spec, err) < 0)
		return NULL;
	f = open_memstream(&text, &n);
	assert_non_null(f);
	engine_dump(e, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

static char *read_file(const char *path)
{
	cleanup_buf struct buf b;

	buf_init(&b, 1 * MiB);
	if (path_read(AT_FDCWD, path, &b) < 0)
		fail_msg("cannot read %s", path);
	return buf_take(&b);
}

/* With RALPH_GOLDEN=update the plan is written instead: the change is for a person to look at. */
static void check_case(const char *engine, const char *name)
{
	cleanup_free char *in = xasprintf(GOLDEN "/%s/%s.json", engine, name);
	cleanup_free char *out = xasprintf(GOLDEN "/%s/%s.plan", engine, name);
	cleanup_free char *text = read_file(in);
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_free char *got = NULL, *want = NULL;
	cleanup_json json_t *j = NULL;
	struct err e = {0};

	if (json_parse(text, strlen(text), &j, &e) < 0 || spec_from_json(j, &spec, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
	got = plan_of(spec, &e);
	if (!got)
		fail_msg("%s: %s", name, e.msg);
	if (getenv("RALPH_GOLDEN") && streq(getenv("RALPH_GOLDEN"), "update"))
		assert_int_equal(path_write_atomic(AT_FDCWD, out, got, strlen(got), 0644, 0), 0);
	want = read_file(out);
	if (!streq(want, got))
		fail_msg("the plan of %s has changed:\n%s", name, got);
}

static int check_engine(const char *engine)
{
	cleanup_free char *path = xasprintf(GOLDEN "/%s", engine);
	DIR *dir = opendir(path);
	struct dirent *de;
	int n = 0;

	assert_non_null(dir);
	while ((de = readdir(dir))) {
		char *dot = strrchr(de->d_name, '.');

		if (!dot || !streq(dot, ".json"))
			continue;
		*dot = '\0';
		check_case(engine, de->d_name);
		n++;
	}
	(void)closedir(dir);
	return n;
}

static void plan_of_each_golden_spec_is_as_it_was(void **state)
{
	/* The name of a sandbox must fit into a path below it. */
	assert_int_equal(setenv("HOME", "/home/u", 1), 0);
	assert_true(check_engine("native") >= 3);
	assert_true(check_engine("gvisor") >= 1);
	assert_true(check_engine("docker") >= 3);
	assert_true(check_engine("podman") >= 3);
	assert_true(check_engine("sbx") >= 8);
}

static void plan_is_the_same_each_time(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	struct err e;
	cleanup_free char *a = plan_of(s, &e), *b = plan_of(s, &e);

	assert_non_null(a);
	assert_string_equal(a, b);
}

static void plan_without_the_guest_is_refused(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	struct err e = {0};

	for (size_t i = 0; i < s->n_mounts; i++)
		if (streq(s->mounts[i].target, "/run/ralph/guest"))
			s->mounts[i].target[1] = 'x';
	assert_null(plan_of(s, &e));
	assert_non_null(strstr(e.msg, "guest"));
}

static void plan_of_a_spec_that_does_not_hold_is_refused(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	struct err e = {0};

	(void)spec_mount_add(s, SPEC_BIND_RW, "/a/../etc", "/data", "no");
	assert_null(plan_of(s, &e));
}

static void plan_always_isolates(void **state)
{
	static const char *const flags[] = {
		"guest launch",
		"namespaces: user, mount, pid, ipc, uts, net, cgroup",
		"before it is user 1000",
	};
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_free char *plan = NULL;
	struct err e;

	plan = plan_of(s, &e);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (!strstr(plan, flags[i]))
			fail_msg("%s is missing", flags[i]);
	/* Content does not show, nor does a secret that is in the environment. */
	assert_null(strstr(plan, "b=c"));
}

/* A container gets no power, no network and no environment, whatever the spec says. */
static void plan_of_a_container_gives_nothing_away(void **state)
{
	static const char *const flags[] = {
		"--network none", "--cap-drop ALL", "--security-opt no-new-privileges",
		"--read-only",	  "--pull never",   "--user 1000:1001",
		"--pids-limit",	  "--memory",	    "before it is user 1000",
	};
	static const char *const never[] = {"--privileged", "--env", " -e ",
					    "--cap-add",    "b=c",   "--publish"};
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_free char *plan = NULL;
	struct err e = {0};

	free(s->engine);
	s->engine = xstrdup("docker");
	s->container.image = xstrdup("some:image");
	s->container.line = xstrdup("/run/ralph/x/line");
	s->limits.controllers = 7;
	plan = plan_of(s, &e);
	if (!plan)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (!strstr(plan, flags[i]))
			fail_msg("%s is missing", flags[i]);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (strstr(plan, never[i]))
			fail_msg("%s is in the plan", never[i]);
}

static void plan_of_a_container_without_an_image_is_refused(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	struct err e = {0};

	free(s->engine);
	s->engine = xstrdup("podman");
	assert_null(plan_of(s, &e));
	assert_non_null(strstr(e.msg, "image"));
	/* Nor is one taken that the program would read as an option. */
	s->container.image = xstrdup("--privileged");
	s->container.line = xstrdup("/run/ralph/x/line");
	assert_null(plan_of(s, &e));
}

static void engine_unknown_name_is_the_users_mistake(void **state)
{
	struct engine *e = NULL;
	struct err err = {0};

	assert_true(engine_new("vmware", &e, &err) < 0);
	assert_int_equal(err.exit_code, EXIT_USAGE);
	assert_null(e);
}

static void what_a_terminal_acts_on_is_bytes_of_a_shell_word_in_a_plan(void **state)
{
	static const struct {
		const char *word, *shown;
	} rows[] = {
		{"a\xc2\x9b"
		 "31m",
		 "$'a\\xc2\\x9b31m'"},
		{"a\xe2\x80\xae'\\", "$'a\\xe2\\x80\\xae\\'\\\\'"},
		{"\x9b\x1b", "$'\\x9b\\x1b'"},
		{"\xc3\xbc it's", "'\xc3\xbc it'\\''s'"},
		{"plain", "plain"},
		{"", "''"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *text = NULL;
		size_t n = 0;
		FILE *f = open_memstream(&text, &n);

		plan_put_word(rows[i].word, f);
		assert_int_equal(fclose(f), 0);
		assert_string_equal(text, rows[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_of_each_golden_spec_is_as_it_was),
		cmocka_unit_test(plan_is_the_same_each_time),
		cmocka_unit_test(plan_without_the_guest_is_refused),
		cmocka_unit_test(plan_of_a_spec_that_does_not_hold_is_refused),
		cmocka_unit_test(plan_always_isolates),
		cmocka_unit_test(plan_of_a_container_gives_nothing_away),
		cmocka_unit_test(plan_of_a_container_without_an_image_is_refused),
		cmocka_unit_test(engine_unknown_name_is_the_users_mistake),
		cmocka_unit_test(what_a_terminal_acts_on_is_bytes_of_a_shell_word_in_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
