#include "tests.h"

#include "base/landlock.h"
#include "base/proc.h"
#include "confine/filters.h"
#include "confine/syscalls.h"
#include "edge/reach/resolver.h"
#include "flow/isolate.h"

#include <arpa/inet.h>
#include <cap-ng.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* What bytes that have taken the gateway over would try. 0: refused, 1: it worked. */
static int read_a_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0;
}

static int write_a_file(void)
{
	return open("/tmp/ralph-isolate", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
}

static int listen_for_others(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
}

static int signal_its_parent(void)
{
	return kill(getppid(), 0) == 0;
}

#if !defined(__SANITIZE_ADDRESS__) /* whose own calls are not in the list */
static int run_a_program(void)
{
	return execl("/bin/true", "true", (char *)NULL);
}

static int start_a_process(void)
{
	return fork() >= 0;
}

static int make_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) != MAP_FAILED;
}

static int speak_to_a_local_service(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
}

static int connect_a_socket(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

	return connect(0, (struct sockaddr *)&a, sizeof(a)) == 0;
}
#endif

static int read_the_certificates(void)
{
	return open("/etc/ssl/openssl.cnf", O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1;
}

static int make_a_connection(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ? 0 : 1;
}

static int may_get_a_capability(void)
{
	return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1;
}

enum stage { FILES, EDGE, GATEWAY, HELPER };

static int give_up(enum stage stage)
{
	static const char *const trust[] = {"/etc/ssl", NULL};
	int pair[2];

	if (stage == HELPER)
		return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
				       resolver_isolate(pair[1]) < 0
			       ? -1
			       : 0;
	if (isolate_rights() < 0 ||
	    isolate_files(stage == GATEWAY ? trust : NULL, NULL, NULL, LANDLOCK_NO_SIGNALS) < 0)
		return -1;
	return stage == FILES ? 0 : stage == EDGE ? confine_calls(edge) : confine_calls(gateway);
}

/* What's exit code in a process that has come to that stage, or 128 + the signal. */
static int after(enum stage stage, int (*what)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(give_up(stage) < 0 ? 99 : what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return run_status(status);
}

/* Which kernels hold it is landlock(7)'s; here it is told apart so that none is skipped. */
static int refused_since(int abi)
{
	return landlock_abi() >= abi ? 0 : 1;
}

static void the_edge_makes_connections(void **state)
{
	assert_int_equal(after(EDGE, make_a_connection), 0);
}

static void the_gateway_reads_the_certificates(void **state)
{
	if (read_the_certificates() == 0 && landlock_abi() >= 1)
		assert_int_equal(after(GATEWAY, read_the_certificates), 0);
}

static void it_has_no_other_file(void **state)
{
	assert_int_equal(after(FILES, read_a_file), refused_since(1));
	assert_int_equal(after(FILES, write_a_file), refused_since(1));
}

/* Without CAP_SETPCAP nobody can take it out of the set. */
static void it_can_get_no_capability_back(void **state)
{
	int kept = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) ? 0 : may_get_a_capability();

	assert_int_equal(after(FILES, may_get_a_capability), kept);
}

static void it_does_not_listen_and_signals_nobody(void **state)
{
	assert_int_equal(after(FILES, listen_for_others), refused_since(4));
	assert_int_equal(after(FILES, signal_its_parent), refused_since(6));
}

static void a_look_up_reads_settings_and_writes_nothing(void **state)
{
	assert_int_equal(after(HELPER, read_a_file), 1);
	assert_int_equal(after(HELPER, write_a_file), 0);
	assert_int_equal(after(HELPER, listen_for_others), refused_since(4));
}

#if !defined(__SANITIZE_ADDRESS__)
static void neither_runs_anything_or_makes_code(void **state)
{
	for (enum stage s = EDGE; s <= GATEWAY; s++) {
		assert_int_equal(after(s, run_a_program), 128 + SIGSYS);
		assert_int_equal(after(s, start_a_process), 128 + SIGSYS);
		assert_int_equal(after(s, make_code), 128 + SIGSYS);
		assert_int_equal(after(s, speak_to_a_local_service), 128 + SIGSYS);
		assert_int_equal(after(s, write_a_file), 128 + SIGSYS);
	}
}

static void the_edge_opens_no_file(void **state)
{
	assert_int_equal(after(EDGE, read_the_certificates), 128 + SIGSYS);
}

static void the_gateway_makes_no_socket_and_no_connection(void **state)
{
	assert_int_equal(after(GATEWAY, make_a_connection), 128 + SIGSYS);
	assert_int_equal(after(GATEWAY, connect_a_socket), 128 + SIGSYS);
}

static void a_look_up_runs_nothing(void **state)
{
	assert_int_equal(after(HELPER, run_a_program) & 0xff, 0xff);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_edge_makes_connections),
		cmocka_unit_test(the_gateway_reads_the_certificates),
		cmocka_unit_test(it_has_no_other_file),
		cmocka_unit_test(it_can_get_no_capability_back),
		cmocka_unit_test(it_does_not_listen_and_signals_nobody),
		cmocka_unit_test(a_look_up_reads_settings_and_writes_nothing),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(neither_runs_anything_or_makes_code),
		cmocka_unit_test(the_edge_opens_no_file),
		cmocka_unit_test(the_gateway_makes_no_socket_and_no_connection),
		cmocka_unit_test(a_look_up_runs_nothing),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
