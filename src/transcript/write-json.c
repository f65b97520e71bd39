/* Writes one JSON document per conversation: the front matter, then "items". */
#include "transcript/writers.h"

#include <string.h>

struct json {
	struct tr_writer w; /* must be first: the callback finds its owner by it */
	struct tr_out *o;
	struct tr_style style;
	bool more;
};

/* Writes text escaped for a JSON string. */
static void escaped(void *arg, const char *p, size_t n)
{
	struct tr_out *o = arg;
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		tr_put(o, p + from, i - from);
		from = i + 1;
		if (c == '\n')
			tr_puts(o, "\\n");
		else if (c == '"' || c == '\\')
			tr_printf(o, "\\%c", c);
		else
			tr_printf(o, "\\u%04x", c);
	}
	tr_put(o, p + from, n - from);
}

static void quoted(struct tr_out *o, struct jtext text)
{
	tr_puts(o, "\"");
	tr_text(o, text, escaped, o);
	tr_puts(o, "\"");
}

static void member(struct tr_out *o, const char *name, struct jtext value)
{
	if (!value.n)
		return;
	tr_printf(o, ",\"%s\":", name);
	quoted(o, value);
}

static void item(struct tr_writer *w, const struct tr_item *i)
{
	static const char *const kinds[TR_KIND_N] = {"user", "assistant", "thinking",
						     "call", "result",	  "note"};
	struct json *j = (struct json *)w;

	if (i->kind == TR_THINKING && !j->style.thinking)
		return;
	tr_printf(j->o, "%s\n{\"kind\":\"%s\"", j->more ? "," : "", kinds[i->kind]);
	member(j->o, "time", i->time);
	member(j->o, "name", i->name);
	member(j->o, "id", i->id);
	if (i->error)
		tr_puts(j->o, ",\"error\":true");
	if (i->note)
		tr_printf(j->o, ",\"note\":\"%s\"", i->note);
	member(j->o, i->kind == TR_CALL ? "arguments" : "text", i->text);
	tr_puts(j->o, "}");
	j->more = true;
}

static struct tr_writer *begin(struct tr_out *o, const struct tr_style *style)
{
	struct json *j = xcalloc(1, sizeof(*j));

	j->w.item = item;
	j->o = o;
	j->style = *style;
	tr_puts(o, "\"items\":[");
	return &j->w;
}

static void end(struct tr_writer *w)
{
	struct json *j = (struct json *)w;

	tr_puts(j->o, "]}\n");
	free(j);
}

static void field(struct tr_out *o, const char *name, const char *value)
{
	cleanup_free char *clean = tr_clean(o, value ? value : "");

	if (!*clean)
		return;
	tr_printf(o, "\"%s\":\"", name);
	escaped(o, clean, strlen(clean));
	tr_puts(o, "\",");
}

static void count(struct tr_out *o, const char *name, uint64_t n)
{
	tr_printf(o, "\"%s\":%llu,", name, (unsigned long long)n);
}

static void head(struct tr_out *o, const struct tr_head *h, const struct tr_source *s)
{
	tr_puts(o, "{");
	field(o, "agent", s->agent);
	field(o, "version", h->version);
	field(o, "model", h->model);
	field(o, "id", h->id);
	field(o, "parent", h->parent);
	field(o, "workspace", h->workspace);
	field(o, "branch", h->branch);
	field(o, "start", h->start);
	field(o, "end", h->end);
	tr_printf(o,
		  "\"tokens\":{\"input\":%llu,\"output\":%llu,\"cache_read\":%llu,\"cache_write\":%"
		  "llu},",
		  (unsigned long long)h->tokens.input, (unsigned long long)h->tokens.output,
		  (unsigned long long)h->tokens.cache_read,
		  (unsigned long long)h->tokens.cache_write);
	count(o, "cost_micro_usd", h->micro_usd);
	count(o, "iterations", s->iterations);
	count(o, "skipped_records", h->skipped);
	count(o, "secrets_removed", s->scrubbed);
	field(o, "source", s->file);
	field(o, "source_sha256", s->hash);
}

const struct tr_format tr_json = {"json", begin, end, head, NULL};
