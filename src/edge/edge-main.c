#include "edge/edge.h"

#include <signal.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "confine/syscalls.h"
#include "confine/filters.h"
#include "edge/listen.h"
#include "edge/reach/names.h"
#include "flow/event.h"
#include "flow/host-proxy.h"
#include "flow/isolate.h"
#include "flow/refuse.h"

#define SUPERVISOR_FD 3

/* No file stays: the look-up helper has those that are needed for names. */
static int isolate(struct err *err)
{
	int r = isolate_rights();

	if (r == 0)
		r = isolate_files(NULL, NULL, NULL,
				  LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (r >= 0)
		r = confine_calls(edge);
	return r < 0 ? err_sys(err, -r, "cannot give up rights") : 0;
}

static int prepare(struct gw *gw, struct err *err)
{
	/* The helper is forked first: it never holds a listener. */
	int r = resolver_start(gw, err);

	if (r == 0)
		r = super_setup(gw, err);
	if (r == 0)
		r = ev_new(&gw->ev, err);
	if (r == 0)
		r = ev_keep_alarm(gw->ev, err);
	if (r < 0)
		return r;
	gw_set_max_conns(gw);
	refuse_init();
	gw->events = events_new(gw);
	gw->edge->names = names_new(gw->config, err);
	gw->host_proxies = gw->edge->names ? host_proxies_new(gw->config, err) : NULL;
	return gw->host_proxies ? 0 : -EINVAL;
}

static int serve(struct gw *gw, struct err *err)
{
	int r = prepare(gw, err);

	if (r == 0)
		r = isolate(err);
	if (r == 0)
		r = resolver_attach(gw, err);
	if (r == 0)
		r = super_attach(gw, err);
	if (r == 0)
		r = pass_attach(gw, err);
	if (r == 0)
		r = listeners_start(gw, err);
	if (r < 0)
		return r;
	super_health(gw, 0);
	return ev_run(gw->ev, err);
}

int main(void)
{
	struct gw *gw = xcalloc(1, sizeof(*gw));
	struct err err = {0};
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	gw->program = &edge_program;
	gw->edge = xcalloc(1, sizeof(*gw->edge));
	gw->edge->gw = gw;
	gw->edge->arrivals.fd = gw->edge->dials.fd = -1;
	gw->sock = SUPERVISOR_FD;
	(void)fd_set_cloexec(gw->sock, true);
	r = serve(gw, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: edge: %s\n", err.msg);
	else
		conns_end(gw);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
