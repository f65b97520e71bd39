#include "tests.h"

#include "guest-harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"

/* ----- starting and ending ----- */

static void an_exit_code_arrives_as_it_is(void **state)
{
	cleanup_strv struct strv argv, env;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	strv_init(&argv);
	strv_init(&env);
	strv_push(&argv, "/bin/sh");
	strv_push(&argv, "-c");
	strv_push(&argv, "exit 217");
	assert_int_equal(harness_code(&shared, harness_spawn(&shared, (int[]){null, null, null}, 0,
							     "/", &argv, &env)),
			 217);
	(void)close(null);
	assert_int_equal(exit_of("true"), 0);
	assert_int_equal(exit_of("false"), 1);
}

static void death_by_a_signal_is_128_and_its_number(void **state)
{
	int pipe[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t id;

	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	id = harness_spawn_line(&shared, (int[]){null, pipe[1], null}, "/probe hold");
	assert_true(harness_read_until(pipe[0], "ready"));
	harness_kill(&shared, id, SIGTERM);
	assert_int_equal(harness_code(&shared, id), 128 + SIGTERM);
	id = harness_spawn_line(&shared, (int[]){null, pipe[1], null}, "/probe hold");
	assert_true(harness_read_until(pipe[0], "ready"));
	harness_kill(&shared, id, 0);
	assert_int_equal(harness_code(&shared, id), 128 + SIGKILL);
	(void)close(pipe[0]);
	(void)close(pipe[1]);
	(void)close(null);
}

static void arguments_environment_and_directory_arrive(void **state)
{
	cleanup_strv struct strv argv, env;
	int pipe[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t id;

	strv_init(&argv);
	strv_init(&env);
	strv_push(&argv, "/bin/sh");
	strv_push(&argv, "-c");
	strv_push(&argv, "echo \"$PWD|$1|$2|$A|$(env | wc -l)|$(hostname)|end\"");
	strv_push(&argv, "sh");
	strv_push(&argv, "");
	strv_push(&argv, "two words");
	strv_push(&env, "A=b c");
	strv_push(&env, "PATH=/usr/bin");
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	id = harness_spawn(&shared, (int[]){null, pipe[1], null}, 0, "/usr/lib", &argv, &env);
	(void)close(pipe[1]);
	/* PWD is the third variable: the shell sets it */
	assert_true(harness_read_until(pipe[0], "/usr/lib||two words|b c|3|testbox|end\n"));
	assert_int_equal(harness_code(&shared, id), 0);
	(void)close(pipe[0]);
	(void)close(null);
}

static void a_megabyte_of_arguments_arrives(void **state)
{
	cleanup_strv struct strv argv, env;
	cleanup_free char *word = xmalloc(1025);
	int pipe[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	memset(word, 'x', 1024);
	word[1024] = '\0';
	strv_init(&argv);
	strv_init(&env);
	strv_push(&argv, "/probe");
	strv_push(&argv, "sizes");
	for (int i = 0; i < 1024; i++)
		strv_push(&argv, word);
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	assert_int_equal(harness_code(&shared, harness_spawn(&shared, (int[]){null, pipe[1], null},
							     0, "/", &argv, &env)),
			 0);
	assert_true(harness_read_until(pipe[0], "1024 1048576\n"));
	(void)close(pipe[0]);
	(void)close(pipe[1]);
	(void)close(null);
}

static void a_missing_program_is_enoent_and_says_so(void **state)
{
	struct harness_result r;

	harness_run(&shared, "no-such-program", &r);
	assert_int_equal(r.code, -ENOENT);
	assert_string_equal(r.error, "cannot run 'no-such-program': No such file or directory");
	harness_run(&shared, "/usr", &r);
	assert_int_equal(r.code, -EACCES);
}

static void a_missing_directory_is_told_apart_from_a_missing_program(void **state)
{
	cleanup_strv struct strv argv, env;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct harness_frame f;

	strv_init(&argv);
	strv_init(&env);
	strv_push(&argv, "/bin/true");
	f = harness_wait(&shared, harness_spawn(&shared, (int[]){null, null, null}, 0, "/nowhere",
						&argv, &env));
	(void)close(null);
	assert_int_equal(f.type, WIRE_ERROR);
	assert_int_equal(f.value, ENOTDIR);
	assert_string_equal(f.text, "cannot enter '/nowhere': No such file or directory");
}

/* ----- frames that make no sense ----- */

static void unknown_frames_and_used_ids_are_errors_of_that_id(void **state)
{
	int pipe[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct harness_frame f;
	uint32_t id;

	assert_int_equal(wire_send(shared.sock, WIRE_STOPPED, 70000, NULL, NULL, 0), 0);
	f = harness_wait(&shared, 70000);
	assert_int_equal(f.type, WIRE_ERROR);
	assert_int_equal(wire_send(shared.sock, WIRE_SPAWN, 70001, NULL, NULL, 0), 0);
	f = harness_wait(&shared, 70001);
	assert_int_equal(f.type, WIRE_ERROR);
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	id = harness_spawn_line(&shared, (int[]){null, pipe[1], null}, "/probe hold");
	assert_true(harness_read_until(pipe[0], "ready"));
	assert_int_equal(harness_wait(&shared, id).type, WIRE_SPAWNED);
	assert_int_equal(wire_send(shared.sock, WIRE_SPAWN, id, NULL, NULL, 0), 0);
	f = harness_wait(&shared, id);
	assert_int_equal(f.type, WIRE_ERROR);
	assert_int_equal(f.value, EEXIST);
	harness_kill(&shared, id, 0);
	assert_int_equal(harness_code(&shared, id), 137);
	(void)close(pipe[0]);
	(void)close(pipe[1]);
	(void)close(null);
	assert_int_equal(exit_of("true"), 0);
}

static void commands_beyond_the_limit_are_refused_and_the_others_run(void **state)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), pipe[2];
	uint32_t first = shared.next_id;
	struct harness_frame f;

	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	for (size_t i = 0; i < GUEST_COMMANDS_MAX; i++) {
		uint32_t id = harness_spawn_line(&shared, (int[]){pipe[0], null, null}, "cat");

		assert_int_equal(harness_wait(&shared, id).type, WIRE_SPAWNED);
	}
	f = harness_wait(&shared, harness_spawn_line(&shared, (int[]){null, null, null}, "true"));
	assert_int_equal(f.type, WIRE_ERROR);
	assert_int_equal(f.value, EAGAIN);
	(void)close(pipe[0]);
	(void)close(pipe[1]);
	for (uint32_t id = first; id < first + GUEST_COMMANDS_MAX; id++)
		assert_int_equal(harness_code(&shared, id), 0);
	(void)close(null);
	assert_int_equal(exit_of("true"), 0);
}

/* ----- whole trees end ----- */

/* Spawns with stderr as a canary: it is at its end when no process of the command is left. */
static uint32_t with_canary(struct harness *b, const char *line, int *ret_canary, bool ready)
{
	int in[2], err[2], out[2];
	uint32_t id;

	assert_int_equal(pipe2(err, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	id = harness_spawn_line(b, (int[]){in[0], out[1], err[1]}, line);
	assert_int_equal(harness_wait(b, id).type, WIRE_SPAWNED);
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(err[1]);
	(void)close(out[1]);
	if (ready)
		assert_true(harness_read_until(out[0], "ready"));
	(void)close(out[0]);
	*ret_canary = err[0];
	return id;
}

static void canary_is_dead(int canary)
{
	char c;

	assert_int_equal(read(canary, &c, 1), 0);
	(void)close(canary);
}

static void canary_lives(int canary)
{
	char c;

	assert_int_equal(read(canary, &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

static void a_double_fork_with_setsid_dies_with_its_command(void **state)
{
	int canary;
	uint32_t id = with_canary(&shared, "/probe daemon", &canary, false);

	assert_int_equal(harness_code(&shared, id), 5);
	canary_is_dead(canary);
}

static void killing_the_minder_ends_the_command_and_its_tree_only(void **state)
{
	int canary, other;
	uint32_t bystander = with_canary(&shared, "/probe hold", &other, true);
	uint32_t id = with_canary(&shared, "/probe killparent 9", &canary, false);

	assert_int_equal(harness_code(&shared, id), 137);
	canary_is_dead(canary);
	canary_lives(other);
	harness_kill(&shared, bystander, SIGTERM);
	assert_int_equal(harness_code(&shared, bystander), 128 + SIGTERM);
	canary_is_dead(other);
}

static void stopping_the_minder_does_not_hide_the_end(void **state)
{
	int canary;
	uint32_t id = with_canary(&shared, "/probe killparent 19", &canary, false);

	assert_int_equal(harness_code(&shared, id), 6);
	canary_is_dead(canary);
}

static void a_fork_bomb_leaves_another_command_answering_and_is_ended(void **state)
{
	struct harness b;
	struct guest_setup s = harness_setup();
	struct harness_result r;
	int canary;
	uint32_t id;

	harness_open(&b, &s);
	id = with_canary(&b, "/probe hydra 20 stay", &canary, true);
	harness_run(&b, "echo still here", &r);
	assert_string_equal(r.out, "still here\n");
	harness_kill(&b, id, 0);
	assert_int_equal(harness_code(&b, id), 137);
	canary_is_dead(canary);
	harness_run(&b, "echo after", &r);
	assert_string_equal(r.out, "after\n");
	id = with_canary(&b, "/probe hydra 5 leave", &canary, true);
	assert_int_equal(harness_code(&b, id), 3);
	canary_is_dead(canary);
	id = with_canary(&b, "/probe hydra 20 unminded", &canary, true);
	assert_int_equal(harness_code(&b, id), 137);
	canary_is_dead(canary);
	harness_run(&b, "echo after", &r);
	assert_string_equal(r.out, "after\n");
	harness_close(&b);
}

static void signals_to_everything_leave_pid_1_serving(void **state)
{
	struct harness b;
	struct guest_setup s = harness_setup();
	struct harness_result r;
	int canary, mine;
	uint32_t other, id;

	harness_open(&b, &s);
	other = with_canary(&b, "/probe hold", &canary, true);
	id = with_canary(&b, "/probe killall 9", &mine, false);
	assert_int_equal(harness_code(&b, other), 137);
	(void)harness_code(&b, id); /* its own code or 137, whichever came first */
	canary_is_dead(canary);
	canary_is_dead(mine);
	harness_run(&b, "/probe killall 15", &r); /* minders do not mind */
	assert_int_equal(r.code, 4);
	id = with_canary(&b, "/probe killall 19", &mine, false);
	assert_int_equal(harness_code(&b, id), 4);
	canary_is_dead(mine);
	harness_run(&b, "/probe kill1", &r);
	assert_int_equal(r.code, 0);
	harness_run(&b, "echo after", &r);
	assert_string_equal(r.out, "after\n");
	harness_close(&b);
}

static void when_the_supervisor_goes_everything_goes(void **state)
{
	struct guest_setup s = harness_setup();
	struct pollfd p = {.events = 0};
	struct harness b;
	int canary;

	harness_open(&b, &s);
	(void)with_canary(&b, "/probe hold", &canary, true);
	harness_close(&b); /* waits for bwrap, whose end does not wait for the others' */
	p.fd = canary;
	assert_int_equal(poll(&p, 1, 30000), 1);
	canary_is_dead(canary);
}

static void when_pid_1_dies_everything_goes(void **state)
{
	struct guest_setup s = harness_setup();
	struct pollfd p = {.events = 0};
	struct harness b;
	int canary;

	harness_open(&b, &s);
	(void)with_canary(&b, "/probe hold", &canary, true);
	assert_int_equal(kill(b.bwrap, SIGKILL), 0);
	p.fd = canary;
	assert_int_equal(poll(&p, 1, 30000), 1);
	canary_is_dead(canary);
	harness_close(&b);
}

/* ----- terminals ----- */

static void a_command_can_have_a_terminal_of_the_sandbox(void **state)
{
	cleanup_fd int master = -1;
	struct harness_frame f;
	uint32_t id = harness_spawn_line(&shared, NULL, "/probe terminal");

	f = harness_wait(&shared, id);
	assert_int_equal(f.type, WIRE_SPAWNED);
	master = f.fd;
	assert_true(harness_read_until(master,
				       "tty 111 size 33 77 leader 1 foreground 1 reopen 1\r\n"));
	assert_int_equal(harness_wait(&shared, id).value, 0);
}

static void the_interrupt_key_reaches_the_foreground(void **state)
{
	cleanup_fd int master = -1;
	struct harness_frame f;
	uint32_t id = harness_spawn_line(&shared, NULL, "/probe terminal wait");

	f = harness_wait(&shared, id);
	assert_int_equal(f.type, WIRE_SPAWNED);
	master = f.fd;
	assert_true(harness_read_until(master, "reopen 1\r\n"));
	assert_int_equal(fd_write_all(master, "\x03", 1), 0);
	assert_int_equal(harness_wait(&shared, id).value, 128 + SIGINT);
}

static void a_shell_has_job_control(void **state)
{
	cleanup_fd int master = -1;
	struct harness_frame f;
	uint32_t id = harness_spawn_line(&shared, NULL, "bash --norc --noprofile -i");

	f = harness_wait(&shared, id);
	assert_int_equal(f.type, WIRE_SPAWNED);
	master = f.fd;
	assert_int_equal(fd_write_all(master, "/probe hold\n", 12), 0);
	assert_true(harness_read_until(master, "ready\r\n"));
	assert_int_equal(fd_write_all(master, "\x1a", 1), 0);
	assert_true(harness_read_until(master, "Stopped"));
	/* the answer differs from the typed line, which comes back as an echo */
	assert_int_equal(fd_write_all(master, "echo en''d\n", 11), 0);
	assert_true(harness_read_until(master, "end\r\n"));
	assert_int_equal(fd_write_all(master, "exit 9\nexit 9\n", 14), 0);
	assert_int_equal(harness_wait(&shared, id).value, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_code_arrives_as_it_is),
		cmocka_unit_test(death_by_a_signal_is_128_and_its_number),
		cmocka_unit_test(arguments_environment_and_directory_arrive),
		cmocka_unit_test(a_megabyte_of_arguments_arrives),
		cmocka_unit_test(a_missing_program_is_enoent_and_says_so),
		cmocka_unit_test(a_missing_directory_is_told_apart_from_a_missing_program),
		cmocka_unit_test(unknown_frames_and_used_ids_are_errors_of_that_id),
		cmocka_unit_test(commands_beyond_the_limit_are_refused_and_the_others_run),
		cmocka_unit_test(a_double_fork_with_setsid_dies_with_its_command),
		cmocka_unit_test(killing_the_minder_ends_the_command_and_its_tree_only),
		cmocka_unit_test(stopping_the_minder_does_not_hide_the_end),
		cmocka_unit_test(a_fork_bomb_leaves_another_command_answering_and_is_ended),
		cmocka_unit_test(signals_to_everything_leave_pid_1_serving),
		cmocka_unit_test(when_the_supervisor_goes_everything_goes),
		cmocka_unit_test(when_pid_1_dies_everything_goes),
		cmocka_unit_test(a_command_can_have_a_terminal_of_the_sandbox),
		cmocka_unit_test(the_interrupt_key_reaches_the_foreground),
		cmocka_unit_test(a_shell_has_job_control),
	};

	if (!harness_available())
		return 77;
	return cmocka_run_group_tests(tests, harness_open_shared, harness_close_shared);
}
