/* What could a credential helper do that was taken over, after it gave up what it does not need? */
#include "cred-home.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "base/proc.h"
#include "cred/hold/cred-broker.h"
#include "cred/run.h"

#define COMMAND "echo token"

static struct home home;
static struct cred_needs needs;
static char *login, *other;

/* Each returns 0 where it was refused, 1 where it worked. */
static int read_the_login_by_its_path(void)
{
	return open(login, O_RDONLY | O_CLOEXEC) >= 0;
}

static int read_another_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || cred_open(&home.host, other) >= 0;
}

static int write_a_file(void)
{
	return open(other, O_WRONLY | O_CLOEXEC) >= 0 || unlink(other) == 0 ||
	       open("/tmp/ralph-confine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
}

static int replace_another_file(void)
{
	struct err ignored;

	return cred_save(&home.host, other, "x", &ignored) == 0;
}

static int run_another_command(void)
{
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)"echo stolen", NULL};
	cleanup_free char *out = NULL;
	struct err ignored;
	int code = 0;

	return cred_run(&home.host, argv, NULL, 5000, &out, &code, &ignored) == 0;
}

static int ask_another_server(void)
{
	cleanup_free char *fetch = path_join(home.host.libexec, "fetch");
	char *argv[] = {fetch, (char *)"https://attacker.example/", NULL};
	cleanup_free char *out = NULL;
	struct err ignored;
	int code = 0;

	return cred_run(&home.host, argv, NULL, 5000, &out, &code, &ignored) == 0;
}

#if !defined(__SANITIZE_ADDRESS__) /* whose own calls are in no table */
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

static int make_a_socket(void)
{
	int pair[2];

	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ||
	       socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ||
	       socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0;
}

static int touch_another_process(void)
{
	char byte;
	struct iovec ours = {&byte, 1}, theirs = {&byte, 1};

	return kill(getppid(), 0) == 0 || ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0 ||
	       process_vm_readv(getppid(), &ours, 1, &theirs, 1, 0) == 1;
}
#endif

/* These succeed, and return 0 then. */
static int run_its_command(void)
{
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)COMMAND, NULL};
	cleanup_free char *out = NULL;
	struct err err = {0};
	int code = 1;

	return cred_run(&home.host, argv, NULL, 5000, &out, &code, &err) < 0 || code != 0 ||
	       !streq(out, "token");
}

static int end_a_command_that_hangs(void)
{
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)"exec /bin/sleep 100", NULL};
	cleanup_free char *out = NULL;
	struct err err = {0};
	int code = 0;

	return cred_run(&home.host, argv, NULL, 100, &out, &code, &err) != -ETIMEDOUT ||
	       run_its_command();
}

static int read_and_replace_its_login(void)
{
	struct err err = {0};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, CRED_FILE_MAX);
	r = cred_read_file(&home.host, login, &b, NULL, &err);
	if (r < 0 || !streq(buf_str(&b), "old") || cred_save(&home.host, login, "new", &err) < 0)
		return 1;
	buf_clear(&b);
	r = cred_read_file(&home.host, login, &b, NULL, &err);
	return r < 0 || !streq(buf_str(&b), "new");
}

static int set_up(void **state)
{
	char *command[] = {(char *)"/bin/sh", (char *)"-c", (char *)COMMAND, NULL};
	char *hangs[] = {(char *)"/bin/sh", (char *)"-c", (char *)"exec /bin/sleep 100", NULL};

	home_make(&home);
	home_program(&home, "fetch", "echo fetched");
	home_put(&home, "login", 0600, "old");
	home_put(&home, "other", 0600, "mine");
	login = home_path(&home, "login");
	other = home_path(&home, "other");
	cred_needs_program(&needs, command, NULL);
	cred_needs_program(&needs, hangs, NULL);
	strv_push(&needs.files, login);
	strv_push(&needs.saved, login);
	return 0;
}

static int tear_down(void **state)
{
	cred_needs_done(&needs);
	home_drop(&home);
	free(login);
	free(other);
	return 0;
}

/* What's exit code in a process that is confined as the helper is, or 128 + the signal. */
static int confined(int (*what)(void))
{
	struct err err = {0};
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(cred_confine(&home.host, &needs, &err) < 0 ? 99 : what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return run_status(status);
}

static int without_landlock(void)
{
	return landlock_abi() >= 1 ? 0 : 1;
}

static void it_runs_the_commands_of_its_list(void **state)
{
	assert_int_equal(confined(run_its_command), 0);
	assert_int_equal(confined(end_a_command_that_hangs), 0);
}

static void it_runs_no_other_command_and_asks_no_other_server(void **state)
{
	assert_int_equal(confined(run_another_command), 0);
	assert_int_equal(confined(ask_another_server), 0);
}

static void it_reads_and_replaces_its_login_through_the_broker(void **state)
{
	assert_int_equal(confined(read_and_replace_its_login), 0);
	home_put(&home, "login", 0600, "old");
}

static void it_has_no_other_file(void **state)
{
	assert_int_equal(confined(read_the_login_by_its_path), without_landlock());
	assert_int_equal(confined(read_another_file), without_landlock());
	assert_int_equal(confined(write_a_file), 0);
	assert_int_equal(confined(replace_another_file), 0);
}

#if !defined(__SANITIZE_ADDRESS__)
static void it_has_no_program_process_code_or_socket(void **state)
{
	assert_int_not_equal(confined(run_a_program), 0); /* execl() returned */
	assert_int_equal(confined(start_a_process), 0);
	assert_int_equal(confined(make_code), 0);
	assert_int_equal(confined(make_a_socket), 0);
	assert_int_equal(confined(touch_another_process), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_the_commands_of_its_list),
		cmocka_unit_test(it_runs_no_other_command_and_asks_no_other_server),
		cmocka_unit_test(it_reads_and_replaces_its_login_through_the_broker),
		cmocka_unit_test(it_has_no_other_file),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(it_has_no_program_process_code_or_socket),
#endif
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
