#include "workspace/state-link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define TEXT_MAX 4096

/* As it is written, and as the system reads it where all of it is there. */
static bool leads(const char *dir, const char *text, const char *state)
{
	cleanup_free char *plain = path_plain(dir, text), *real = realpath(plain, NULL);
	cleanup_free char *real_state = realpath(state, NULL);

	/* What /proc names is another thing for each process that reads it. */
	return path_under(plain, "/proc") || path_under(plain, "/dev/fd") ||
	       path_under(plain, state) || (real_state && path_under(plain, real_state)) ||
	       (real && real_state && path_under(real, real_state));
}

/* git takes a path that ends at the line, or at the end of the file after newlines. */
static bool pointer_leads(int dirfd, const char *dir, const char *name, const char *state)
{
	static const char prefix[] = "gitdir:";
	cleanup_buf struct buf b;
	char *text;

	buf_init(&b, TEXT_MAX);
	if (strcasecmp(name, ".git") != 0 || path_read(dirfd, name, &b) < 0 ||
	    strncmp(buf_str(&b), prefix, strlen(prefix)) != 0)
		return false;
	text = b.data + strlen(prefix);
	text += strspn(text, " \t");
	text[strcspn(text, "\r\n")] = '\0';
	return leads(dir, text, state);
}

bool state_link(int dirfd, const char *dir, const char *name, const char *state)
{
	char text[TEXT_MAX];
	ssize_t n = readlinkat(dirfd, name, text, sizeof(text) - 1);

	if (n < 0)
		return pointer_leads(dirfd, dir, name, state);
	text[n] = '\0';
	return leads(dir, text, state);
}
