#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/probe-client.h"
#include "engine/probe-child.h"
#include "engine/probe-host.h"

static void without_bwrap_on_path_the_error_names_the_package(void **state)
{
	cleanup_free char *path = xstrdup(getenv("PATH"));
	struct err e = {0};
	int r;

	assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
	r = host_native_usable(&e);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(e.msg, "apt install bubblewrap"));
	assert_int_equal(err_exit_code(&e, EXIT_RUNTIME), EXIT_RALPH);
}

static void a_program_is_not_found_through_a_relative_entry(void **state)
{
	char *found = path_find_program("sh", "bin:.::/bin");

	assert_string_equal(found, "/bin/sh");
	free(found);
	assert_null(path_find_program("sh", "bin:."));
	assert_null(path_find_program("sh", NULL));
}

static int hang(void)
{
	for (;;)
		(void)pause();
	return 0;
}

static int seven(void)
{
	return 7;
}

static void a_probe_that_hangs_is_ended_and_reaped(void **state)
{
	assert_int_equal(probe_in_child(hang, 20), -ETIMEDOUT);
	assert_int_equal(probe_in_child(seven, 2000), 7);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void remedies_name_the_switch_that_is_off(void **state)
{
	struct host_userns apparmor = {.apparmor_restrict = true};
	struct host_userns debian = {.clone_off = true};

	assert_non_null(strstr(host_userns_remedy(&apparmor), "apparmor_restrict"));
	assert_non_null(strstr(host_userns_remedy(&debian), "unprivileged_userns_clone=1"));
}

static void kvm_is_judged_by_a_guest_and_leaves_no_child(void **state)
{
	enum host_kvm k = host_kvm(500);

	assert_true(k >= HOST_KVM_OK && k < HOST_KVM_N);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void the_probe_of_namespaces_leaves_this_process_where_it_is(void **state)
{
	struct stat before, after;
	struct host_userns u;
	struct err e = {0};

	assert_int_equal(stat("/proc/self/ns/user", &before), 0);
	assert_int_equal(host_userns(&u, &e), 0);
	assert_int_equal(stat("/proc/self/ns/user", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

/* `ralph doctor` must ask the daemon that the engine will use. */
static void client_is_asked_with_the_variables_that_lead_to_its_daemon(void **state)
{
	static const char *const names[] = {"DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
					    "CONTAINER_HOST", "SSH_AUTH_SOCK"};
	cleanup_strv struct strv env = {0};

	assert_int_equal(setenv("RALPH_TEST_SECRET", "x", 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(setenv(names[i], "there", 1), 0);
	host_client_env(&env);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(strv_env_get(&env, names[i]), "there");
		assert_int_equal(unsetenv(names[i]), 0);
	}
	assert_null(strv_env_get(&env, "RALPH_TEST_SECRET"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_bwrap_on_path_the_error_names_the_package),
		cmocka_unit_test(a_program_is_not_found_through_a_relative_entry),
		cmocka_unit_test(a_probe_that_hangs_is_ended_and_reaped),
		cmocka_unit_test(remedies_name_the_switch_that_is_off),
		cmocka_unit_test(kvm_is_judged_by_a_guest_and_leaves_no_child),
		cmocka_unit_test(the_probe_of_namespaces_leaves_this_process_where_it_is),
		cmocka_unit_test(client_is_asked_with_the_variables_that_lead_to_its_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
