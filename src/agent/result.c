#include "agent/result.h"

#include <string.h>

#include "agent/row.h"
#include "base/parse.h"

void agent_result_init(struct agent_result *r)
{
	*r = (struct agent_result){0};
}

void agent_result_done(struct agent_result *r)
{
	free(r->session);
	free(r->text);
	free(r->reason);
	agent_result_init(r);
}

void agent_take(char **to, struct jtext t, size_t max)
{
	char *s = jtext_dup(t, max);

	if (!s)
		return;
	free(*to);
	*to = s;
}

struct jtext agent_block_text(struct jtext content)
{
	struct jtext block, text;
	size_t at = 0;

	if (jtext_is_string(content))
		return content;
	while (jpick_each(content, &at, &block)) {
		text = jpick_one(block, "text");
		if (jtext_is_string(text))
			return text;
	}
	return (struct jtext){0};
}

/* "0.004350000000000001" dollars: what is less than a millionth is a rounding error. */
uint64_t agent_micro_usd(struct jtext t)
{
	cleanup_free char *s = t.p && t.n < AGENT_WORD_MAX ? xstrndup(t.p, t.n) : NULL;
	char *dot = s ? strchr(s, '.') : NULL;
	uint64_t v = 0;

	if (dot && strlen(dot) > 7)
		dot[7] = '\0';
	return s && parse_micro(s, &v) == 0 ? v : 0;
}

void agent_result_line(struct agent_result *r, const struct agent_stream *s, const char *text,
		       size_t n)
{
	const struct jtext line = {text, n};

	if (s && n <= AGENT_LINE_MAX)
		s->line(r, jpick_one(line, "type"), line);
}

bool agent_result_ok(const struct agent_result *r, const struct agent_stream *s, int exit_code)
{
	return exit_code == 0 && (!s || (r->seen && !r->failed));
}

bool agent_stream_is(const struct agent_stream *s, const char *line, size_t n)
{
	struct jtext type;

	if (n < 2 || line[0] != '{')
		return false;
	type = jpick_one((struct jtext){line, n}, "type");
	for (const char *const *mark = s->marks; *mark; mark++)
		if (jtext_eq(type, *mark))
			return true;
	return false;
}

const struct agent_stream *agent_stream_find(const char *line, size_t n)
{
	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent_stream *s = agent_at(i)->stream;

		if (s && agent_stream_is(s, line, n))
			return s;
	}
	return NULL;
}
