/*
 * The least that a question to another process can take: as many bytes as the gateway's question for a
 * header and its answer have, between two processes on one core that do nothing else.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTION 110
#define ANSWER 197
#define MOST 100000

static _Noreturn void answer_all(int sock)
{
	char b[ANSWER] = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (recv(sock, b, sizeof(b), 0) == QUESTION)
		if (send(sock, b, ANSWER, MSG_NOSIGNAL) != ANSWER)
			break;
	_exit(0);
}

void question_run(double seconds, struct result *ret)
{
	static double us[MOST];
	uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9), last = begin;
	char b[ANSWER] = {0};
	int pair[2];
	size_t n = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		die("a question", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork", strerror(errno));
	if (pid == 0) {
		(void)close(pair[0]);
		answer_all(pair[1]);
	}
	(void)close(pair[1]);
	while (n < MOST && last < end) {
		uint64_t before = now_ns();

		if (send(pair[0], b, QUESTION, MSG_NOSIGNAL) != QUESTION ||
		    recv(pair[0], b, sizeof(b), 0) != ANSWER)
			die("a question", "was not answered");
		last = now_ns();
		us[n++] = (double)(last - before) / 1e3;
	}
	(void)close(pair[0]);
	(void)waitpid(pid, NULL, 0);
	*ret = (struct result){.seconds = (double)(last - begin) / 1e9};
	load_sum_up(us, n, ret);
}
