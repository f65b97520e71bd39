#include "sandbox/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jpick.h"
#include "base/json.h"

#define LINE_MAX (256 * KiB) /* a longer one is none of ours */
#define TEXT_MAX 256

/* One line: is it such an event? Numbers that are none count as 0. */
static void on_line(const char *line, size_t n, usage_fn *fn, void *arg)
{
	static const char *const names[] = {"type",	  "time",	 "credential",
					    "model",	  "input",	 "output",
					    "cache_read", "cache_write", "micro_usd"};
	struct jtext m[ARRAY_SIZE(names)];
	cleanup_free char *time = NULL, *credential = NULL, *model = NULL;
	struct usage_event e;

	/* Most lines are of other types: not worth a closer look. */
	if (!memmem(line, n, "\"usage\"", 7) ||
	    !jpick((struct jtext){line, n}, names, m, ARRAY_SIZE(names)) ||
	    !jtext_eq(m[0], "usage"))
		return;
	time = jtext_dup(m[1], TEXT_MAX);
	credential = jtext_dup(m[2], TEXT_MAX);
	model = jtext_dup(m[3], TEXT_MAX);
	e = (struct usage_event){
		.time = time ? time : "",
		.credential = credential ? credential : "",
		.model = model ? model : "",
		.tokens = {jtext_uint(m[4]), jtext_uint(m[5]), jtext_uint(m[6]), jtext_uint(m[7])},
		.micro_usd = jtext_uint(m[8]),
	};
	fn(arg, &e);
}

int usage_each(int dirfd, usage_fn *fn, void *arg, struct err *err)
{
	cleanup_fd int fd = openat(dirfd, "events.jsonl", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_free char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot read the event log");
	f = fdopen(fd, "re");
	if (!f)
		return err_sys(err, errno, "cannot read the event log");
	(void)take_fd(fd);
	while ((n = getline(&line, &cap, f)) > 0)
		if ((size_t)n < LINE_MAX)
			on_line(line, (size_t)n, fn, arg);
	(void)fclose(f);
	return 0;
}
