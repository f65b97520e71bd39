#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/find-program.h"
#include "base/mem.h"
#include "engine/probe-client.h"
#include "engine/probe-child.h"
#include "engine/probe-host.h"

static void a_guest_that_is_not_there_is_named_and_nothing_is_left(void **state)
{
	struct host_native n;
	struct err e = {0};

	assert_int_equal(setenv("RALPH_LIBEXEC", "/nonexistent", 1), 0);
	assert_int_equal(host_native_try(&n, &e), 0);
	assert_false(n.usable);
	assert_false(n.born);
	assert_int_equal(n.failed, ENOENT);
	assert_non_null(strstr(n.said, "/nonexistent/guest"));
	assert_true(host_native_usable(&e) < 0);
	assert_int_equal(err_exit_code(&e, EXIT_RUNTIME), EXIT_RALPH);
	assert_int_equal(setenv("RALPH_LIBEXEC", GUEST_DIR, 1), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_guest_that_ends_without_a_word_is_no_hang(void **state)
{
	char dir[] = "/tmp/probe-host-XXXXXX";
	cleanup_free char *guest = NULL;
	struct host_native n;
	struct err e = {0};

	assert_non_null(mkdtemp(dir));
	guest = xasprintf("%s/guest", dir);
	assert_int_equal(symlink("/bin/false", guest), 0);
	assert_int_equal(setenv("RALPH_LIBEXEC", dir, 1), 0);
	assert_int_equal(host_native_try(&n, &e), 0);
	assert_int_equal(setenv("RALPH_LIBEXEC", GUEST_DIR, 1), 0);
	assert_false(n.usable);
	assert_non_null(strstr(n.said, "did not start"));
	assert_int_equal(unlink(guest), 0);
	assert_int_equal(rmdir(dir), 0);
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

struct remedy {
	struct host_facts facts;
	bool born;
	int failed;
	const char *says;
};

static void each_way_to_fail_has_its_remedy(void **state)
{
	static const struct remedy rows[] = {
		{{.max_zero = true}, false, ENOSPC, "user.max_user_namespaces=15000"},
		{{0}, false, ENOSPC, "in use"},
		{{.clone_off = true}, false, EPERM, "unprivileged_userns_clone=1"},
		{{.clone_off = true, .root = true, .container = true}, false, EPERM, "CONTAINERS"},
		{{.apparmor_restrict = true}, true, EACCES, "apparmor_parser -r"},
		{{.apparmor_restrict = true, .container = true}, true, EPERM, "CONTAINERS"},
		{{.filtered = true}, false, EPERM, "seccomp profile"},
		{{.proc_masked = true}, true, EPERM, "unmasked /proc"},
		{{.proc_masked = true, .selinux = true}, false, EPERM, "ausearch"},
		{{0}, true, ENOSYS, "Linux 5.12"},
		{{0}, false, EINVAL, "CONFIG_USER_NS"},
		{{0}, false, EPERM, "chroot"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = host_native_remedy(&rows[i].facts, rows[i].born, rows[i].failed);

		if (!strstr(text, rows[i].says))
			fail_msg("row %zu: %s", i, text);
	}
}

static void a_failure_that_is_not_the_systems_gets_no_remedy(void **state)
{
	struct err e = {0};

	(void)err_set(&e, ETIMEDOUT, "late");
	assert_int_equal(host_native_explain(-ETIMEDOUT, &e), -ETIMEDOUT);
	assert_string_equal(e.msg, "late");
	assert_int_equal(host_native_explain(-EPERM, &e), -EPERM);
	assert_non_null(strstr(e.msg, "late; "));
	assert_int_equal(host_native_explain(0, &e), 0);
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
	struct host_native n;
	struct err e = {0};

	assert_int_equal(stat("/proc/self/ns/user", &before), 0);
	assert_int_equal(host_native_try(&n, &e), 0);
	assert_int_equal(stat("/proc/self/ns/user", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	if (!n.usable)
		fail_msg("%s", n.said);
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
		cmocka_unit_test(a_guest_that_is_not_there_is_named_and_nothing_is_left),
		cmocka_unit_test(a_guest_that_ends_without_a_word_is_no_hang),
		cmocka_unit_test(a_program_is_not_found_through_a_relative_entry),
		cmocka_unit_test(a_probe_that_hangs_is_ended_and_reaped),
		cmocka_unit_test(each_way_to_fail_has_its_remedy),
		cmocka_unit_test(a_failure_that_is_not_the_systems_gets_no_remedy),
		cmocka_unit_test(kvm_is_judged_by_a_guest_and_leaves_no_child),
		cmocka_unit_test(the_probe_of_namespaces_leaves_this_process_where_it_is),
		cmocka_unit_test(client_is_asked_with_the_variables_that_lead_to_its_daemon),
	};

	(void)setenv("RALPH_LIBEXEC", GUEST_DIR, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
