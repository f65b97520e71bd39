#include "http/http1.h"

#include "http/override.h"

static void put(struct buf *out, struct slice s)
{
	(void)buf_append(out, s.p, s.n); /* out->full is looked at once, at the end */
}

static void put_str(struct buf *out, const char *s)
{
	put(out, slice_of(s));
}

static void put_field(struct buf *out, struct slice name, struct slice value)
{
	put(out, name);
	put_str(out, ": ");
	put(out, value);
	put_str(out, "\r\n");
}

/* By hand: buf_printf would allocate for every message. */
static void put_number(struct buf *out, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	put(out, (struct slice){digits + at, sizeof(digits) - at});
}

static void put_authority(struct buf *out, const struct url_authority *a)
{
	if (a->v6)
		put_str(out, "[");
	put(out, a->host);
	if (a->v6)
		put_str(out, "]");
	if (a->port) {
		put_str(out, ":");
		put_number(out, a->port);
	}
}

/* Written from the parsed form alone; nobody may set them from outside. */
static bool is_ours(enum http1_id id)
{
	return id == HTTP1_F_HOST || id == HTTP1_F_CONTENT_LENGTH ||
	       id == HTTP1_F_TRANSFER_ENCODING || id == HTTP1_F_CONNECTION || id == HTTP1_F_UPGRADE;
}

static int check_edit(const struct http1_edit *e)
{
	struct url_authority a;
	struct url u;

	if (e->host.p && url_split_authority(e->host.p, e->host.n, &a) < 0)
		return -EINVAL;
	if (e->target_prefix.p) {
		if (url_parse(e->target_prefix.p, e->target_prefix.n, &u) < 0)
			return -EINVAL;
		if (u.path.n || u.query.p)
			return -EINVAL;
	}
	for (size_t i = 0; i < e->n_set; i++) {
		const struct http1_set *s = &e->set[i];

		if (!http1_is_token(s->name.p, s->name.n) ||
		    !http1_is_value(s->value.p, s->value.n))
			return -EINVAL;
		if (is_ours(http1_field_id(s->name.p, s->name.n)))
			return -EINVAL;
	}
	return 0;
}

static bool is_dropped(const struct http1_field *f, const struct http1_edit *e)
{
	if (e->no_overrides && override_is(f->name))
		return true;
	for (size_t i = 0; i < e->n_drop; i++) {
		if (slice_ieq(f->name, e->drop[i]))
			return true;
	}
	for (size_t i = 0; i < e->n_set; i++) {
		if (slice_ieq(f->name, e->set[i].name))
			return true;
	}
	return false;
}

static void put_fields(struct buf *out, const struct http1_head *h, const struct http1_edit *e,
		       enum http1_body body)
{
	for (size_t i = 0; i < h->n_fields; i++) {
		const struct http1_field *f = &h->fields[i];

		if (f->hop || f->id == HTTP1_F_HOST || f->id == HTTP1_F_CONTENT_LENGTH)
			continue;
		/* Without chunks there is no place for trailers to stand in. */
		if (f->id == HTTP1_F_TRAILER && body != HTTP1_BODY_CHUNKED)
			continue;
		if (!is_dropped(f, e))
			put_field(out, f->name, f->value);
	}
	for (size_t i = 0; i < e->n_set; i++)
		put_field(out, e->set[i].name, e->set[i].value);
}

static void put_length(struct buf *out, uint64_t length)
{
	put_str(out, "Content-Length: ");
	put_number(out, length);
	put_str(out, "\r\n");
}

static void put_framing(struct buf *out, const struct http1_head *h, const struct http1_edit *e,
			enum http1_body body)
{
	uint64_t length = e->reframe ? e->length : h->length;
	/* The answer to HEAD and a 304 tell the framing of a body that is not sent. */
	bool tells = !e->reframe && body == HTTP1_BODY_NONE;

	if (body == HTTP1_BODY_CHUNKED || (tells && h->chunked))
		put_str(out, "Transfer-Encoding: chunked\r\n");
	else if (body == HTTP1_BODY_LENGTH || (tells && h->has_length))
		put_length(out, length);
	if (e->keep_upgrade && h->upgrade.n) {
		put_str(out, "Connection: Upgrade\r\n");
		put_field(out, slice_of("Upgrade"), h->upgrade);
	} else if (e->close || body == HTTP1_BODY_CLOSE) {
		put_str(out, "Connection: close\r\n");
	}
	put_str(out, "\r\n");
}

static int finish(struct buf *out, size_t start, bool was_full)
{
	if (out->full) {
		out->len = start;
		if (out->data)
			out->data[start] = '\0';
		return -ENOBUFS;
	}
	out->full = was_full;
	return 0;
}

static int check_target(const struct http1_head *h, struct slice t)
{
	struct url_authority a;
	struct slice path, query;

	if (h->form == HTTP1_AUTHORITY)
		return url_split_host_port(t.p, t.n, &a) < 0 ? -EINVAL : 0;
	return url_split_path(t.p, t.n, &path, &query) < 0 ? -EINVAL : 0;
}

static void put_target(struct buf *out, const struct http1_head *h, const struct http1_edit *e)
{
	bool star = h->form == HTTP1_ASTERISK || (h->form == HTTP1_ABSOLUTE && !h->url.path.n &&
						  !h->url.query.p && http1_method_is(h, "OPTIONS"));

	if (h->form != HTTP1_AUTHORITY)
		put(out, e->target_prefix);
	if (e->target.p) {
		put(out, e->target);
	} else if (h->form == HTTP1_AUTHORITY) {
		put(out, h->target);
	} else if (star) {
		if (!e->target_prefix.p)
			put_str(out, "*");
	} else {
		put(out, h->url.path.n ? h->url.path : slice_of("/"));
		if (h->url.query.p) {
			put_str(out, "?");
			put(out, h->url.query);
		}
	}
}

int http1_write_request(struct buf *out, const struct http1_head *h, const struct http1_edit *e)
{
	bool named = h->form == HTTP1_ABSOLUTE || h->form == HTTP1_AUTHORITY;
	const struct url_authority *host = named ? &h->url.authority : &h->host;
	enum http1_body body = e->reframe ? e->body : h->body;
	size_t start = out->len;
	bool was_full = out->full;
	int r = check_edit(e);

	if (r == 0 && e->target.p)
		r = check_target(h, e->target);
	if (r < 0)
		return r;
	if ((!e->host.p && !host->host.n) || body == HTTP1_BODY_CLOSE || body == HTTP1_BODY_TUNNEL)
		return -EINVAL;
	out->full = false;
	put(out, h->method);
	put_str(out, " ");
	put_target(out, h, e);
	put_str(out, " HTTP/1.1\r\nHost: ");
	if (e->host.p)
		put(out, e->host);
	else
		put_authority(out, host);
	put_str(out, "\r\n");
	put_fields(out, h, e, body);
	put_framing(out, h, e, body);
	return finish(out, start, was_full);
}

int http1_write_response(struct buf *out, const struct http1_head *h, const struct http1_edit *e)
{
	enum http1_body body = e->reframe ? e->body : h->body;
	size_t start = out->len;
	bool was_full = out->full;
	int r = check_edit(e);

	if (r < 0)
		return r;
	out->full = false;
	put_str(out, "HTTP/1.1 ");
	put_number(out, h->status);
	put_str(out, " ");
	put(out, h->reason);
	put_str(out, "\r\n");
	put_fields(out, h, e, body);
	put_framing(out, h, e, body);
	return finish(out, start, was_full);
}
