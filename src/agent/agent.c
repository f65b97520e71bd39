#include "agent/agent.h"

#include <string.h>

#include "agent/agent-rows.h"
#include "base/buf.h"

#define EXPANDED_MAX (256 * KiB)

size_t agent_count(void)
{
	return n_agent_rows;
}

const struct agent *agent_at(size_t i)
{
	return i < n_agent_rows ? agent_rows[i] : NULL;
}

const struct agent *agent_find(const char *name)
{
	for (size_t i = 0; i < n_agent_rows; i++)
		if (streq(agent_rows[i]->name, name))
			return agent_rows[i];
	return NULL;
}

const struct agent *agent_default(void)
{
	return agent_rows[0];
}

char *agent_names(void)
{
	struct buf b;

	buf_init(&b, 4 * KiB);
	for (size_t i = 0; i < n_agent_rows; i++)
		(void)buf_printf(&b, "%s%s", i ? ", " : "", agent_rows[i]->name);
	return buf_take(&b);
}

/* Escapes a text as JSON and TOML need it between double quotes. */
static void put_inner(struct buf *b, const char *s)
{
	cleanup_buf struct buf whole;

	buf_init(&whole, EXPANDED_MAX);
	if (buf_put_quoted(&whole, s) < 0)
		b->full = true;
	else
		(void)buf_append(b, whole.data + 1, whole.len - 2);
}

static const char *option_value(const struct agent_values *v, const char *name, size_t len)
{
	for (size_t i = 0; v->options && i < v->options->n; i++)
		if (strncmp(v->options->v[i], name, len) == 0 && v->options->v[i][len] == '=')
			return v->options->v[i] + len + 1;
	return NULL;
}

/* Returns the length of the marker that begins at this brace, and its value in *ret. Braces of JSON
 * are no markers. The supervisor replaces {phantom}. Returns 0 when there is no marker. */
static size_t marker(const char *s, const struct agent_values *v, const char **ret)
{
	static const char option[] = "{option:";
	const struct {
		const char *text, *value;
	} plain[] = {
		{"{workspace}", v->workspace},
		{"{home}", v->home},
		{"{endpoint}", v->endpoint},
	};
	const char *end;

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (strncmp(s, plain[i].text, strlen(plain[i].text)) != 0)
			continue;
		*ret = plain[i].value;
		return strlen(plain[i].text);
	}
	end = strncmp(s, option, sizeof(option) - 1) == 0 ? strchr(s, '}') : NULL;
	if (!end)
		return 0;
	s += sizeof(option) - 1;
	*ret = option_value(v, s, (size_t)(end - s));
	return sizeof(option) - 1 + (size_t)(end - s) + 1;
}

char *agent_seed_text(const struct agent *a, const struct agent_seed *seed, bool asks)
{
	const char *at = strstr(seed->content, AGENT_ASKS);

	if (!at)
		return xstrdup(seed->content);
	return xasprintf("%.*s%s%s", (int)(at - seed->content), seed->content,
			 asks && a->mcp_seed ? a->mcp_seed : "", at + strlen(AGENT_ASKS));
}

char *agent_expand(const char *text, const struct agent_values *v, bool quoted)
{
	cleanup_buf struct buf b;

	buf_init(&b, EXPANDED_MAX);
	while (*text) {
		const char *value = NULL;
		size_t n = *text == '{' ? marker(text, v, &value) : 0;

		if (n == 0) {
			(void)buf_putc(&b, *text++);
			continue;
		}
		if (!value || !*value)
			return NULL;
		if (quoted)
			put_inner(&b, value);
		else
			(void)buf_puts(&b, value);
		text += n;
	}
	return b.full ? NULL : xstrdup(buf_str(&b));
}
