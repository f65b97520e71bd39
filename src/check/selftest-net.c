/* Rows about sockets, addresses and names. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "netrules/net-check.h"
#include "netrules/net-listeners.h"
#include "check/selftest.h"

#define REFUSED_NAME "ralph-selftest.invalid"

/* Each way to write one kind of address; the first is the plain one. */
static const char *const loopback[] = {
	"127.0.0.1",
	"127.1",
	"2130706433",
	"017700000001",
	"0x7f000001",
	"0x7f.1",
	"0177.0.0.1",
	"127.0.0.1.",
	"127.255.255.254",
	"0",
	"0.0.0.0",
	"::1",
	"0:0:0:0:0:0:0:1",
	"::ffff:127.0.0.1",
	"::ffff:7f00:1",
	"::127.0.0.1",
	"64:ff9b::127.0.0.1",
	"2002:7f00:1::",
	"::",
	"localhost",
	"LOCALHOST",
	"localhost.",
	"localhost.localdomain",
	"ip6-localhost",
	"foo.localhost",
	NULL,
};
static const char *const metadata[] = {
	"169.254.169.254",
	"2852039166",
	"0xa9fea9fe",
	"0251.0376.0251.0376",
	"169.254.43518",
	"::ffff:169.254.169.254",
	"64:ff9b::169.254.169.254",
	"2002:a9fe:a9fe::",
	"fd00:ec2::254",
	"100.100.100.200",
	"metadata.google.internal",
	"METADATA.google.internal.",
	NULL,
};
static const char *const private[] = {
	"10.1.2.3",	   "167838211",		"0x0a010203",	  "012.1.2.3",	  "10.66051",
	"::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::", "192.168.77.1", "172.16.5.5",
	"100.64.1.1",	   "fd12::1",		"fe80::1",	  NULL,
};
static const char *const public[] = {
	"192.0.2.1",	      "3221225985",  "0xc0000201", "::ffff:192.0.2.1",
	"64:ff9b::192.0.2.1", "2001:db8::1", NULL,
};
static const char *const names[] = {REFUSED_NAME, "RALPH-selftest.invalid.", NULL};

/* Do the rules allow this target by themselves? Then it is no wall's business. An address that needs
 * a name is refused by its first bytes, which the probe does not send. */
static bool is_allowed(const struct sandbox_spec *spec, const char *host)
{
	cleanup_free char *target = xasprintf("%s:80", host);
	const struct net_question q = {.target = target};
	struct net_answer a = {0};
	struct err ignored;
	bool allow;

	if (net_check(&spec->net, &q, &a, &ignored) < 0)
		return false;
	allow = a.allow || streq(a.reason, "nameless");
	net_answer_done(&a);
	return allow;
}

static void add_refused(struct selftest *t, const struct sandbox_spec *spec, const char *what,
			const char *const *targets)
{
	struct selftest_row *row;

	/* Judged by its plain form, so that no spelling can excuse itself. */
	if (is_allowed(spec, targets[0]))
		return;
	row = selftest_add(t, "network", what, "proxy-refuses");
	strv_pushf(&row->argv, "%d", NET_PROXY_PORT);
	for (size_t i = 0; targets[i]; i++)
		strv_push(&row->argv, targets[i]);
}

/* A name that a rule allows as it stands; NULL. */
static const char *allowed_name(const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->net.n_rules; i++) {
		const struct net_rule *r = &spec->net.rules[i];

		if (!r->deny && !strpbrk(r->pattern, "*:/[") &&
		    strpbrk(r->pattern, "abcdefghijklmnopqrstuvwxyz") && strchr(r->pattern, '.') &&
		    is_allowed(spec, r->pattern))
			return r->pattern;
	}
	return NULL;
}

static void gateway_rows(struct selftest *t, const struct sandbox_spec *spec)
{
	const char *name = allowed_name(spec);
	struct selftest_row *row = selftest_add_work(t, "the gateway", "gateway-answers");

	strv_pushf(&row->argv, "%d", NET_PROXY_PORT);
	add_refused(t, spec, "the loopback of the host, however spelled", loopback);
	add_refused(t, spec, "metadata services, however spelled", metadata);
	add_refused(t, spec, "private networks, however spelled", private);
	add_refused(t, spec, "addresses without a rule, however spelled", public);
	add_refused(t, spec, "names without a rule", names);
	if (!is_allowed(spec, REFUSED_NAME)) {
		row = selftest_add(t, "network", "addresses of names without a rule",
				   "dns-refuses");
		strv_push(&row->argv, REFUSED_NAME);
	}
	if (!name)
		return;
	row = selftest_add_work(t, "an allowed name", "dns-answers");
	strv_push(&row->argv, name);
}

void selftest_answers(struct selftest *t, const struct sandbox_spec *spec)
{
	const char *name = allowed_name(spec);
	struct selftest_row *row = selftest_add_work(t, "writing in the workspace", "writable");

	strv_push(&row->argv, spec->workspace);
	if (spec->net.tier == POLICY_NONE)
		return;
	row = selftest_add_work(t, "gateway", "gateway-answers");
	strv_pushf(&row->argv, "%d", NET_PROXY_PORT);
	add_refused(t, spec, "a host without a rule", names);
	if (!name)
		return;
	row = selftest_add_work(t, "an allowed host", "dns-answers");
	strv_push(&row->argv, name);
}

static int listen_on(int family, const void *addr, socklen_t len)
{
	cleanup_fd int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, addr, len) < 0 || listen(fd, 1) < 0)
		return -1;
	return take_fd(fd);
}

/* Services of the host for as long as the test takes. They are not answered. */
static void set_bait(struct selftest *t, struct selftest_bait *b)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	cleanup_free char *name = xasprintf("ralph-selftest-%d", (int)getpid());
	socklen_t len = sizeof(in4);
	struct selftest_row *row;

	in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	b->tcp = listen_on(AF_INET, &in4, sizeof(in4));
	if (b->tcp >= 0 && getsockname(b->tcp, (struct sockaddr *)&in4, &len) == 0) {
		row = selftest_add(t, "network", "services on the loopback of the host", "reach");
		strv_pushf(&row->argv, "%u", ntohs(in4.sin_port));
		strv_push(&row->argv, "127.0.0.1");
		in6.sin6_port = in4.sin_port;
		b->tcp6 = listen_on(AF_INET6, &in6, sizeof(in6));
		if (b->tcp6 >= 0)
			strv_push(&row->argv, "::1");
	}
	(void)snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s", name);
	b->abstract =
		listen_on(AF_UNIX, &un,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
	row = selftest_add(t, "network", "sockets of the host's programs", "unix");
	if (b->abstract >= 0)
		strv_pushf(&row->argv, "@%s", name);
}

void selftest_bait_done(struct selftest_bait *b)
{
	closep(&b->tcp);
	closep(&b->tcp6);
	closep(&b->abstract);
}

void selftest_network(struct selftest *t, const struct sandbox_spec *spec,
		      struct selftest_bait *bait)
{
	static const char *const sockets[] = {
		"/run/docker.sock",
		"/var/run/docker.sock",
		"/run/dbus/system_bus_socket",
		"/tmp/.X11-unix/X0",
		"@/tmp/.X11-unix/X0",
		"/run/containerd/containerd.sock",
		"/run/podman/podman.sock",
		"/dev/log",
		"/run/systemd/private",
		"/run/nscd/socket",
	};
	struct selftest_row *row;

	(void)selftest_add(t, "network", "interfaces but lo", "interfaces");
	(void)selftest_add(t, "network", "sockets of other kinds", "families");
	row = selftest_add(t, "network", "addresses around the gateway", "reach");
	strv_push(&row->argv, "80");
	/* For documentation: no packet to them harms anybody where the wall is missing. */
	strv_push(&row->argv, "192.0.2.1");
	strv_push(&row->argv, "2001:db8::1");
	set_bait(t, bait);
	row = &t->rows[t->n - 1];
	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++)
		strv_push(&row->argv, sockets[i]);
	(void)selftest_add_work(t, "servers on its own loopback", "loopback");
	if (spec->net.tier != POLICY_NONE)
		gateway_rows(t, spec);
}
