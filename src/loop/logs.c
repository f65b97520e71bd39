#include "loop/logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/result.h"
#include "base/fd.h"
#include "base/json/jpick.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text/term.h"
#include "view/lines.h"
#include "view/render.h"
#include "record/loops.h"
#include "record/places.h"

#define FOLLOW_MS 200
#define PIECE (64 * KiB)

struct logs {
	struct loop_path place; /* of the state */
	int logs;		/* .ralph/logs */
	bool follow, raw, json, color;
	uint64_t number;
	struct lines lines;
	const struct agent_stream *stream;
	struct agent_result said;
	struct render render;
	int fd;
};

/* Returns the highest iteration number in the directory; 0: none. */
static uint64_t last_number(int logs)
{
	int copy = openat(logs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	uint64_t last = 0, n;
	struct dirent *e;

	if (!d) {
		closep(&copy);
		return 0;
	}
	while ((e = readdir(d))) {
		const char *name = e->d_name, *dot = strchr(name, '.');
		cleanup_free char *digits = NULL;

		if (strncmp(name, "iteration-", 10) != 0 || !dot || !streq(dot, ".jsonl"))
			continue;
		digits = xstrndup(name + 10, (size_t)(dot - name) - 10);
		/* File names pad the number with zeros, which parse_uint() refuses. */
		if (parse_uint(digits + strspn(digits, "0"), 1, UINT32_MAX, &n) == 0 && n > last)
			last = n;
	}
	(void)closedir(d);
	return last;
}

static int open_number(struct logs *l, uint64_t n)
{
	cleanup_free char *name = xasprintf("iteration-%03llu.jsonl", (unsigned long long)n);

	return path_open_beneath(l->logs, name, O_RDONLY, 0);
}

static void print_json(const struct logs *l, const char *kind, const char *text)
{
	cleanup_json json_t *j = json_pack("{sI ss so}", "iteration", (json_int_t)l->number, "kind",
					   kind, "text", json_text(text));

	(void)json_show(j, stdout, JSON_COMPACT);
	(void)fputc('\n', stdout);
}

static void print_words(const struct logs *l, const char *p)
{
	if (l->json && p && *p) {
		print_json(l, "words", p);
		return;
	}
	while (p && *p) {
		size_t n = strcspn(p, "\n");
		cleanup_free char *line = xstrndup(p, n);

		term_styled(stdout, l->color, STYLE_DIM, "| ");
		term_puts(stdout, line);
		(void)fputc('\n', stdout);
		p += n + (p[n] == '\n');
	}
}

static void on_part(void *arg, enum render_kind kind, const char *text)
{
	const struct logs *l = arg;

	if (kind == RENDER_WORDS) {
		print_words(l, text);
		return;
	}
	if (l->json) {
		print_json(l,
			   kind == RENDER_CALL	   ? "call"
			   : kind == RENDER_FAILED ? "failed"
						   : "notice",
			   text);
		return;
	}
	if (kind == RENDER_FAILED)
		term_styled(stdout, l->color, STYLE_YELLOW, "failed: ");
	term_puts(stdout, text);
	(void)fputc('\n', stdout);
}

static void on_line(void *arg, const char *line, size_t n)
{
	struct logs *l = arg;

	if (!l->stream)
		l->stream = agent_stream_find(line, n);
	if (!l->stream) {
		cleanup_free char *text = xstrndup(line, n);

		if (l->json) {
			print_json(l, "output", text);
			return;
		}
		term_puts(stdout, text);
		(void)fputc('\n', stdout);
		return;
	}
	agent_result_line(&l->said, l->stream, line, n);
	render_line(&l->render, l->stream, line, n, on_part, l);
}

/* Prints everything available so far; returns false when reading or writing fails. */
static bool print_more(struct logs *l)
{
	char piece[PIECE];
	ssize_t n;

	while ((n = read(l->fd, piece, sizeof(piece))) > 0) {
		if (l->raw)
			(void)fwrite(piece, 1, (size_t)n, stdout);
		else
			lines_add(&l->lines, piece, (size_t)n, on_line, l);
	}
	(void)fflush(stdout);
	return n == 0 && !ferror(stdout);
}

static int print_one(struct logs *l)
{
	const struct timespec pause = {.tv_nsec = FOLLOW_MS * 1000 * 1000L};
	struct loop_active active;
	bool ok = true, on = true, more = false;

	agent_result_init(&l->said);
	render_init(&l->render);
	l->stream = NULL;
	lines_init(&l->lines, AGENT_LINE_MAX);
	while (ok && on && !more) {
		int next;

		/* The check comes before the read, so that the last read includes everything the
		 * loop wrote. */
		on = l->follow && loops_read_active(l->place.active, &active) == 0;
		next = l->follow ? open_number(l, l->number + 1) : -1;
		more = next >= 0;
		closep(&next);
		ok = print_more(l);
		if (on && !more)
			(void)nanosleep(&pause, NULL);
	}
	lines_end(&l->lines, on_line, l);
	render_end(&l->render, on_part, l);
	if (!l->raw && !render_shown(&l->render, l->said.text))
		print_words(l, l->said.text);
	render_done(&l->render);
	lines_done(&l->lines);
	agent_result_done(&l->said);
	closep(&l->fd);
	return ok ? more : -EIO;
}

static int open_dirs(struct logs *l, const char *workspace, struct err *err)
{
	cleanup_fd int at = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, err);

	if (r == 0)
		r = loops_find(&p, workspace, &l->place, err);
	if (r < 0)
		return r;
	if (at < 0)
		return err_sys(err, errno, "cannot open '%s'", workspace);
	l->logs = path_open_beneath(at, ".ralph/logs", O_RDONLY | O_DIRECTORY, 0);
	return l->logs < 0 ? err_usage(err, "there was no loop in '%s'", workspace) : 0;
}

int logs_main(int argc, char **argv, struct err *err)
{
	struct logs l = {.place = LOOP_PLACE_INIT, .logs = -1, .fd = -1};
	int r;

	if (argc != 5 || parse_uint(argv[1], 0, UINT32_MAX, &l.number) < 0)
		return err_usage(err, "this program is started by: ralph logs");
	l.follow = argv[2][0] == '1';
	l.raw = streq(argv[3], "raw");
	l.json = streq(argv[3], "json");
	l.color = argv[4][0] == '1';
	r = open_dirs(&l, argv[0], err);
	if (r == 0 && l.number == 0)
		l.number = last_number(l.logs);
	while (r == 0) {
		l.fd = open_number(&l, l.number);
		if (l.fd < 0) {
			r = l.number == 0
				    ? err_usage(err, "no iteration was made here yet; begin with: "
						     "ralph build")
				    : err_usage(err, "there is no iteration %llu",
						(unsigned long long)l.number);
			break;
		}
		r = print_one(&l);
		if (r <= 0)
			break;
		l.number++;
		r = 0;
	}
	closep(&l.logs);
	loop_path_done(&l.place);
	return r;
}
