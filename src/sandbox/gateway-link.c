/*
 * The supervisor's side of the gateway.
 *
 * DOC: Theory of operation
 *
 * The guest opens the sockets the policy calls for and hands them out with WIRE_UP. They are
 * watched here until the first connection or datagram arrives; only then is the gateway started
 * and given all of them, so that a command which uses no network pays for none. From then on this
 * process holds no copy: when the gateway ends, for whatever reason, its listeners and connections
 * are gone, and the sandbox has no network any more. It is not started again: whatever ended it
 * came from inside.
 *
 * Questions for the certificate authority go to a helper of its own (libexec/ralph/ca), started
 * with the sandbox when a rule inspects; its key never comes here.
 */
#include "sandbox/supervisor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "sandbox/net-listeners.h"
#include "sandbox/net.h"

#define CA_ANSWER_S 10
#define BUNDLE_MAX (8 * MiB)

static const char *const system_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/cert.pem",
};

static bool has_ipv6(void)
{
	struct stat st;

	return stat("/proc/net/if_inet6", &st) == 0;
}

int gateway_link_plan(struct supervisor *s, struct err *err)
{
	cleanup_(policy_freep) struct policy *p = NULL;
	struct gateway_link *g = &s->gateway;
	int r = net_policy(&s->spec->net, &p, err);

	g->sock = g->ca = -1;
	if (r == 0)
		r = net_listeners(p, &g->rows, &g->n_rows, err);
	if (r < 0 || has_ipv6())
		return r;
	for (size_t i = 0, n = g->n_rows; i < n; i++) {
		if (i == 0)
			g->n_rows = 0;
		if (!g->rows[i].optional)
			g->rows[g->n_rows++] = g->rows[i];
	}
	return 0;
}

static struct child *spawn(struct supervisor *s, const char *name, int *ret_sock, struct err *err)
{
	cleanup_free char *program = places_program(&s->places, name);
	struct child *child = xcalloc(1, sizeof(*child));
	cleanup_fd int theirs = -1, ours = -1;
	char *argv[] = {program, NULL};
	struct run run = RUN_INIT;
	int pair[2];

	if (wire_pair(pair, err) < 0)
		goto fail;
	ours = pair[0];
	theirs = pair[1];
	run.argv = argv;
	run.dir = "/";
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run.before_exec = place_socket;
	run.arg = &theirs;
	if (run_start(&run, child, err) < 0)
		goto fail;
	*ret_sock = take_fd(ours);
	return child;
fail:
	free(child);
	return NULL;
}
