#include "image/image-build.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/proc.h"

#define LINE_MAX_LEN (4 * KiB) /* of the step's text; the log has all of it */
#define TICK_MS 1000

static const char *number(const char *s, unsigned *ret)
{
	unsigned v = 0;

	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++)
		if (v < 100000)
			v = v * 10 + (unsigned)(*s - '0');
	*ret = v;
	return s;
}

/* "3/9" */
static const char *fraction(const char *s, struct image_step *ret)
{
	s = number(s, &ret->at);
	s = s && *s == '/' ? number(s + 1, &ret->of) : NULL;
	return s;
}

/* Parses "Step 3/9 : RUN x" of docker and "STEP 3/9: RUN x" of podman, which puts "[1/2] "
 * before it for a stage. */
static bool classic_step(const char *s, struct image_step *ret)
{
	const char *stage = *s == '[' ? strstr(s, "] ") : NULL;

	s = stage ? stage + 2 : s;
	if (strncasecmp(s, "step ", 5) != 0)
		return false;
	s = fraction(s + 5, ret);
	if (!s)
		return false;
	s += *s == ' ';
	ret->text = s + 1 + (s[0] == ':' && s[1] == ' ');
	return *s == ':';
}

/* Parses "#7 [3/9] RUN x" or "#7 [name 3/9] RUN x" of BuildKit. */
static bool buildkit_step(const char *s, struct image_step *ret)
{
	const char *end;
	unsigned ignored;

	s = *s == '#' ? number(s + 1, &ignored) : NULL;
	if (!s || strncmp(s, " [", 2) != 0)
		return false;
	s += 2;
	end = strstr(s, "] ");
	if (!end)
		return false;
	for (const char *space; (space = memchr(s, ' ', (size_t)(end - s)));)
		s = space + 1;
	ret->text = end + 2;
	return fraction(s, ret) == end;
}

bool image_step_parse(const char *line, struct image_step *ret)
{
	struct image_step step = {.kind = IMAGE_STEP};

	if (!classic_step(line, &step) && !buildkit_step(line, &step))
		return false;
	*ret = step;
	return true;
}

struct build {
	const struct image_request *req;
	int log;
	uint64_t logged;
	struct buf line;
	char *text; /* of the current step */
	struct image_step step;
};

static void tell(struct build *b)
{
	if (b->text && b->req->told)
		b->req->told(b->req->arg, &b->step);
}

static void end_line(struct build *b)
{
	struct image_step step;

	if (image_step_parse(buf_str(&b->line), &step)) {
		free(b->text);
		b->text = xstrdup(step.text);
		b->step = step;
		b->step.text = b->text;
		tell(b);
	}
	buf_clear(&b->line);
}

static void take(struct build *b, const char *p, size_t n)
{
	if (b->logged < IMAGE_LOG_MAX)
		(void)fd_write_all(b->log, p, n);
	b->logged += n;
	for (; n; p++, n--) {
		if (*p == '\n' || *p == '\r')
			end_line(b);
		else if (buf_room(&b->line) && *p)
			(void)buf_putc(&b->line, *p);
	}
}

static int follow(struct build *b, int fd)
{
	uint64_t deadline = now_ms() + IMAGE_BUILD_MS;

	while (now_ms() < deadline) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char chunk[16 * KiB];
		ssize_t n;

		if (poll(&p, 1, TICK_MS) < 0 && errno != EINTR)
			return -errno;
		if (!p.revents) {
			tell(b);
			continue;
		}
		n = read(fd, chunk, sizeof(chunk));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			take(b, chunk, (size_t)n);
	}
	return -ETIMEDOUT;
}

/* Returns the last output of the builder, for the error message. */
static char *last_line(int log)
{
	char *text = xcalloc(1, 4 * KiB), *line;
	off_t size = lseek(log, 0, SEEK_END);

	if (pread(log, text, 4 * KiB - 1, size > 4095 ? size - 4095 : 0) < 0)
		text[0] = '\0';
	line = xstrdup(image_last_line(text));
	free(text);
	return line;
}

static int failed(struct build *b, const struct image_build *what, const char *log, int r, int code,
		  struct err *err)
{
	cleanup_free char *words = last_line(b->log);

	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "building %s took more than %d hours; see '%s'",
			       what->ref, IMAGE_BUILD_MS / 3600000, log);
	if (r < 0)
		return err_sys(err, -r, "cannot read what the build says");
	return err_set(err, EREMOTEIO,
		       "building %s failed (exit %d)%s%.60s: %.160s; all it said is in '%s'",
		       what->ref, code, b->text ? " at " : "", b->text ? b->text : "", words, log);
}

int image_build_run(const struct image_request *req, const struct image_tool *t,
		    const struct image_build *what, const char *log, struct err *err)
{
	cleanup_(child_done) struct child child = {.pid = -1, .pidfd = -1};
	cleanup_fd int out_r = -1, out_w = -1, fd = -1;
	cleanup_strv struct strv argv = {0};
	struct build b = {.req = req};
	struct run run = RUN_INIT;
	int pipefd[2], r, code = 0;

	b.log = fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno, "cannot write '%s'", log);
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	out_r = pipefd[0];
	out_w = pipefd[1];
	image_cmd_build(t->program, what, &argv);
	run.argv = argv.v;
	run.env = t->environ;
	run.flags = RUN_DIE_WITH_US;
	run.stdio[1] = run.stdio[2] = out_w;
	r = run_start(&run, &child, err);
	if (r < 0)
		return r;
	closep(&out_w);
	buf_init(&b.line, LINE_MAX_LEN);
	r = follow(&b, out_r);
	if (r == 0)
		code = run_wait(&child);
	r = r < 0 || code ? failed(&b, what, log, r, code, err) : 0;
	buf_done(&b.line);
	free(b.text);
	return r;
}
