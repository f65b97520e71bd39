#include "tests.h"

#include <stdlib.h>

#include "config/config.h"
#include "compose/resource-limits.h"

static const struct limits_facts machine = {
	.mem_total = 8 * GiB,
	.mem_enclosing = UINT64_MAX,
	.nofile_hard = 20000,
	.nproc_hard = RLIM_INFINITY,
	.pids_max = 32768,
	.cpus = 2,
	.nproc_per_userns = true,
};

static const struct cgroup_support none = {.method = CGROUP_NONE};
static const struct cgroup_support v1 = {.method = CGROUP_V1, .controllers = CGROUP_ALL};

static struct spec_limits decide(const struct config *c, const struct limits_facts *f,
				 const struct cgroup_support *s)
{
	struct spec_limits l = {0};
	struct err e = {0};

	if (limits_decide(c, f, s, &l, &e) < 0)
		fail_msg("%s", e.msg);
	return l;
}

static void defaults_bound_a_balloon_and_a_fork_bomb(void **state)
{
	struct config c = {0};
	struct spec_limits l = decide(&c, &machine, &v1);

	assert_int_equal(l.memory, 6 * GiB);
	assert_int_equal(l.pids, 4096);
	assert_int_equal(l.open_files, 20000);
	assert_string_equal(l.method, "cgroup v1 (memory, pids, cpu)");
	free(l.method);
}

static void an_enclosing_cgroup_is_the_machine(void **state)
{
	struct limits_facts f = machine;
	struct config c = {0};
	struct spec_limits l;

	f.mem_enclosing = 1 * GiB;
	l = decide(&c, &f, &none);
	assert_int_equal(l.memory, 768 * MiB);
	assert_string_equal(l.method, "rlimits");
	free(l.method);
}

static void a_small_machine_keeps_half_its_pids(void **state)
{
	struct limits_facts f = machine;
	struct config c = {.limits.pids = 100000};
	struct spec_limits l;

	f.pids_max = 1000;
	l = decide(&c, &f, &none);
	assert_int_equal(l.pids, 500);
	free(l.method);
}

static void memory_too_small_to_start_in_is_a_usage_error(void **state)
{
	struct config c = {.limits.memory = 4096};
	struct spec_limits l;
	struct err e = {0};

	assert_int_equal(limits_decide(&c, &machine, &v1, &l, &e), -EINVAL);
	assert_int_equal(e.exit_code, EXIT_USAGE);
}

static bool limits_has(const struct spec_rlimit *r, size_t n, int resource, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		if (r[i].resource == resource)
			return r[i].value == value;
	return false;
}

static void without_cgroups_rlimits_bound_memory_and_processes(void **state)
{
	struct config c = {0};
	struct spec_limits l = decide(&c, &machine, &none);
	struct spec_rlimit r[SPEC_RLIMITS_MAX];
	size_t n = limits_rlimits(&l, &machine, 0, r);

	assert_int_equal(n, 3);
	assert_true(limits_has(r, n, RLIMIT_NOFILE, 20000));
	assert_true(limits_has(r, n, RLIMIT_DATA, 6 * GiB));
	assert_true(limits_has(r, n, RLIMIT_NPROC, 4096));
	free(l.method);
}

static void with_cgroups_no_process_is_limited_by_itself(void **state)
{
	struct config c = {0};
	struct spec_limits l = decide(&c, &machine, &v1);
	struct spec_rlimit r[SPEC_RLIMITS_MAX];

	assert_int_equal(limits_rlimits(&l, &machine, CGROUP_ALL, r), 1);
	free(l.method);
}

static void the_description_says_what_holds_per_process_only(void **state)
{
	struct config c = {.limits.cpu = 50};
	struct spec_limits l = decide(&c, &machine, &none);
	cleanup_free char *none_held = limits_unbounded(&l);
	cleanup_free char *without_cpu = NULL;

	assert_non_null(strstr(none_held, "each process"));
	assert_non_null(strstr(none_held, "shared memory"));
	assert_non_null(strstr(none_held, "processor"));
	l.controllers = CGROUP_MEMORY | CGROUP_PIDS;
	without_cpu = limits_unbounded(&l);
	assert_string_equal(without_cpu, "the processor");
	l.controllers = CGROUP_ALL;
	assert_null(limits_unbounded(&l));
	free(l.method);
}

static void as_many_cores_as_there_are_is_no_limit(void **state)
{
	struct config c = {.limits.cpu = 200};
	struct spec_limits l = decide(&c, &machine, &v1);

	assert_int_equal(l.cpu, 0);
	free(l.method);
}

static void the_facts_of_this_machine_are_sane(void **state)
{
	struct limits_facts f;
	struct err e = {0};

	assert_int_equal(limits_facts_read(NULL, &f, &e), 0);
	assert_true(f.mem_total > 64 * MiB);
	assert_true(f.cpus > 0);
	assert_true(f.nofile_hard > 0);
}

static void limits_of_root_without_cgroups_say_that_processes_are_not_counted(void **state)
{
	struct limits_facts facts = machine;
	struct spec_limits l = {0};
	struct config *c = config_new();
	struct err err;

	facts.root = true;
	assert_true(limits_pids_unbounded(&facts, 0));
	assert_false(limits_pids_unbounded(&facts, CGROUP_ALL));
	assert_false(limits_pids_unbounded(&machine, 0));
	assert_int_equal(limits_decide(c, &facts, &none, &l, &err), 0);
	assert_non_null(strstr(l.method, "not counted"));
	free(l.method);
	(void)config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_of_root_without_cgroups_say_that_processes_are_not_counted),
		cmocka_unit_test(defaults_bound_a_balloon_and_a_fork_bomb),
		cmocka_unit_test(an_enclosing_cgroup_is_the_machine),
		cmocka_unit_test(a_small_machine_keeps_half_its_pids),
		cmocka_unit_test(memory_too_small_to_start_in_is_a_usage_error),
		cmocka_unit_test(without_cgroups_rlimits_bound_memory_and_processes),
		cmocka_unit_test(with_cgroups_no_process_is_limited_by_itself),
		cmocka_unit_test(the_description_says_what_holds_per_process_only),
		cmocka_unit_test(as_many_cores_as_there_are_is_no_limit),
		cmocka_unit_test(the_facts_of_this_machine_are_sane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
