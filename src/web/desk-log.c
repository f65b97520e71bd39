#include "web/desk.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/result.h"
#include "base/fd.h"
#include "base/path.h"
#include "record/loops.h"
#include "view/log-view.h"
#include "view/render.h"

#define WINDOW (256 * KiB) /* bytes of the file that one answer reads */
#define HEAD_BYTES (64 * KiB)
#define ITEMS_MAX 200
#define TEXT_SHOWN (4 * KiB) /* of one item */
#define TOO_LONG "a line that is longer than can be shown"
#define CHECKS_MAX (2 * MiB) /* of a verify-NNN.jsonl */
#define CHECK_SHOWN (16 * KiB)
#define CHECKS_SHOWN (192 * KiB) /* of all commands of an iteration */
#define COMMAND_SHOWN 500

/*
 * A stretch of an iteration's stream, as lines that a person reads. The position is a byte of the
 * file, so that any part of a file of any size costs the same. A stretch begins at the start of a
 * line; a position inside of one belongs to the line behind it.
 */
struct window {
	json_t *items;
	size_t last; /* only so many of the last items count; 0: all do */
	struct render render;
	const struct agent_stream *stream;
	uint64_t at; /* of the line that is being read */
};

/* A stretch may have a line for each two of its bytes. */
static void keep_last(struct window *w)
{
	json_t *kept = json_array();

	for (size_t i = json_array_size(w->items) - w->last; i < json_array_size(w->items); i++)
		(void)json_array_append(kept, json_array_get(w->items, i));
	json_decref(w->items);
	w->items = kept;
}

static void add_item(struct window *w, const char *kind, const char *text)
{
	size_t n = strlen(text);
	json_t *j = json_pack("{sI ss so}", "at", (json_int_t)w->at, "kind", kind, "text",
			      desk_text(text, TEXT_SHOWN));

	if (n > TEXT_SHOWN)
		(void)json_object_set_new(j, "more", json_integer((json_int_t)(n - TEXT_SHOWN)));
	(void)json_array_append_new(w->items, j);
	if (w->last && json_array_size(w->items) == 2 * w->last)
		keep_last(w);
}

static void on_part(void *arg, enum render_kind kind, const char *text)
{
	static const char *const names[] = {[RENDER_WORDS] = "words",
					    [RENDER_CALL] = "call",
					    [RENDER_FAILED] = "failed",
					    [RENDER_NOTICE] = "notice"};

	add_item(arg, names[kind], text);
}

static void take_line(struct window *w, const char *line, size_t n)
{
	if (w->stream) {
		render_line(&w->render, w->stream, line, n, on_part, w);
	} else if (n > 0) {
		cleanup_free char *text = xstrndup(line, n);

		add_item(w, "output", text);
	}
}

/* The format is told by the first lines, wherever the stretch begins. */
static const struct agent_stream *find_stream(int fd)
{
	cleanup_free char *text = xmalloc(HEAD_BYTES);
	ssize_t n = pread(fd, text, HEAD_BYTES, 0);
	const struct agent_stream *s = NULL;

	for (char *line = text, *end = n > 0 ? text + n : text, *nl; !s && line < end;
	     line = nl + 1) {
		nl = memchr(line, '\n', (size_t)(end - line));
		if (!nl)
			break;
		s = agent_stream_find(line, (size_t)(nl - line));
	}
	return s;
}

/* Returns the offset behind the last line that was taken. */
static uint64_t take_lines(struct window *w, char *text, size_t n, uint64_t from, size_t max)
{
	char *line = text, *end = text + n, *nl;

	while (line < end && json_array_size(w->items) < max) {
		nl = memchr(line, '\n', (size_t)(end - line));
		if (!nl)
			break;
		w->at = from + (uint64_t)(line - text);
		take_line(w, line, (size_t)(nl - line));
		line = nl + 1;
	}
	return from + (uint64_t)(line - text);
}

static int open_log(struct desk *d, const struct survey_loop *l, const char *stem, uint64_t number)
{
	cleanup_free char *name =
		xasprintf(LOOPS_LOGS "/%s-%03llu.jsonl", stem, (unsigned long long)number);
	cleanup_fd int root = d->from ? -1 : open(l->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -1 : path_open_beneath(root, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

/* How many of these bytes belong to a line that began before them. */
static size_t torn(int fd, const char *text, size_t n, uint64_t from)
{
	const char *nl;
	char before;

	if (from == 0 || (pread(fd, &before, 1, (off_t)from - 1) == 1 && before == '\n'))
		return 0;
	nl = memchr(text, '\n', n);
	return nl ? (size_t)(nl - text) + 1 : n;
}

static json_t *read_window(int fd, uint64_t size, const struct route *r)
{
	uint64_t end = r->before && r->before < size ? r->before : size;
	uint64_t from =
		r->before || r->at == ROUTE_TAIL ? (end > WINDOW ? end - WINDOW : 0) : r->at;
	size_t max = r->n && r->n < ITEMS_MAX ? (size_t)r->n : ITEMS_MAX, skip, n;
	bool back = r->before || r->at == ROUTE_TAIL;
	struct window w = {
		.items = json_array(), .stream = find_stream(fd), .last = back ? max : 0};
	cleanup_free char *text = xmalloc(WINDOW);
	uint64_t next = from;
	ssize_t got =
		from < end ? pread(fd, text, end - from < WINDOW ? end - from : WINDOW, (off_t)from)
			   : 0;

	n = got > 0 ? (size_t)got : 0;
	skip = torn(fd, text, n, from);
	render_init(&w.render);
	/* Backwards the last items count, so all of the stretch is read. */
	next = take_lines(&w, text + skip, n - skip, from + skip, back ? SIZE_MAX : max);
	if (next == from + skip && n == WINDOW) {
		w.at = from;
		if (skip < n)
			add_item(&w, "notice", TOO_LONG);
		next = from + n;
	} else if (r->before && next < from + n) {
		/* Stretches behind this one were all of that line. */
		w.at = next;
		add_item(&w, "notice", TOO_LONG);
	}
	render_end(&w.render, on_part, &w);
	render_done(&w.render);
	while (json_array_size(w.items) > max)
		(void)json_array_remove(w.items, back ? 0 : json_array_size(w.items) - 1);
	from = json_array_size(w.items) ? (uint64_t)log_number(json_array_get(w.items, 0), "at")
					: from;
	return json_pack("{sI sI sI so}", "size", (json_int_t)size, "first", (json_int_t)from,
			 "next", (json_int_t)next, "items", w.items);
}

json_t *desk_log(struct desk *d, const struct route *r, unsigned *status)
{
	const struct survey_loop *l = desk_find_loop(d, r->word);
	cleanup_fd int fd = l ? open_log(d, l, "iteration", r->number) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return desk_error(status, 404, "there is no such log");
	return read_window(fd, (uint64_t)st.st_size, r);
}

/* The commands that verified an iteration, with the end of what they said. */
json_t *desk_checks(struct desk *d, const struct route *r, unsigned *status)
{
	const struct survey_loop *l = desk_find_loop(d, r->word);
	cleanup_fd int fd = l ? open_log(d, l, "verify", r->number) : -1;
	size_t left = CHECKS_SHOWN;
	json_t *rows = json_array();
	cleanup_buf struct buf b;
	struct stat st;

	buf_init(&b, CHECKS_MAX);
	if (!l) {
		json_decref(rows);
		return desk_error(status, 404, "there is no such loop");
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		(void)fd_read_all(fd, &b);
	for (char *line = b.data, *nl; line && (nl = strchr(line, '\n')); line = nl + 1) {
		cleanup_json json_t *j = json_loadb(line, (size_t)(nl - line), 0, NULL);
		const char *text = log_text(j, "output");
		size_t n = strlen(text), most = left < CHECK_SHOWN ? left : CHECK_SHOWN;

		if (!json_is_object(j))
			continue;
		for (text += n > most ? n - most : 0; ((unsigned char)*text & 0xc0) == 0x80;)
			text++;
		left -= strlen(text);
		(void)json_array_append_new(
			rows,
			json_pack("{so sI sI sI so}", "command",
				  desk_text(log_text(j, "command"), COMMAND_SHOWN), "code",
				  (json_int_t)log_number(j, "code"), "ms",
				  (json_int_t)log_number(j, "ms"), "bytes",
				  (json_int_t)log_number(j, "bytes"), "output", json_text(text)));
	}
	return json_pack("{so}", "rows", rows);
}
