/*
 * Writes one self-contained page per conversation: no network, no other file. A short script does
 * search and folding; without it the whole text is still readable. The page's content security
 * policy allows only its own style and script.
 */
#include "transcript/writers.h"

#include <string.h>

struct html {
	struct tr_writer w; /* must be first: the callback finds its owner by it */
	struct tr_out *o;
	struct tr_style style;
};

static void escaped(void *arg, const char *p, size_t n)
{
	struct tr_out *o = arg;
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const char *as = p[i] == '<'   ? "&lt;"
				 : p[i] == '>' ? "&gt;"
				 : p[i] == '&' ? "&amp;"
				 : p[i] == '"' ? "&quot;"
					       : NULL;

		if (!as)
			continue;
		tr_put(o, p + from, i - from);
		tr_puts(o, as);
		from = i + 1;
	}
	tr_put(o, p + from, n - from);
}

static void said(struct html *h, const struct tr_item *i, const char *who)
{
	tr_printf(h->o, "<section class=\"%s\"><h2>%s</h2><div>", who, who);
	tr_text(h->o, i->text, escaped, h->o);
	tr_puts(h->o, "</div></section>\n");
}

static void folded(struct html *h, const char *kind, struct buf *title, const struct buf *body,
		   size_t over)
{
	tr_printf(h->o, "<details class=\"%s\"><summary>", kind);
	escaped(h->o, buf_str(title), title->len);
	tr_puts(h->o, "</summary><pre>");
	escaped(h->o, body->data ? body->data : "", body->len);
	if (over)
		tr_printf(h->o, "\n… %zu bytes more", over);
	tr_puts(h->o, "</pre></details>\n");
}

static void called(struct html *h, const struct tr_item *i)
{
	cleanup_buf struct buf title, body, inside;
	struct jtext args;

	buf_init(&title, 1 * KiB);
	buf_init(&body, 64 * (h->style.result_max + 1 * KiB));
	buf_init(&inside, TR_RESULT_MAX_LIMIT + 8);
	args = tr_unwrapped(i->text, &inside);
	tr_call_title(h->o, i->name, args, &title);
	tr_arguments(h->o, args, &body, h->style.result_max);
	folded(h, "call", &title, &body, 0);
}

static void shown(struct html *h, const struct tr_item *i, const char *kind, const char *name)
{
	cleanup_buf struct buf title, body;
	size_t over;

	buf_init(&title, 1 * KiB);
	buf_init(&body, h->style.result_max + 8);
	(void)buf_puts(&title, name);
	over = tr_text_cut(h->o, i->text, &body, h->style.result_max);
	folded(h, kind, &title, &body, over);
}

static void item(struct tr_writer *w, const struct tr_item *i)
{
	struct html *h = (struct html *)w;

	switch (i->kind) {
	case TR_USER:
		said(h, i, "user");
		break;
	case TR_ASSISTANT:
		said(h, i, "assistant");
		break;
	case TR_THINKING:
		if (h->style.thinking)
			shown(h, i, "thinking", "thinking");
		break;
	case TR_CALL:
		called(h, i);
		break;
	case TR_RESULT:
		shown(h, i, i->error ? "result failed" : "result",
		      i->error ? "result: failed" : "result");
		break;
	case TR_NOTE:
		tr_printf(h->o, "<p class=\"note\">%s</p>\n", i->note);
		break;
	case TR_KIND_N:
		break;
	}
}

static struct tr_writer *begin(struct tr_out *o, const struct tr_style *style)
{
	struct html *h = xcalloc(1, sizeof(*h));

	h->w.item = item;
	h->o = o;
	h->style = *style;
	return &h->w;
}

static void end(struct tr_writer *w)
{
	free(w);
}

static const char style[] =
	":root{color-scheme:light dark;--line:#8884;--user:#2563eb;--agent:#15803d}"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}"
	"header{position:sticky;top:0;background:Canvas;border-bottom:1px solid var(--line);"
	"padding:.5rem 0}"
	"h1{font-size:1.1rem;margin:0}dl{display:grid;grid-template-columns:max-content 1fr;"
	"gap:0 1rem;font-size:.85rem;margin:.5rem 0}dd{margin:0;overflow-wrap:anywhere}"
	"h2{font-size:.8rem;text-transform:uppercase;letter-spacing:.05em;margin:1.5rem 0 .3rem}"
	".user h2{color:var(--user)}.assistant h2{color:var(--agent)}"
	"section div{white-space:pre-wrap;overflow-wrap:anywhere}"
	"details{border:1px solid var(--line);border-radius:6px;margin:.4rem 0;padding:.2rem .6rem}"
	"summary{cursor:pointer;font-family:ui-monospace,monospace;font-size:.85rem;"
	"overflow:hidden;text-overflow:ellipsis;white-space:nowrap}"
	".failed>summary{color:#b91c1c}pre{overflow:auto;font-size:.82rem}"
	".note{font-style:italic;opacity:.7}.hidden{display:none}"
	"input{font:inherit;width:16rem;max-width:50%}button{font:inherit}";

static const char script[] =
	"const q=document.getElementById('q'),parts=[...document.querySelectorAll('main>*')];"
	"q.addEventListener('input',()=>{const s=q.value.toLowerCase();for(const e of parts)"
	"e.classList.toggle('hidden',s!==''&&!e.textContent.toLowerCase().includes(s))});"
	"document.getElementById('fold').addEventListener('click',()=>{const d=[...document."
	"querySelectorAll('details')],open=d.some(e=>!e.open);for(const e of d)e.open=open});";

static void row(struct tr_out *o, const char *name, const char *value)
{
	cleanup_free char *clean = tr_clean(o, value ? value : "");

	if (!*clean)
		return;
	tr_printf(o, "<dt>%s</dt><dd>", name);
	escaped(o, clean, strlen(clean));
	tr_puts(o, "</dd>");
}

static void head(struct tr_out *o, const struct tr_head *h, const struct tr_source *s)
{
	cleanup_free char *tokens =
		xasprintf("%llu in, %llu out, %llu from cache, %llu to cache",
			  (unsigned long long)h->tokens.input, (unsigned long long)h->tokens.output,
			  (unsigned long long)h->tokens.cache_read,
			  (unsigned long long)h->tokens.cache_write);
	cleanup_free char *title = tr_clean(o, h->title ? h->title : "conversation");

	tr_puts(o, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
		   "<meta name=\"viewport\" content=\"width=device-width\"><title>");
	escaped(o, title, strlen(title));
	tr_puts(o, "</title><style>");
	tr_puts(o, style);
	tr_puts(o, "</style></head><body><header><h1>");
	escaped(o, title, strlen(title));
	tr_puts(o, "</h1><input id=\"q\" type=\"search\" placeholder=\"search\"> "
		   "<button id=\"fold\">open or fold all</button></header><dl>");
	row(o, "agent", s->agent);
	row(o, "model", h->model);
	row(o, "workspace", h->workspace);
	row(o, "branch", h->branch);
	row(o, "start", h->start);
	row(o, "end", h->end);
	row(o, "tokens", tokens);
	row(o, "source", s->file);
	row(o, "sha256", s->hash);
	tr_puts(o, "</dl><main>\n");
}

static void foot(struct tr_out *o, const struct tr_source *s)
{
	for (size_t i = 0; i < s->links->n; i++) {
		tr_puts(o, "<p><a href=\"");
		escaped(o, s->links->v[i], strlen(s->links->v[i]));
		tr_printf(o, "\">subagent %zu</a></p>\n", i + 1);
	}
	tr_puts(o, "</main><script>");
	tr_puts(o, script);
	tr_puts(o, "</script></body></html>\n");
}

const struct tr_format tr_html = {"html", begin, end, head, foot};
