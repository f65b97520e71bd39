#include "tests.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "spec/host-env.h"
#include "spec/spec.h"

static void directories_the_sandbox_writes_are_not_searched_for_programs(void **state)
{
	struct sandbox_spec *s = spec_new();
	cleanup_free char *path = NULL;

	(void)spec_mount_add(s, SPEC_BIND_RW, "/tmp", "/tmp", "the workspace");
	path = host_path(s, "/tmp:/usr/bin:./bin::/nonexistent:/bin");
	assert_string_equal(path, "/usr/bin:/bin");
	(void)spec_free(s);
}

static void an_environment_survives_the_memory_file(void **state)
{
	char *env[] = {(char *)"A=1", (char *)"PATH=/usr/bin", (char *)"EMPTY=", NULL};
	struct sandbox_spec *s = spec_new();
	static const char want[] = "A=1\0PATH=/usr/bin\0EMPTY=";
	cleanup_buf struct buf b;
	int fd = host_environ_memfd(s, env);

	buf_init(&b, HOST_ENVIRON_MAX);
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_read_all(fd, &b), 0);
	assert_int_equal(b.len, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
	closep(&fd);
	(void)spec_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_the_sandbox_writes_are_not_searched_for_programs),
		cmocka_unit_test(an_environment_survives_the_memory_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
