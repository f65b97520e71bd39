#include "flow/super.h"

#include "base/fd.h"
#include "flow/conn.h"
#include "policy/policy.h"

void gw_quit(struct gw *gw)
{
	ev_stop(gw->ev);
}

static int on_config(struct gw *gw, const struct wire_msg *m, struct err *err)
{
	if (gw->config || gw_get_config(m, &gw->config) < 0)
		return err_set(err, EPROTO, "the supervisor's configuration is malformed");
	/* An answer to a question of the gateway before this one is no answer to ours, and a flow has
	 * one number in both programs. */
	gw->last_id = gw->config->before << 24 | (gw->edge ? 0 : 1u << 23);
	gw->policy = take_ptr(gw->config->rules);
	return 0;
}

int super_take_lines(struct wire_msg *m, int *ret, size_t n)
{
	if (m->n_fds != n)
		return -EPROTO;
	for (size_t i = 0; i < n; i++) {
		ret[i] = wire_take_fd(m, i);
		if (fd_set_nonblock(ret[i], true) < 0)
			return -EPROTO;
	}
	return 0;
}

int super_setup(struct gw *gw, struct err *err)
{
	for (;;) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(gw->sock, &m);
		if (r <= 0)
			return err_set(err, r < 0 ? -r : EPIPE, "the supervisor is gone");
		if ((int)m.type == GW_START)
			return gw->config ? 0 : err_set(err, EPROTO, "no configuration came");
		r = (int)m.type == GW_CONFIG ? on_config(gw, &m, err)
					     : gw->program->set_up(gw, &m, err);
		if (r < 0)
			return r;
	}
}

void super_health(struct gw *gw, uint32_t id)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	gw_put_health(&b, &gw->health);
	(void)wire_send(gw->sock, (enum wire_type)GW_HEALTH, id, &b, NULL, 0);
}

/* A policy that cannot be read leaves the old one in force: it was the user's last word. */
static void on_policy(struct gw *gw, const struct wire_msg *m)
{
	struct policy *p = NULL;

	if (gw_get_rules(m, &p) < 0)
		return;
	(void)policy_free(gw->policy);
	gw->policy = p;
	gw->program->new_policy(gw);
}

static void on_frame(struct gw *gw, struct wire_msg *m)
{
	if ((int)m->type == GW_POLICY)
		on_policy(gw, m);
	else if ((int)m->type == GW_HEALTH)
		super_health(gw, m->id);
	else
		gw->program->frame(gw, m);
}

static void on_readable(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct gw *gw = ev_owner(io, struct gw, sock_io);

	for (;;) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(gw->sock, &m);
		if (r == -EAGAIN)
			return;
		if (r <= 0) {
			gw_quit(gw);
			return;
		}
		on_frame(gw, &m);
		buf_done(&m.body);
	}
}

int super_attach(struct gw *gw, struct err *err)
{
	int r = fd_set_nonblock(gw->sock, true);

	gw->sock_io = (struct ev_io){.fd = gw->sock, .fn = on_readable};
	if (r == 0)
		r = ev_want(gw->ev, &gw->sock_io, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "cannot watch the supervisor") : 0;
}
