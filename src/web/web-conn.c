#include "web/web-conn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define IN_MAX (HTTP1_HEAD_MAX + WEB_BODY_MAX)
#define OUT_MAX (WEB_ANSWER_MAX + 8 * KiB)
#define PIECE (16 * KiB)

/* Nothing of the page comes from elsewhere, and no text can become markup or a script. */
#define FIXED_FIELDS                                                                               \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "       \
	"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "                \
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"     \
	"X-Content-Type-Options: nosniff\r\n"                                                      \
	"X-Frame-Options: DENY\r\n"                                                                \
	"Referrer-Policy: no-referrer\r\n"                                                         \
	"Cross-Origin-Opener-Policy: same-origin\r\n"                                              \
	"Cross-Origin-Resource-Policy: same-origin\r\n"                                            \
	"Permissions-Policy: camera=(), geolocation=(), microphone=()\r\n"                         \
	"Cache-Control: no-store\r\n"

static const char *phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {{200, "OK"},
		    {400, "Bad Request"},
		    {401, "Unauthorized"},
		    {403, "Forbidden"},
		    {404, "Not Found"},
		    {405, "Method Not Allowed"},
		    {409, "Conflict"},
		    {411, "Length Required"},
		    {413, "Content Too Large"},
		    {415, "Unsupported Media Type"},
		    {417, "Expectation Failed"},
		    {421, "Misdirected Request"},
		    {429, "Too Many Requests"},
		    {431, "Request Header Fields Too Large"},
		    {503, "Service Unavailable"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return status < 500 ? "Error" : "Internal Error";
}

static void on_io(struct ev *ev, struct ev_io *io, uint32_t events);

static void free_now(struct ev *ev, struct ev_defer *d)
{
	struct web_conn *c = ev_owner(d, struct web_conn, free), **at = &c->web->conns;

	(void)ev;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->web->n_conns--;
	buf_done(&c->in);
	buf_done(&c->out);
	free(c->path);
	free(c->body);
	free(c);
}

void conn_close(struct web_conn *c)
{
	if (c->closed)
		return;
	c->closed = true;
	if (c->id && (c->state == WEB_STREAMS || c->state == WEB_DESKED) && c->web->desk.fd >= 0)
		(void)web_send_ask(c->web->desk.fd, c->id, &(struct web_ask){.kind = WEB_END});
	ev_timer_stop(c->web->ev, &c->limit);
	ev_closing(c->web->ev, &c->io);
	closep(&c->io.fd);
	ev_defer(c->web->ev, &c->free);
}

/* Of a question that is open nothing is read, but the end of the connection is noticed. */
static const struct {
	uint32_t want;
	unsigned limit_ms;
} states[] = {
	[WEB_HEAD] = {EPOLLIN, WEB_HEAD_MS},	   [WEB_HAND] = {EPOLLRDHUP, WEB_ASK_MS},
	[WEB_DESKED] = {EPOLLRDHUP, WEB_ASK_MS},   [WEB_WRITE] = {EPOLLOUT, WEB_WRITE_MS},
	[WEB_STREAMS] = {EPOLLRDHUP, WEB_BEAT_MS},
};
static_assert(ARRAY_SIZE(states) == WEB_CONN_N, "one row per state");

static void conn_go(struct web_conn *c, enum web_conn_state next)
{
	c->state = next;
	(void)ev_want(c->web->ev, &c->io, states[next].want);
	ev_timer_set(c->web->ev, &c->limit, states[next].limit_ms);
}

static void write_more(struct web_conn *c);

static void respond(struct web_conn *c, unsigned status, const char *type, const char *cookie,
		    const char *body, size_t n)
{
	bool tls = c->web->rules.tls;

	(void)buf_printf(&c->out, "HTTP/1.1 %u %s\r\n" FIXED_FIELDS, status, phrase(status));
	if (cookie && *cookie)
		(void)buf_printf(&c->out,
				 "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict%s\r\n",
				 request_cookie_name(tls), cookie, tls ? "; Secure" : "");
	(void)buf_printf(&c->out, "Content-Type: %s\r\nContent-Length: %zu\r\n%s\r\n", type, n,
			 c->close ? "Connection: close\r\n" : "");
	(void)buf_append(&c->out, body, n);
	c->id = 0;
	if (c->out.full) {
		conn_close(c);
		return;
	}
	conn_go(c, WEB_WRITE);
	write_more(c);
}

static void respond_json(struct web_conn *c, unsigned status, const char *body, size_t n)
{
	respond(c, status, "application/json", NULL, body, n);
}

/* A refusal of our own says nothing of the request. */
static void refuse(struct web_conn *c, unsigned status, bool close)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "{\"error\":\"%s\"}", phrase(status));

	c->close = c->close || close;
	respond_json(c, status, text, (size_t)n);
}

static void begin_stream(struct web_conn *c)
{
	(void)buf_puts(&c->out, "HTTP/1.1 200 OK\r\n" FIXED_FIELDS
				"Content-Type: text/event-stream\r\nConnection: close\r\n\r\n");
	c->close = true;
	conn_go(c, WEB_STREAMS);
}

static void ask(struct web_conn *c, int fd, enum web_conn_state next, struct web_ask *a)
{
	if (!c->id) {
		c->id = ++c->web->last_id;
		if (!c->id)
			c->id = ++c->web->last_id;
	}
	conn_go(c, next);
	if (fd < 0 || web_send_ask(fd, c->id, a) < 0) {
		c->id = 0;
		refuse(c, 503, false);
	}
}

static size_t conns_of(const struct web *w, const char *session)
{
	size_t n = 0;

	for (const struct web_conn *c = w->conns; c; c = c->next)
		n += !c->closed && c->state != WEB_HEAD && streq(c->session, session);
	return n;
}

static void ask_desk(struct web_conn *c)
{
	struct web_ask a = {.kind = WEB_GET, .path = c->path};

	if (conns_of(c->web, c->session) > WEB_SESSION_CONNS_MAX) {
		refuse(c, 429, false);
		return;
	}
	if (c->route.id == ROUTE_STREAM)
		a = (struct web_ask){.kind = WEB_STREAM, .body = c->body, .n_body = c->n_body};
	ask(c, c->web->desk.fd, WEB_DESKED, &a);
}

static void push(struct web_conn *c, const struct web_answer *a)
{
	if (a->status != 200) {
		conn_close(c);
		return;
	}
	if (a->n_body) {
		(void)buf_puts(&c->out, "data: ");
		(void)buf_append(&c->out, a->body, a->n_body);
		(void)buf_puts(&c->out, "\n\n");
	}
	c->owes = true;
	if (c->out.full)
		conn_close(c);
	else
		write_more(c);
}

void conn_answer(struct web_conn *c, const struct web_answer *a)
{
	if (c->state == WEB_STREAMS) {
		push(c, a);
	} else if (c->state == WEB_HAND && a->status == 200 &&
		   (c->route.id >= ROUTE_OVERVIEW || c->route.id == ROUTE_STREAM)) {
		(void)snprintf(c->session, sizeof(c->session), "%s", a->cookie);
		ask_desk(c);
	} else if (c->state == WEB_DESKED && a->status == 200 && c->route.id == ROUTE_STREAM) {
		begin_stream(c);
		push(c, a);
	} else if (c->state == WEB_HAND || c->state == WEB_DESKED) {
		respond(c, a->status, "application/json",
			c->route.id == ROUTE_LOGIN ? a->cookie : NULL, a->body, a->n_body);
	}
}

static void ask_hand(struct web_conn *c)
{
	char cookie[REQUEST_HALF_LEN + 1] = "", key[REQUEST_HALF_LEN + 1] = "";
	struct web_ask a = {.kind = WEB_CHECK, .cookie = cookie, .key = key};

	if (c->route.id == ROUTE_LOGIN) {
		a.kind = WEB_LOGIN;
	} else if (!request_halves(&c->head, c->web->rules.tls, cookie, key)) {
		refuse(c, 401, false);
		return;
	}
	if (c->route.id == ROUTE_ACT)
		a.kind = WEB_ACT;
	else if (c->route.id == ROUTE_SESSIONS)
		a.kind = WEB_SESSIONS;
	else if (c->route.id == ROUTE_LOGOUT)
		a.kind = WEB_LOGOUT;
	else if (c->route.id == ROUTE_DIFF || c->route.id == ROUTE_AUDIT)
		a = (struct web_ask){
			.kind = WEB_VIEW, .cookie = cookie, .key = key, .path = c->path};
	if (a.kind != WEB_CHECK) {
		a.body = c->body;
		a.n_body = c->n_body;
	}
	ask(c, c->web->hand.fd, WEB_HAND, &a);
	explicit_bzero(cookie, sizeof(cookie));
	explicit_bzero(key, sizeof(key));
}

/* The whole request is in `in`. */
static void handle(struct web_conn *c, const char *body, size_t n_body)
{
	bool post = http1_method_is(&c->head, "POST");
	unsigned status;
	int found;

	if (!post && !http1_method_is(&c->head, "GET")) {
		refuse(c, 405, false);
		return;
	}
	found = route_find(post, c->head.target.p, c->head.target.n, &c->route);
	status = request_check(&c->web->rules, &c->head,
			       post			   ? REQUEST_CHANGE
			       : c->route.id == ROUTE_PAGE ? REQUEST_PAGE
							   : REQUEST_READ);
	if (status || found) {
		refuse(c, status ? status : (unsigned)found, false);
		return;
	}
	if (c->route.id == ROUTE_PAGE) {
		const struct buf *f = &c->web->files[c->route.file];

		respond(c, 200, route_files[c->route.file].type, NULL, f->data, f->len);
		return;
	}
	free(c->path);
	free(c->body);
	c->path = xstrndup(c->head.target.p, c->head.target.n);
	c->body = xstrndup(body, n_body);
	c->n_body = n_body;
	ask_hand(c);
}

/* Looks whether a request is whole; the parser starts over because the buffer may have moved. */
static void process(struct web_conn *c)
{
	ssize_t n;

	http1_reset(&c->head);
	n = c->in.len ? http1_parse_request(c->in.data, c->in.len, &c->head) : 0;
	if (n < 0) {
		refuse(c, http1_reason_status((int)n), true);
		return;
	}
	if (n == 0)
		return;
	c->close = !c->head.keep_alive;
	if (c->head.form != HTTP1_ORIGIN)
		refuse(c, 400, true);
	else if (c->head.expect_continue)
		refuse(c, 417, true);
	else if (c->head.body == HTTP1_BODY_CHUNKED)
		refuse(c, 411, true);
	else if (c->head.body == HTTP1_BODY_LENGTH && c->head.length > WEB_BODY_MAX)
		refuse(c, 413, true);
	else {
		size_t body = c->head.body == HTTP1_BODY_LENGTH ? (size_t)c->head.length : 0;

		if (c->in.len - (size_t)n < body)
			return;
		c->taken = (size_t)n + body;
		handle(c, c->in.data + n, body);
	}
}

static void next_request(struct web_conn *c)
{
	buf_clear(&c->out);
	c->sent = 0;
	if (c->close) {
		/* What the browser still sends would turn our end into a reset. */
		(void)shutdown(c->io.fd, SHUT_WR);
		conn_close(c);
		return;
	}
	buf_consume(&c->in, c->taken);
	c->taken = 0;
	c->session[0] = '\0';
	conn_go(c, WEB_HEAD);
	/* Requests that were sent together are taken one per turn of the event loop. */
	c->pending = c->in.len > 0;
	if (c->pending)
		ev_timer_set(c->web->ev, &c->limit, 0);
}

static void write_more(struct web_conn *c)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->io.fd, c->out.data + c->sent, c->out.len - c->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			(void)ev_want(c->web->ev, &c->io, EPOLLOUT | EPOLLRDHUP);
			return;
		}
		if (n <= 0) {
			conn_close(c);
			return;
		}
		c->sent += (size_t)n;
		ev_timer_set(c->web->ev, &c->limit, states[c->state].limit_ms);
	}
	if (c->state == WEB_WRITE) {
		next_request(c);
		return;
	}
	buf_clear(&c->out);
	c->sent = 0;
	(void)ev_want(c->web->ev, &c->io, states[c->state].want);
	if (c->owes && c->web->desk.fd >= 0) {
		c->owes = false;
		(void)web_send_ask(c->web->desk.fd, c->id, &(struct web_ask){.kind = WEB_MORE});
	}
}

static void read_more(struct web_conn *c)
{
	ssize_t n;

	if (buf_room(&c->in) == 0 ||
	    buf_reserve(&c->in, buf_room(&c->in) < PIECE ? buf_room(&c->in) : PIECE) < 0) {
		refuse(c, 431, true);
		return;
	}
	n = recv(c->io.fd, c->in.data + c->in.len,
		 buf_room(&c->in) < PIECE ? buf_room(&c->in) : PIECE, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		conn_close(c);
		return;
	}
	c->in.len += (size_t)n;
	process(c);
}

static void on_io(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct web_conn *c = ev_owner(io, struct web_conn, io);

	(void)ev;
	if (c->closed)
		return;
	if (c->state == WEB_HEAD)
		read_more(c);
	else if (events & EPOLLOUT)
		write_more(c);
	else if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		conn_close(c);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	struct web_conn *c = ev_owner(t, struct web_conn, limit);

	(void)ev;
	if (c->state == WEB_STREAMS && c->sent == c->out.len) {
		(void)buf_puts(&c->out, ": beat\n\n");
		ev_timer_set(c->web->ev, &c->limit, WEB_BEAT_MS);
		write_more(c);
	} else if (c->state == WEB_HEAD && c->pending) {
		c->pending = false;
		ev_timer_set(c->web->ev, &c->limit, WEB_HEAD_MS);
		process(c);
	} else if (c->state == WEB_HAND || c->state == WEB_DESKED) {
		c->id = 0; /* an answer that comes later is nobody's */
		refuse(c, 503, true);
	} else {
		conn_close(c);
	}
}

bool conn_evict(struct web *w)
{
	struct web_conn *oldest = NULL;

	for (struct web_conn *c = w->conns; c; c = c->next)
		if (!c->closed && !c->session[0] && c->state != WEB_HAND)
			oldest = c;
	if (oldest)
		conn_close(oldest);
	return oldest != NULL;
}

void conn_open(struct web *w, int fd)
{
	struct web_conn *c = xcalloc(1, sizeof(*c));

	*c = (struct web_conn){
		.web = w, .next = w->conns, .limit.fn = on_limit, .free.fn = free_now};
	c->io = (struct ev_io){.fd = fd, .fn = on_io};
	buf_init(&c->in, IN_MAX);
	buf_init(&c->out, OUT_MAX);
	w->conns = c;
	w->n_conns++;
	conn_go(c, WEB_HEAD);
}
