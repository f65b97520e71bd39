#include "engine/sbx/sbx.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"

#define STDERR_MAX (16 * KiB)
#define LINE_MAX_SHOWN 200

extern char **environ;

void sbx_said_done(struct sbx_said *s)
{
	free(s->out);
	free(s->err);
	*s = (struct sbx_said){0};
}

void sbx_environ(struct strv *ret)
{
	for (char **e = environ; e && *e; e++)
		strv_push(ret, *e);
	/* Neither colours nor questions nor a look for updates. */
	strv_env_set(ret, "NO_COLOR", "1");
	strv_env_set(ret, "DOCKER_CI", "true");
	strv_env_set(ret, "DOCKER_CLI_HINTS", "false");
}

/* stderr goes to memory of a fixed size: what is beyond it cannot be written. */
static int open_stderr(void)
{
	cleanup_fd int fd = memfd_create("stderr", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, STDERR_MAX) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) < 0)
		return -errno;
	return take_fd(fd);
}

static char *read_stderr(int fd)
{
	char *text = xcalloc(1, STDERR_MAX + 1);

	if (pread(fd, text, STDERR_MAX, 0) < 0)
		text[0] = '\0';
	return text;
}

int sbx_call(const struct strv *argv, int input, int timeout_ms, struct sbx_said *ret,
	     struct err *err)
{
	cleanup_fd int said = open_stderr();
	cleanup_strv struct strv env = {0};
	struct run run = RUN_INIT;
	int r;

	*ret = (struct sbx_said){0};
	if (said < 0)
		return err_sys(err, -said, "cannot create a memory file");
	sbx_environ(&env);
	run.argv = argv->v;
	run.env = env.v;
	run.dir = "/";
	run.stdio[0] = input;
	run.stdio[2] = said;
	run.flags = RUN_SEARCH_PATH | RUN_NEW_SESSION | RUN_DIE_WITH_US;
	r = run_collect(&run, timeout_ms, SBX_LIST_MAX, &ret->out, &ret->code, err);
	if (r < 0)
		return r;
	ret->err = read_stderr(said);
	return 0;
}

/* Both programs are known to say these things; each row has what to do about it. */
static const struct {
	const char *part, *why;
} known[] = {
	{"has been removed", "the command `docker sandbox` is gone since Docker Desktop 4.80; "
			     "install its successor, sbx"},
	{"is not a docker command",
	 "this docker has no Docker Sandboxes; install sbx, or Docker Desktop 4.58 to 4.79"},
	{"policy has not been initialized",
	 "sbx has no network policy yet; run once: sbx policy init deny-all"},
	{"sbx login", "you are not logged in to Docker; run: sbx login"},
	{"not logged in", "you are not logged in to Docker; run: sbx login"},
	{"device code", "the login to Docker has ended; run: sbx login"},
	{"device confirmation code", "the login to Docker has ended; run: sbx login"},
	{"socket path is empty",
	 "a record of a sandbox is half-made, and every command fails on it; find it below "
	 "~/.docker/sandboxes/vm and run: docker sandbox rm NAME"},
	{"bind: invalid argument", "the sandbox's name is too long for Docker; choose one with -n"},
	{"Experimental Features", "Docker Sandboxes are switched off by your administrator"},
	{"stdin is not a terminal", "sbx wants to ask something; is it older than 0.29?"},
};

static const char *known_part(const char *text)
{
	for (size_t i = 0; text && i < ARRAY_SIZE(known); i++)
		if (strcasestr(text, known[i].part))
			return known[i].why;
	return NULL;
}

/* The last line that has something in it, as text of a message. */
static char *last_line(const char *text)
{
	const char *end = text + strlen(text), *line;
	char *shown;

	while (end > text && strchr(" \t\r\n", end[-1]))
		end--;
	line = memrchr(text, '\n', (size_t)(end - text));
	line = line ? line + 1 : text;
	shown = xstrndup(line, (size_t)(end - line) < LINE_MAX_SHOWN ? (size_t)(end - line)
								     : LINE_MAX_SHOWN);
	for (char *p = shown; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
			*p = '?';
	return shown;
}

int sbx_explain(const struct sbx_dialect *d, const char *what, const struct sbx_said *s,
		struct err *err)
{
	const char *why = known_part(s->err);
	cleanup_free char *line = NULL;

	if (!why)
		why = known_part(s->out);
	if (why)
		return err_set(err, EIO, "%s: %s", d->title, why);
	line = last_line(s->err && *s->err ? s->err : s->out ? s->out : "");
	return err_set(err, EIO, "%s: cannot %s (exit code %d)%s%s", d->title, what, s->code,
		       *line ? ": " : "", line);
}

int sbx_must(const struct sbx_dialect *d, const char *what, const struct strv *argv, int timeout_ms,
	     struct err *err)
{
	cleanup_(sbx_said_done) struct sbx_said said = {0};
	int r = sbx_call(argv, -1, timeout_ms, &said, err);

	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT,
			       "%s: could not %s within %d s; does it ask for something? Run it "
			       "yourself once: %s ls",
			       d->title, what, timeout_ms / 1000, d->title);
	if (r < 0)
		return r;
	return said.code == 0 ? 0 : sbx_explain(d, what, &said, err);
}
