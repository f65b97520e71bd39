#include "tests.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/freeze.h"

#define COUNTERS 8

/* In memory that all share: what each process inside has done so far. */
static struct shared {
	_Atomic uint64_t count[COUNTERS];
	_Atomic int job;       /* a stopped one is there */
	_Atomic uint64_t woke; /* how often it went on */
} * shared;

static void wait_for_steps(void)
{
	uint64_t before[COUNTERS];

	for (size_t i = 0; i < COUNTERS; i++)
		before[i] = shared->count[i];
	for (size_t i = 0; i < COUNTERS; i++)
		while (shared->count[i] == before[i])
			(void)sched_yield();
}

static void count(size_t i)
{
	for (;;) {
		pid_t child;

		shared->count[i]++;
		if (i % 2)
			continue;
		/* Half of them are never the same process for long. */
		child = fork();
		if (child > 0)
			_exit(0);
	}
}

static void inside(int enter)
{
	pid_t job;

	if (enter >= 0 && write(enter, "0", 1) < 0)
		_exit(1);
	(void)signal(SIGCHLD, SIG_IGN);
	for (size_t i = 0; i < COUNTERS; i++)
		if (fork() == 0)
			count(i);
	job = fork();
	if (job == 0)
		for (;;) {
			shared->job = 1;
			(void)raise(SIGSTOP);
			shared->woke++;
		}
	for (;;)
		(void)pause();
}

/* The first process of a new pid namespace, as the guest is. */
static pid_t start(int enter)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		skip();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		inside(enter);
	}
	wait_for_steps();
	while (!shared->job)
		(void)sched_yield();
	return pid;
}

static void check_still(void)
{
	struct shared before;

	memcpy(&before, shared, sizeof(before));
	for (int i = 0; i < 200; i++)
		(void)sched_yield();
	assert_memory_equal(&before, shared, sizeof(before));
}

static void check_freeze(const struct cgroup *c, pid_t init, int rounds)
{
	struct err err = {0};

	for (int i = 0; i < rounds; i++) {
		struct freeze f = {0};

		assert_int_equal(freeze_begin(c, init, &f, &err), 0);
		check_still();
		freeze_end(&f);
		wait_for_steps();
	}
}

static void end(pid_t init)
{
	assert_int_equal(kill(init, SIGKILL), 0);
	assert_int_equal(waitpid(init, NULL, 0), init);
}

static int map(void **state)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? -1 : 0;
}

static int unmap(void **state)
{
	return munmap(shared, sizeof(*shared));
}

static void freeze_by_signals_stops_even_what_forks_all_the_time(void **state)
{
	const struct cgroup none = {0};
	pid_t init = start(-1);

	check_freeze(&none, init, 20);
	end(init);
}

static void freeze_by_signals_leaves_a_stopped_job_stopped(void **state)
{
	const struct cgroup none = {0};
	pid_t init = start(-1);

	check_freeze(&none, init, 5);
	assert_int_equal(shared->woke, 0);
	end(init);
}

static void freeze_of_a_sandbox_that_is_gone_is_an_error(void **state)
{
	const struct cgroup none = {0};
	struct freeze f = {0};
	struct err err = {0};
	pid_t init = start(-1);

	end(init);
	assert_true(freeze_begin(&none, init, &f, &err) < 0);
	assert_true(freeze_begin(&none, 0, &f, &err) < 0);
}

/* Where the tests may make a cgroup of the second version. */
static bool make_cgroup(struct cgroup *ret)
{
	static char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	const struct cgroup_limits none = {0};
	struct err err;
	char name[64];

	(void)snprintf(name, sizeof(name), "ralph-test-freeze-%d", (int)getpid());
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		cleanup_free char *file = xasprintf("%s/cgroup.controllers", places[i]);
		cleanup_fd int fd = open(file, O_RDONLY | O_CLOEXEC);
		struct cgroup_support s = {.method = CGROUP_V2,
					   .place = {{.dir = places[i], .v2 = true}},
					   .n_places = 1};

		if (fd >= 0 && cgroup_create(&s, name, &none, ret, &err) == 0)
			return true;
	}
	return false;
}

static void freeze_by_the_cgroup_stops_all_and_leaves_a_stopped_job_stopped(void **state)
{
	struct cgroup c = {0};
	struct err err;
	pid_t init;

	if (!make_cgroup(&c))
		skip();
	init = start(c.at[0].enter);
	check_freeze(&c, init, 20);
	assert_int_equal(shared->woke, 0);
	end(init);
	assert_int_equal(cgroup_remove(&c, 5000, &err), 0);
	cgroup_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			freeze_by_signals_stops_even_what_forks_all_the_time, map, unmap),
		cmocka_unit_test_setup_teardown(freeze_by_signals_leaves_a_stopped_job_stopped, map,
						unmap),
		cmocka_unit_test_setup_teardown(freeze_of_a_sandbox_that_is_gone_is_an_error, map,
						unmap),
		cmocka_unit_test_setup_teardown(
			freeze_by_the_cgroup_stops_all_and_leaves_a_stopped_job_stopped, map,
			unmap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
