/*
 * libexec/ralph/reader: reads requests to providers and their answers.
 *
 * DOC: Theory of operation
 *
 * Frames of the gateway are taken one after the other. A request is judged, and its answer goes back
 * at once, or, with a budget, when the supervisor has answered the question of the same id. Nothing
 * is kept between two frames. A frame that no gateway sends ends the program. Its end is the
 * supervisor's to notice: what is reserved then is spent.
 *
 * The end of the gateway's line is the end of the program, after all frames that were in it.
 */
#include "reader/reader.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/landlock.h"
#include "confine/filters.h"
#include "confine/syscalls.h"
#include "flow/isolate.h"
#include "wire/helper.h"

struct reader {
	struct reader_setup setup;
	int line; /* to the gateway */
};

static int send_verdict(const struct reader *rd, uint32_t id, const struct reader_verdict *v)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	reader_put_verdict(&b, v);
	return wire_send(rd->line, (enum wire_type)READER_IS, id, &b, NULL, 0);
}

static int on_request(const struct reader *rd, const struct wire_msg *m)
{
	char model[READER_MODEL_MAX + 1];
	cleanup_free char *why = NULL;
	struct reader_request q;
	struct gw_spend spend;
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	if (reader_get_request(m, &q) < 0)
		return -EPROTO;
	if (!reader_judge(&rd->setup, &q, model, &spend, &why))
		return send_verdict(rd, m->id, &(struct reader_verdict){.status = 403, .why = why});
	if (!spend.credential)
		return send_verdict(rd, m->id, &(struct reader_verdict){.why = ""});
	gw_put_spend(&b, &spend);
	return wire_send(HELPER_FD, (enum wire_type)GW_SPEND, m->id, &b, NULL, 0);
}

static int on_answer(const struct wire_msg *m)
{
	char model[READER_MODEL_MAX + 1];
	cleanup_buf struct buf b, limits;
	struct reader_answer a;
	struct gw_usage u;

	buf_init(&limits, GW_LIMITS_MAX);
	buf_init(&b, WIRE_INLINE_MAX);
	if (reader_get_answer(m, &a) < 0)
		return -EPROTO;
	if (!reader_measure(&a, model, &limits, &u))
		return 0;
	gw_put_usage(&b, &u);
	return wire_send(HELPER_FD, (enum wire_type)GW_USAGE, 0, &b, NULL, 0);
}

static int take_frame(const struct reader *rd, int from);

/* The supervisor wants to hear everything that the gateway has said before. */
static int on_health(const struct reader *rd)
{
	struct pollfd p = {.fd = rd->line, .events = POLLIN};
	int r = 1;

	while (r > 0 && poll(&p, 1, 0) > 0)
		r = take_frame(rd, rd->line);
	return r > 0 ? wire_send(HELPER_FD, (enum wire_type)GW_HEALTH, 0, NULL, NULL, 0) : r;
}

static int send_json(const struct reader *rd, uint32_t id, unsigned int status, const char *error)
{
	json_t *j = json_pack("{ss}", "error", error);
	char *text = json_dumps(j, JSON_COMPACT);
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, status);
	wire_put_str(&b, text ? text : "{}");
	free(text);
	json_decref(j);
	return wire_send(rd->line, (enum wire_type)READER_IS, id, &b, NULL, 0);
}

static int on_ask(const struct reader *rd, const struct wire_msg *m)
{
	cleanup_buf struct buf b, why;
	struct reader_ask q;
	struct gw_ask a;
	unsigned int status;
	json_t *doc;
	int r;

	buf_init(&b, WIRE_INLINE_MAX);
	buf_init(&why, WIRE_INLINE_MAX);
	if (reader_get_ask(m, &q) < 0)
		return -EPROTO;
	status = reader_ask(&q, &doc, &a, &why);
	if (!status)
		gw_put_ask(&b, &a);
	r = status || b.full ? send_json(rd, m->id, status ? status : 400, buf_str(&why))
			     : wire_send(HELPER_FD, (enum wire_type)GW_ASK, m->id, &b, NULL, 0);
	strv_done(&a.choices);
	json_decref(doc);
	return r;
}

/* The supervisor's answer for a request that is to be sent. */
static int on_spend(const struct reader *rd, const struct wire_msg *m)
{
	struct wire_reader r;
	const char *why;
	uint32_t eno;

	wire_read(&r, m);
	eno = wire_get_u32(&r);
	why = wire_get_str(&r);
	if ((int)m->type != GW_SPEND_IS || wire_read_end(&r) < 0)
		return -EPROTO;
	return send_verdict(rd, m->id,
			    &(struct reader_verdict){.status = eno == EAGAIN ? 429
							       : eno	     ? 402
									     : 0,
						     .why = why,
						     .reserved = !eno});
}

/* 1, or 0 at the end of the line. */
static int take_frame(const struct reader *rd, int from)
{
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(from, &m);
	if (r <= 0)
		return r;
	if (from == HELPER_FD && (int)m.type == GW_HEALTH)
		r = on_health(rd);
	else if (from == HELPER_FD && (int)m.type == GW_ASK_IS)
		r = wire_send(rd->line, (enum wire_type)READER_IS, m.id, &m.body, NULL, 0);
	else if (from == HELPER_FD)
		r = on_spend(rd, &m);
	else if ((int)m.type == READER_REQUEST)
		r = on_request(rd, &m);
	else if ((int)m.type == READER_ANSWER)
		r = on_answer(&m);
	else if ((int)m.type == READER_ASK)
		r = on_ask(rd, &m);
	else
		r = -EPROTO;
	return r < 0 ? r : 1;
}

static int serve(const struct reader *rd, struct err *err)
{
	struct pollfd p[] = {{.fd = HELPER_FD, .events = POLLIN},
			     {.fd = rd->line, .events = POLLIN}};
	int r = 1;

	while (r > 0) {
		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "cannot wait");
		for (size_t i = 0; i < ARRAY_SIZE(p) && r > 0; i++)
			if (p[i].revents)
				r = take_frame(rd, p[i].fd);
	}
	/* A line that ends while a frame is written to it has ended. */
	return r == 0 || r == -EPIPE ? 0 : err_sys(err, -r, "a frame cannot be read");
}

static int set_up(struct reader *rd, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	if (wire_recv(HELPER_FD, &m) <= 0 || (int)m.type != READER_SETUP ||
	    reader_get_setup(&m, &rd->setup) < 0)
		return err_set(err, EPROTO, "the supervisor's first frame is malformed");
	rd->line = wire_take_fd(&m, 0);
	return 0;
}

static int isolate(struct err *err)
{
	int r = isolate_rights();

	if (r < 0)
		return err_sys(err, -r, "cannot give up capabilities");
	r = isolate_files(NULL, NULL, NULL, LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (r >= 0)
		r = confine_calls(reader);
	return r < 0 ? err_sys(err, -r, "cannot give up files and system calls") : 0;
}

int main(void)
{
	struct reader rd = {.line = -1};
	struct err err = {0};
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	json_object_seed(0);
	r = set_up(&rd, &err);
	if (r == 0)
		r = isolate(&err);
	if (r == 0)
		r = serve(&rd, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: reader: %s\n", err.msg);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
