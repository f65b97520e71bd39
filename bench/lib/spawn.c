/*
 * spawn ROUNDS CPU PAUSE :: LABEL CMD [ARG…] :: LABEL CMD [ARG…] …
 *
 * Runs every command once per round, in turn, so that a slow moment of the machine meets all of
 * them alike, and prints one JSON object: for each label the microseconds of every round, from
 * before posix_spawn() until the child is reaped. CPU pins everything to one processor; -1 leaves
 * it to the kernel. PAUSE milliseconds pass between rounds: what makes and removes files hundreds
 * of times a second measures ext4, which looks at every inode of the last five seconds before it
 * takes a new one. A command that does not exit with 0 (or SPAWN_EXIT) ends it all: a failure is no
 * measurement. They read nothing, or the file SPAWN_STDIN.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMMANDS 16
#define MAX_ROUNDS 100000
#define WARM_UP 2
#define SEPARATOR "::"
#define PAUSE_MAX 10000
#define USAGE "spawn ROUNDS CPU PAUSE :: LABEL CMD [ARG…] :: …"

extern char **environ;

struct command {
	const char *label;
	char **argv;
	double *us; /* one per round */
};

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "spawn: %s: %s\n", what, why);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double run(const struct command *c, const posix_spawn_file_actions_t *quiet, int expected)
{
	double start = now_us();
	int status, r;
	pid_t pid;

	r = posix_spawnp(&pid, c->argv[0], quiet, NULL, c->argv, environ);
	if (r != 0)
		die(c->argv[0], strerror(r));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
		die(c->label, "did not exit as expected");
	return now_us() - start;
}

static long number(const char *text, long min, long max)
{
	char *end;
	intmax_t v;

	errno = 0;
	v = strtoimax(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		die(text, "not a number in range");
	return (long)v;
}

static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity", strerror(errno));
}

/* Cuts argv at each separator in place. */
static size_t read_commands(char **argv, struct command *cmds, size_t rounds)
{
	size_t n = 0;

	while (*argv) {
		struct command *c = &cmds[n];

		if (strcmp(*argv, SEPARATOR) != 0 || !argv[1] || !argv[2] || n == MAX_COMMANDS)
			die("usage", USAGE);
		*argv = NULL;
		c->label = argv[1];
		c->argv = argv + 2;
		c->us = calloc(rounds, sizeof(*c->us));
		if (!c->us)
			die("calloc", strerror(errno));
		n++;
		for (argv += 2; *argv && strcmp(*argv, SEPARATOR) != 0; argv++)
			;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct command cmds[MAX_COMMANDS] = {0};
	const char *input = getenv("SPAWN_STDIN"), *expected = getenv("SPAWN_EXIT");
	int code = expected ? (int)number(expected, 0, 255) : 0;
	posix_spawn_file_actions_t quiet;
	struct timespec pause = {0};
	size_t rounds, n;
	long ms;

	if (argc < 7)
		die("usage", USAGE);
	rounds = (size_t)number(argv[1], 1, MAX_ROUNDS);
	pin((int)number(argv[2], -1, CPU_SETSIZE - 1));
	ms = number(argv[3], 0, PAUSE_MAX);
	pause.tv_sec = ms / 1000;
	pause.tv_nsec = ms % 1000 * 1000000;
	n = read_commands(argv + 4, cmds, rounds);
	if (posix_spawn_file_actions_init(&quiet) != 0 ||
	    posix_spawn_file_actions_addopen(&quiet, 0, input ? input : "/dev/null", O_RDONLY, 0) !=
		    0 ||
	    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) != 0 ||
	    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0) != 0)
		die("posix_spawn_file_actions", "failed");

	for (size_t round = 0; round < rounds + WARM_UP; round++) {
		for (size_t i = 0; i < n; i++) {
			double us = run(&cmds[i], &quiet, code);

			if (round >= WARM_UP)
				cmds[i].us[round - WARM_UP] = us;
		}
		(void)nanosleep(&pause, NULL);
	}
	for (size_t i = 0; i < n; i++) {
		(void)printf("%s\"%s\": [", i ? ", " : "{", cmds[i].label);
		for (size_t k = 0; k < rounds; k++)
			(void)printf("%s%.1f", k ? ", " : "", cmds[i].us[k]);
		(void)printf("]");
		free(cmds[i].us);
	}
	(void)printf("}\n");
	(void)posix_spawn_file_actions_destroy(&quiet);
	return 0;
}
