#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "agent/result.h"
#include "view/lines.h"
#include "loop/last-words.h"
#include "view/render.h"

struct seen {
	const struct agent_stream *stream;
	struct render render;
	size_t bytes;
};

static void on_part(void *arg, enum render_kind kind, const char *text)
{
	if (strlen(text) > (kind == RENDER_WORDS ? RENDER_WORDS_MAX : RENDER_MAX))
		abort();
}

static void on_line(void *arg, const char *line, size_t n)
{
	struct seen *s = arg;
	struct last_words p;
	char *text;

	(void)agent_stream_find(line, n);
	render_line(&s->render, s->stream, line, n, on_part, s);
	text = strndup(line, n);
	last_words_find(text, &p);
	if (p.text && strlen(p.text) > LAST_WORDS_TEXT_MAX)
		abort();
	last_words_done(&p);
	free(text);
	if (memchr(line, '\n', n))
		abort();
	s->bytes += n;
}

/* The first byte says whose stream it is, the second in what pieces it comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen s = {0};
	struct lines l;
	size_t piece;

	if (size < 2)
		return 0;
	s.stream = agent_at(data[0] % agent_count())->stream;
	piece = data[1] ? data[1] : size;
	render_init(&s.render);
	lines_init(&l, 4096);
	for (size_t at = 2; at < size; at += piece)
		lines_add(&l, (const char *)data + at, size - at < piece ? size - at : piece,
			  on_line, &s);
	lines_end(&l, on_line, &s);
	lines_done(&l);
	render_end(&s.render, on_part, &s);
	render_done(&s.render);
	if (s.bytes > size)
		abort();
	return 0;
}
