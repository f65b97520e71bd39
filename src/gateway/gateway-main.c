#include "gateway/gateway-conn.h"

#include <signal.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "confine/syscalls.h"
#include "confine/filters.h"
#include "flow/event.h"
#include "flow/host-proxy.h"
#include "flow/isolate.h"
#include "flow/refuse.h"
#include "gateway/question.h"
#include "gateway/exchange/phantom.h"
#include "gateway/exchange/pool.h"
#include "gateway/tls.h"

#define SUPERVISOR_FD 3

/* The directories to which the links in a certificate directory lead. */
static const char *const trust_paths[] = {
	"/etc/ssl",
	"/etc/pki",
	"/etc/ca-certificates",
	"/usr/lib/ssl",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/pki",
	"/var/lib/ca-certificates",
	"/nix/store",
	"/gnu/store",
	NULL,
};

/* The trust store stays readable with Landlock; without it, certificates are loaded before the last
 * stage, which costs 30 ms. */
static int isolate(struct gw *gw, struct err *err)
{
	int r = tls_load_routes(gw, err), files;

	if (r < 0)
		return r;
	r = isolate_rights();
	if (r < 0)
		return err_sys(err, -r, "cannot give up capabilities");
	files = isolate_files(trust_paths, gw->config->ca_file, gw->config->ca_dir,
			      LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (files < 0)
		return err_sys(err, -files, "cannot give up files");
	if (files == 0)
		r = tls_preload(gw, err);
	if (r < 0)
		return r;
	r = files ? confine_calls(gateway) : confine_calls(gateway_closed);
	return r < 0 ? err_sys(err, -r, "cannot give up system calls") : 0;
}

static int serve(struct gw *gw, struct err *err)
{
	int r = super_setup(gw, err);

	if (r == 0)
		r = ev_new(&gw->ev, err);
	if (r == 0)
		r = ev_keep_alarm(gw->ev, err);
	if (r < 0)
		return r;
	gw_set_max_conns(gw);
	refuse_init();
	gw->events = events_new(gw);
	gw->pool = pool_new(gw);
	phantoms_init(gw);
	gw->host_proxies = host_proxies_new(gw->config, err);
	if (!gw->host_proxies)
		return -EINVAL;
	r = isolate(gw, err);
	if (r == 0)
		r = super_attach(gw, err);
	if (r == 0)
		r = ask_attach(gw, err);
	if (r == 0)
		r = arrivals_attach(gw, err);
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
	gw->program = &gateway_program;
	gw->sock = SUPERVISOR_FD;
	gw->cred.fd = gw->reader.fd = gw->dials = gw->arrivals.fd = -1;
	(void)fd_set_cloexec(gw->sock, true);
	r = serve(gw, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: gateway: %s\n", err.msg);
	else
		conns_end(gw);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
