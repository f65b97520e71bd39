#include "gateway/gw.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "base/log.h"
#include "gateway/conn.h"
#include "gateway/reach/host-proxy.h"
#include "gateway/event.h"
#include "gateway/isolate.h"
#include "gateway/listen.h"
#include "gateway/reach/names.h"
#include "gateway/exchange/phantom.h"
#include "gateway/exchange/pool.h"
#include "gateway/reach/resolve.h"
#include "gateway/super.h"
#include "gateway/tls.h"

#define SUPERVISOR_FD 3

/* As many connections as descriptors allow, some of them being kept for the servers' side. */
static void set_max_conns(struct gw *gw)
{
	struct rlimit l = {0};

	(void)getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
	gw->max_fd =
		l.rlim_cur > MAX_FDS_RESERVE * 2 ? l.rlim_cur - MAX_FDS_RESERVE : l.rlim_cur / 2;
	gw->max_conns = gw->max_fd < MAX_CONNS ? gw->max_fd : MAX_CONNS;
}

static int isolate(struct gw *gw, struct err *err)
{
	struct isolate i = {.ca_file = gw->config->ca_file, .ca_dir = gw->config->ca_dir};
	int r = tls_load_routes(gw, err);

	if (r == 0)
		r = isolate_files(&i, err);

	/*
	 * Without Landlock no path stays readable, so certificates are loaded now, which costs 30
	 * ms.
	 */
	if (r == 0 && !i.landlock)
		r = tls_preload(gw, err);
	return r < 0 ? r : isolate_calls(&i, err);
}

static int serve(struct gw *gw, struct err *err)
{
	/* The helper is forked first: it never holds a listener. */
	int r = resolver_start(gw, err);

	if (r == 0)
		r = super_setup(gw, err);
	if (r == 0)
		r = ev_new(&gw->ev, err);
	if (r < 0)
		return r;
	set_max_conns(gw);
	gw->events = events_new(gw);
	gw->pool = pool_new(gw);
	phantoms_init(gw);
	gw->names = names_new(gw->config, err);
	gw->host_proxies = gw->names ? host_proxies_new(gw->config, err) : NULL;
	if (!gw->host_proxies)
		return -EINVAL;
	r = isolate(gw, err);
	if (r == 0)
		r = resolver_attach(gw, err);
	if (r == 0)
		r = super_attach(gw, err);
	if (r == 0)
		r = listeners_start(gw, err);
	if (r < 0)
		return r;
	super_health(gw, 0);
	return ev_run(gw->ev, err);
}

static void end_conns(struct gw *gw)
{
	for (struct conn *c = gw->conns, *next; c; c = next) {
		next = c->next;
		conn_end(c, "the gateway ends");
	}
	events_flush(gw);
}

int main(void)
{
	struct gw *gw = xcalloc(1, sizeof(*gw));
	struct err err = {0};
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	gw->sock = SUPERVISOR_FD;
	gw->cred = -1;
	(void)fd_set_cloexec(gw->sock, true);
	r = serve(gw, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: gateway: %s\n", err.msg);
	else
		end_conns(gw);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
