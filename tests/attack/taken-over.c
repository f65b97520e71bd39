/*
 * Loaded into libexec/ralph/export by LD_PRELOAD: the reader of conversations as if one of them had
 * taken it over. It acts in the function that the reader calls for every block it has read.
 * TAKEN_OVER says what it tries, TAKEN_OVER_PATH where; it ends with 42 where that succeeds.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SUCCEEDED = 42 };

int EVP_DigestUpdate(void *context, const void *data, size_t size);

static bool try(const char *what, const char *path)
{
	char *const argv[] = {(char[]){"true"}, NULL};

	if (strcmp(what, "read") == 0)
		return open(path, O_RDONLY | O_CLOEXEC) >= 0;
	if (strcmp(what, "write") == 0)
		return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
	if (strcmp(what, "remove") == 0)
		return unlink(path) == 0;
	if (strcmp(what, "socket") == 0)
		return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
	if (strcmp(what, "execute") == 0)
		return execve(path, argv, argv + 1) == 0;
	if (strcmp(what, "fork") == 0)
		return fork() >= 0;
	return strcmp(what, "signal") == 0 && kill(getppid(), 0) == 0;
}

int EVP_DigestUpdate(void *context, const void *data, size_t size)
{
	const char *what = getenv("TAKEN_OVER"), *path = getenv("TAKEN_OVER_PATH");

	if (what && try(what, path ? path : ""))
		_exit(SUCCEEDED);
	return 1;
}
