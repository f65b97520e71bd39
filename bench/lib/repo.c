/* repo-bench DIR STATE ROUNDS: milliseconds that repo_dirty() takes, one line a round. */
#include "repo/repo.h"

#include <stdio.h>
#include <time.h>

#include "base/parse.h"

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	cleanup_repo struct repo *r = NULL;
	struct err e = {0};
	uint64_t rounds = 0;

	if (argc != 4 || parse_uint(argv[3], 1, 1000, &rounds) < 0 ||
	    repo_open(argv[1], argv[2], &r, &e) < 0) {
		(void)fprintf(stderr, "repo-bench DIR STATE ROUNDS: %s\n", e.msg);
		return 2;
	}
	for (uint64_t i = 0; i < rounds; i++) {
		cleanup_strv struct strv lines = {0};
		double start = now();

		if (repo_dirty(r, &lines, &e) < 0) {
			(void)fprintf(stderr, "%s\n", e.msg);
			return 1;
		}
		(void)printf("%.1f\n", now() - start);
	}
	return 0;
}
