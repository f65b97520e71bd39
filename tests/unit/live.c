#include "live.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/proc.h"
#include "live-servers.h"
#include "wire/reader-proto.h"
#include "ca/ca.h"

#define WAIT_MS 5000

static const char hosts[] =
	"127.0.0.1 localhost loop.test\n"
	"8.1.1.1 allowed.test mixed.test both.test db.test dead6.test fetch.test\n"
	"8.1.1.2 other.test wrongcert.test sub.wild.test\n"
	"8.1.1.3 inspected.test\n"
	"2600:beef::10 six.test both.test\n"
	"2600:beef::dead dead6.test\n"
	"10.9.9.9 private.test mixed.test proxy.corp\n"
	"169.254.169.254 meta.test\n"
	"8.1.1.4 slow.test\n"
	"8.1.1.1 slow.test\n";

static const char *const outside_addrs[] = {"8.1.1.1/32",	"8.1.1.2/32",  "8.1.1.3/32",
					    "8.1.1.4/32",	"10.9.9.9/32", "169.254.169.254/32",
					    "2600:beef::10/128"};

static struct {
	int inside, outside; /* namespaces */
	int dns;	     /* the host's DNS server, which only counts */
	struct ca *ca;	     /* of the servers */
	char dir[64], ca_file[96];
	/* per test */
	pid_t edge, gateway, reader, supervisor;
	int ctl;
	int arrivals, dials;   /* of the program that is not there; -1: both are */
	struct buf sandbox_ca; /* PEM */
	struct wire_msg *queue[4096];
	size_t n_queue;
	struct wire_msg *last;
	uint32_t keep_ms;
} w = {.inside = -1, .outside = -1, .ctl = -1, .arrivals = -1, .dials = -1};

static void leave_out(const char *why)
{
	(void)fprintf(stderr, "skipped: %s: %s\n", why, strerror(errno));
	exit(77);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		leave_out(path);
}

static void ip_tool(const char *line)
{
	char *const env[] = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin", NULL};
	cleanup_free char *out = NULL;
	cleanup_strv struct strv argv;
	struct err err = {0};
	int code;

	strv_init(&argv);
	strv_split(&argv, line, ' ');
	if (run_capture(argv.v, env, WAIT_MS, 4096, &out, &code, &err) < 0 || code) {
		errno = ENOSYS;
		leave_out(line);
	}
}

static void user_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (uid == 0)
		return;
	if (unshare(CLONE_NEWUSER) < 0)
		leave_out("user namespace");
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

static void cover(const char *name, const char *text)
{
	char from[128], to[128];

	(void)snprintf(from, sizeof(from), "%s/%s", w.dir, name);
	(void)snprintf(to, sizeof(to), "/etc/%s", name);
	write_file(from, text);
	if (mount(from, to, NULL, MS_BIND, NULL) < 0)
		leave_out(to);
}

static int open_ns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		leave_out("network namespace");
	return fd;
}

static void enter(int ns)
{
	if (setns(ns, CLONE_NEWNET) < 0)
		leave_out("setns");
}

static int bound_socket(const char *addr, uint16_t port, int type)
{
	bool six = strchr(addr, ':') != NULL;
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int on = 1, fd = socket(six ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (six)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	(void)inet_pton(six ? AF_INET6 : AF_INET, addr,
			six ? (void *)&a6.sin6_addr : (void *)&a4.sin_addr);
	if (bind(fd, six ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4,
		 six ? sizeof(a6) : sizeof(a4)) < 0) {
		print_message("%s port %u\n", addr, port);
		leave_out(addr);
	}
	if (type == SOCK_STREAM)
		(void)listen(fd, 4096);
	return fd;
}

/* One that takes a key of a group which no client sends at first: it asks for another hello. */
static SSL_CTX *retry_ctx(SSL_CTX *ctx)
{
	(void)SSL_CTX_set1_groups_list(ctx, "P-384");
	return ctx;
}

static SSL_CTX *server_ctx(const char *host)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	cleanup_buf struct buf cert, key;
	struct err err = {0};
	BIO *b;

	buf_init(&cert, 16 * KiB);
	buf_init(&key, 16 * KiB);
	if (ca_leaf(w.ca, host, &cert, &key, &err) < 0)
		leave_out(err.msg);
	b = BIO_new_mem_buf(cert.data, (int)cert.len);
	(void)SSL_CTX_use_certificate(ctx, PEM_read_bio_X509(b, NULL, NULL, NULL));
	BIO_free(b);
	b = BIO_new_mem_buf(key.data, (int)key.len);
	(void)SSL_CTX_use_PrivateKey(ctx, PEM_read_bio_PrivateKey(b, NULL, NULL, NULL));
	BIO_free(b);
	return ctx;
}

static void start_servers(void)
{
	server_start(SERVER_HTTP, ADDR_ALLOWED, 80, NULL);
	server_start(SERVER_TLS_ECHO, ADDR_ALLOWED, 443, server_ctx("allowed.test"));
	server_start(SERVER_BANNER, ADDR_ALLOWED, 22, NULL);
	server_start(SERVER_ECHO, ADDR_ALLOWED, 5432, NULL);
	server_start(SERVER_ECHO, ADDR_ALLOWED, 9000, NULL);
	server_start(SERVER_BULK, ADDR_ALLOWED, 9100, NULL);
	server_start(SERVER_TLS_ECHO, ADDR_ALLOWED, 8443, server_ctx("allowed.test"));
	server_start(SERVER_TLS_ECHO, ADDR_ALLOWED, 8444, retry_ctx(server_ctx("allowed.test")));
	server_start(SERVER_HTTP, ADDR_OTHER, 80, NULL);
	server_start(SERVER_HTTPS, ADDR_OTHER, 443, server_ctx("other.test"));
	server_start(SERVER_HTTPS, "8.1.1.3", 443, server_ctx("inspected.test"));
	server_start(SERVER_HTTP, "8.1.1.3", 80, NULL);
	server_start(SERVER_HTTP, ADDR_SIX, 80, NULL);
	server_start(SERVER_HTTP, ADDR_PRIVATE, 80, NULL);
	server_start(SERVER_HTTPS, ADDR_PRIVATE, 443, server_ctx("private.test"));
	server_start(SERVER_HTTP, ADDR_METADATA, 80, NULL);
	server_start(SERVER_HTTP, "127.0.0.1", 80, NULL);
	server_start(SERVER_ECHO, "127.0.0.1", 6000, NULL);
	(void)server_deaf("8.1.1.4", 80);
	server_start(SERVER_PROXY, ADDR_PRIVATE, 8080, NULL);
	script_init();
	server_start(SERVER_SCRIPT, ADDR_ALLOWED, 8080, NULL);
	server_start(SERVER_SCRIPT_TLS, ADDR_OTHER, 8443, server_ctx("other.test"));
}

static void trust_file(void)
{
	cleanup_buf struct buf pem;
	struct err err = {0};
	char hashed[64];
	X509 *x;
	BIO *b;

	w.ca = ca_new("servers", &err);
	buf_init(&pem, 16 * KiB);
	if (!w.ca || ca_certificate(w.ca, &pem, &err) < 0)
		leave_out(err.msg);
	(void)snprintf(w.ca_file, sizeof(w.ca_file), "%s/ca.pem", w.dir);
	write_file(w.ca_file, buf_str(&pem));
	/* As c_rehash would name it. */
	b = BIO_new_mem_buf(pem.data, (int)pem.len);
	x = PEM_read_bio_X509(b, NULL, NULL, NULL);
	(void)snprintf(hashed, sizeof(hashed), "/mnt/certs/%08lx.0",
		       X509_NAME_hash_ex(X509_get_subject_name(x), NULL, NULL, NULL));
	(void)mkdir("/mnt/certs", 0755);
	write_file(hashed, buf_str(&pem));
	X509_free(x);
	BIO_free(b);
}

void live_world(void)
{
	char line[128];

	(void)signal(SIGPIPE, SIG_IGN);
	user_namespace();
	if (unshare(CLONE_NEWNS | CLONE_NEWNET) < 0)
		leave_out("namespaces");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/mnt", "tmpfs", 0, NULL) < 0)
		leave_out("mounts");
	(void)snprintf(w.dir, sizeof(w.dir), "/mnt");
	cover("hosts", hosts);
	cover("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
	cover("nsswitch.conf", "hosts: files dns\n");
	trust_file();
	ip_tool("/sbin/ip link set lo up");
	for (size_t i = 0; i < ARRAY_SIZE(outside_addrs); i++) {
		/* Without nodad an IPv6 address cannot be bound for a moment. */
		(void)snprintf(line, sizeof(line), "/sbin/ip addr add %s dev lo%s",
			       outside_addrs[i], strchr(outside_addrs[i], ':') ? " nodad" : "");
		ip_tool(line);
	}
	w.outside = open_ns();
	w.dns = bound_socket("127.0.0.1", 53, SOCK_DGRAM);
	start_servers();
	if (unshare(CLONE_NEWNET) < 0)
		leave_out("a second network namespace");
	ip_tool("/sbin/ip link set lo up");
	ip_tool("/sbin/ip route add local 198.18.0.0/15 dev lo");
	ip_tool("/sbin/ip -6 route add local fd00:7261:6c70::/96 dev lo");
	w.inside = open_ns();
}

static const struct gw_listener rows[] = {
	{GW_LISTEN_PROXY, "127.0.0.1", 3128, false, ""},
	{GW_LISTEN_PROXY, "::1", 3128, true, ""},
	{GW_LISTEN_DNS_UDP, "127.0.0.53", 53, false, ""},
	{GW_LISTEN_DNS_TCP, "127.0.0.53", 53, false, ""},
	{GW_LISTEN_PORT, "0.0.0.0", 80, false, ""},
	{GW_LISTEN_PORT, "0.0.0.0", 443, false, ""},
	{GW_LISTEN_PORT, "0.0.0.0", 22, false, ""},
	{GW_LISTEN_PORT, "::", 80, true, ""},
	{GW_LISTEN_PORT, "::", 443, true, ""},
	{GW_LISTEN_STANDIN, "198.18.0.5", 5432, false, "db.test"},
	{GW_LISTEN_SERVICE, "127.0.0.1", 6000, false, ""},
};

static pid_t start_program(const char *path, int sock)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (sock == 3)
			(void)fcntl(3, F_SETFD, 0);
		else
			(void)dup2(sock, 3);
		(void)close_range(4, ~0u, 0);
		(void)execl(path, path, NULL);
		_exit(127);
	}
	(void)close(sock);
	return pid;
}

static void fill_policy(struct net_policy *p, const struct live_options *o)
{
	p->tier = o->tier == POLICY_NONE ? POLICY_ALLOWLIST : o->tier;
	for (size_t i = 0; i < o->n_rules; i++) {
		const struct live_rule *r = &o->rules[i];
		struct net_rule *g = net_policy_add(p, r->deny, r->pattern, "test");

		if (r->methods)
			strv_split(&g->methods, r->methods, ' ');
		if (r->paths)
			strv_split(&g->paths, r->paths, ' ');
		if (r->git)
			strv_split(&g->git, r->git, ',');
		if (r->credential)
			g->credential = xstrdup(r->credential);
	}
}

static char *maybe(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* How answer_header() treats each is told there. */
static const char *const credentials[] = {"key", "signed", "stale", "dead", "broke", "none"};

static void add_routes(struct gw_config *c, const struct live_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(credentials); i++) {
		struct gw_route *r =
			gw_route_add(c, i ? credentials[i] : "test", o->route_url, credentials[i]);

		r->phantom =
			i ? xasprintf("phantom-of-%s", credentials[i]) : xstrdup("phantom-token");
		r->ca_file = maybe(o->route_ca);
		r->private = o->route_private;
		strv_split(&r->requests, o->requests ? o->requests : "GET /v1/**,POST /v1/**", ',');
	}
}

static void send_config(int sock, const struct live_options *o)
{
	cleanup_(gw_config_freep) struct gw_config *c = gw_config_new();
	cleanup_buf struct buf b;

	c->sandbox = xstrdup("live");
	if (o->trust_dir)
		c->ca_dir = xstrdup("/mnt/certs");
	else
		c->ca_file = o->bad_trust ? xstrdup("/etc/hosts") : xstrdup(w.ca_file);
	c->standin4 = xstrdup(GW_STANDIN4);
	c->standin6 = xstrdup(GW_STANDIN6);
	c->http_proxy = maybe(o->http_proxy);
	c->https_proxy = maybe(o->https_proxy);
	c->no_proxy = maybe(o->no_proxy);
	c->head_ms = o->head_ms;
	c->dial_ms = o->dial_ms;
	c->lookup_ms = o->lookup_ms;
	c->keepalive_ms = o->keepalive_ms;
	strv_push(&c->tools, GW_TOOLS_ALL);
	if (o->route_url)
		add_routes(c, o);
	fill_policy(&c->policy, o);
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_config(&b, c);
	assert_int_equal(wire_send(sock, (enum wire_type)GW_CONFIG, 0, &b, NULL, 0), 0);
}

static void send_empty(int sock, enum gw_type type, const int *fds, size_t n_fds)
{
	assert_int_equal(wire_send(sock, (enum wire_type)type, 0, NULL, fds, n_fds), 0);
}

static void send_listeners(int sock)
{
	int fds[ARRAY_SIZE(rows)];

	enter(w.inside);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		fds[i] = bound_socket(rows[i].addr, rows[i].port,
				      rows[i].kind == GW_LISTEN_DNS_UDP ? SOCK_DGRAM : SOCK_STREAM);
	assert_int_equal(gw_send_listeners(sock, rows, fds, ARRAY_SIZE(rows)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		(void)close(fds[i]);
}

/* What the credential helper would say, over its own line. */
static void answer_header(int line, const struct wire_msg *m)
{
	struct gw_header h = {.keep_ms = w.keep_ms};
	const char *token = "the-real-key";
	struct gw_header_ask a = {.credential = ""};
	cleanup_buf struct buf b;

	gw_header_init(&h);
	h.keep_ms = w.keep_ms;
	(void)gw_get_header_ask(m, &a);
	if (streq(a.credential, "signed")) {
		if (!a.body_sha256[0])
			h.error = ENEEDBODY;
		strv_pushf(&h.set, "X-Signed: %s %s %s", a.body_sha256, a.content_type, a.target);
	} else if (streq(a.credential, "stale")) {
		token = a.rejected ? "new-token-value" : "old-token-value";
	} else if (streq(a.credential, "dead")) {
		token = "old-token-value";
		h.error = a.rejected ? EACCES : 0;
	} else if (streq(a.credential, "broke")) {
		h.error = EDQUOT;
		h.message = xstrdup("20 USD of 20 are spent");
	} else if (!streq(a.credential, "key")) {
		h.error = ENOENT;
	}
	strv_pushf(&h.set, "Authorization: Bearer %s", token);
	strv_push(&h.drop, "x-api-key");
	strv_push(&h.secrets, token);
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_header(&b, &h);
	gw_header_done(&h);
	(void)wire_send(line, (enum wire_type)GW_HEADER_IS, m->id, &b, NULL, 0);
}

struct lines {
	int edge, gw, ca, ctl, cred, reader;
};

/* Both programs are asked, one after the other, and the test gets the sum. */
static bool relay_health(int from, const struct lines *l, const struct wire_msg *m)
{
	static struct gw_health of_edge;
	struct gw_health h = {0};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	if (m->id == 0)
		return (from == l->gw && l->edge >= 0) ||
		       wire_send(l->ctl, m->type, 0, &m->body, NULL, 0) == 0;
	(void)gw_get_health(m, from == l->edge ? &of_edge : &h);
	if (from == l->edge)
		return wire_send(l->gw, m->type, m->id, NULL, NULL, 0) == 0;
	h.connections += of_edge.connections;
	h.tunnels += of_edge.tunnels;
	h.lookups += of_edge.lookups;
	h.accepted += of_edge.accepted;
	h.denied += of_edge.denied;
	h.bytes_up += of_edge.bytes_up;
	h.bytes_down += of_edge.bytes_down;
	gw_put_health(&b, &h);
	return wire_send(l->ctl, m->type, m->id, &b, NULL, 0) == 0;
}

/* One frame from `from`; false: the end. */
static bool relay(int from, const struct lines *l)
{
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(from, &m);
	if (r <= 0)
		return false;
	if (from == l->ctl && wire_send(l->edge, m.type, m.id, &m.body, NULL, 0) < 0)
		return false;
	if (from == l->ctl && (int)m.type == GW_HEALTH)
		return true;
	if ((int)m.type == GW_HEALTH)
		return relay_health(from, l, &m);
	if (from == l->ctl || from == l->ca)
		return wire_send(l->gw, m.type, m.id, &m.body, NULL, 0) == 0;
	if (from == l->gw && (int)m.type == GW_LEAF)
		return wire_send(l->ca, (enum wire_type)CA_LEAF, m.id, &m.body, NULL, 0) == 0;
	if (from == l->cred && (int)m.type == GW_HEADER)
		answer_header(l->cred, &m);
	(void)wire_send(l->ctl, m.type, m.id, &m.body, NULL, 0);
	return true;
}

static _Noreturn void supervise(const struct lines *l)
{
	const int fds[] = {l->edge, l->gw, l->ca, l->ctl, l->cred, l->reader};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct pollfd p[ARRAY_SIZE(fds)];

		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		if (poll(p, ARRAY_SIZE(fds), -1) < 0)
			_exit(1);
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			if (p[i].revents && !relay(fds[i], l))
				_exit(0); /* with everything, which ends by that */
	}
}

static void make_ca(int sock)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_buf struct buf b;
	struct wire_reader r;
	const char *pem;
	size_t n, keystore;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_str(&b, "live");
	wire_put_bytes(&b, "", 0);
	assert_int_equal(wire_send(sock, (enum wire_type)CA_MAKE, 1, &b, NULL, 0), 0);
	wire_msg_init(&m);
	assert_int_equal(wire_recv(sock, &m), 1);
	wire_read(&r, &m);
	pem = wire_get_bytes(&r, &n);
	(void)wire_get_bytes(&r, &keystore);
	assert_int_equal(wire_read_end(&r), 0);
	buf_init(&w.sandbox_ca, 16 * KiB);
	(void)buf_append(&w.sandbox_ca, pem, n);
}

/* The next frame, or NULL after the wait. */
static struct wire_msg *next_frame(int ms)
{
	struct pollfd p = {.fd = w.ctl, .events = POLLIN};
	struct wire_msg *m;

	if (poll(&p, 1, ms) <= 0)
		return NULL;
	m = xcalloc(1, sizeof(*m));
	wire_msg_init(m);
	if (wire_recv(w.ctl, m) == 1)
		return m;
	wire_msg_done(m);
	free(m);
	return NULL;
}

static void drop_frame(struct wire_msg *m)
{
	if (m)
		wire_msg_done(m);
	free(m);
}

/* The lines are the program's, or the test's. */
static void give_lines(int sock, const int *lines)
{
	if (sock >= 0)
		send_empty(sock, GW_LINES, lines, 2);
	if (sock < 0) {
		w.arrivals = lines[0];
		w.dials = lines[1];
		return;
	}
	(void)close(lines[0]);
	(void)close(lines[1]);
}

static void leave_out_program(int pair[2])
{
	(void)close(pair[1]);
	closep(&pair[0]);
	pair[0] = -1;
}

static void start_reader(const struct live_options *o, int gw, int reader[2])
{
	struct reader_setup setup = {0};
	struct err err = {0};
	cleanup_buf struct buf b;
	int line[2];

	assert_int_equal(wire_pair(line, &err), 0);
	w.reader = start_program(READER_EXE, reader[1]);
	buf_init(&b, WIRE_BODY_MAX);
	reader_put_setup(&b, &setup);
	assert_int_equal(wire_send(reader[0], (enum wire_type)READER_SETUP, 0, &b, &line[0], 1), 0);
	send_empty(gw, GW_READER, &line[1], 1);
	(void)close(line[0]);
	(void)close(line[1]);
}

static void start_gateway(const struct live_options *o, int gw[2], int reader[2], int *cred,
			  const int *lines)
{
	if (o->no_gateway) {
		leave_out_program(gw);
		leave_out_program(reader);
	} else {
		w.gateway = start_program(GATEWAY_EXE, gw[1]);
		send_config(gw[0], o);
		send_empty(gw[0], GW_CRED, cred, 1);
		(void)close(*cred);
		start_reader(o, gw[0], reader);
	}
	give_lines(gw[0], lines);
	if (!o->no_gateway)
		send_empty(gw[0], GW_START, NULL, 0);
}

static void start_edge(const struct live_options *o, int edge[2], const int *lines)
{
	if (o->no_edge) {
		leave_out_program(edge);
		give_lines(-1, lines);
		return;
	}
	w.edge = start_program(EDGE_EXE, edge[1]);
	send_config(edge[0], o);
	give_lines(edge[0], lines);
	send_listeners(edge[0]);
	send_empty(edge[0], GW_START, NULL, 0);
}

void live_start(const struct live_options *o)
{
	int edge[2], gw[2], reader[2], ca[2], ctl[2], cred[2], arrivals[2], dials[2];
	struct err err = {0};
	struct wire_msg *up;

	assert_int_equal(wire_pair(edge, &err), 0);
	assert_int_equal(wire_pair(gw, &err), 0);
	assert_int_equal(wire_pair(reader, &err), 0);
	assert_int_equal(wire_pair(arrivals, &err), 0);
	assert_int_equal(wire_pair(dials, &err), 0);
	assert_int_equal(wire_pair(ca, &err), 0);
	assert_int_equal(wire_pair(ctl, &err), 0);
	assert_int_equal(wire_pair(cred, &err), 0);
	w.keep_ms = o->keep_ms;
	enter(w.outside);
	(void)start_program(CA_EXE, ca[1]);
	start_gateway(o, gw, reader, &cred[1], (int[]){arrivals[1], dials[1]});
	start_edge(o, edge, (int[]){arrivals[0], dials[0]});
	make_ca(ca[0]);
	w.supervisor = fork();
	if (w.supervisor == 0) {
		(void)fd_set_nonblock(ctl[1], o->no_events);
		(void)close(ctl[0]);
		supervise(&(struct lines){edge[0], gw[0], ca[0], ctl[1], cred[0], reader[0]});
	}
	(void)close(cred[0]);
	closep(&edge[0]);
	closep(&gw[0]);
	closep(&reader[0]);
	(void)close(ca[0]);
	(void)close(ctl[1]);
	w.ctl = ctl[0];
	up = next_frame(WAIT_MS);
	assert_non_null(up);
	assert_int_equal((int)up->type, GW_HEALTH);
	drop_frame(up);
	(void)live_dns_questions();
}

static void wait_for(pid_t pid)
{
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}

void live_stop(void)
{
	closep(&w.ctl);
	closep(&w.arrivals);
	closep(&w.dials);
	wait_for(w.supervisor);
	wait_for(w.gateway);
	wait_for(w.edge);
	wait_for(w.reader);
	w.supervisor = w.gateway = w.edge = w.reader = 0;
	for (size_t i = 0; i < w.n_queue; i++)
		drop_frame(w.queue[i]);
	w.n_queue = 0;
	drop_frame(w.last);
	w.last = NULL;
	buf_done(&w.sandbox_ca);
}

void live_kill(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	wait_for(w.edge);
	wait_for(w.gateway);
	wait_for(w.reader);
	w.edge = w.gateway = w.reader = 0;
}

int live_arrivals(void)
{
	return w.arrivals;
}

int live_dials(void)
{
	return w.dials;
}

pid_t live_edge(void)
{
	return w.edge;
}

pid_t live_gateway(void)
{
	return w.gateway;
}

void live_policy(const struct live_options *o)
{
	struct net_policy p = {0};
	cleanup_buf struct buf b;

	fill_policy(&p, o);
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_rules(&b, &p);
	assert_int_equal(wire_send(w.ctl, (enum wire_type)GW_POLICY, 0, &b, NULL, 0), 0);
	net_policy_clear(&p);
	(void)live_health(); /* answered after the policy was taken */
}

static bool matches(const struct wire_msg *m, enum gw_verb verb, enum gw_verdict verdict,
		    const char *host, struct gw_event *e)
{
	return (int)m->type == GW_EVENT && gw_get_event(m, e) == 0 && e->verb == verb &&
	       e->verdict == verdict && (!host[0] || streq(e->host, host));
}

const struct gw_event *live_event(enum gw_verb verb, enum gw_verdict verdict, const char *host)
{
	static struct gw_event e;

	drop_frame(w.last);
	w.last = NULL;
	for (size_t i = 0;; i++) {
		if (i == w.n_queue) {
			struct wire_msg *m = next_frame(WAIT_MS);

			if (!m)
				fail_msg("no event %s %s '%s'", gw_verb_name(verb),
					 gw_verdict_name(verdict), host);
			assert_true(w.n_queue < ARRAY_SIZE(w.queue));
			w.queue[w.n_queue++] = m;
		}
		if (!matches(w.queue[i], verb, verdict, host, &e))
			continue;
		w.last = w.queue[i];
		memmove(&w.queue[i], &w.queue[i + 1], (--w.n_queue - i) * sizeof(w.queue[0]));
		return &e;
	}
}

struct gw_health live_health(void)
{
	struct gw_health h = {0};

	assert_int_equal(wire_send(w.ctl, (enum wire_type)GW_HEALTH, 7, NULL, NULL, 0), 0);
	for (;;) {
		struct wire_msg *m = next_frame(WAIT_MS);

		assert_non_null(m);
		if ((int)m->type == GW_HEALTH && m->id == 7) {
			assert_int_equal(gw_get_health(m, &h), 0);
			drop_frame(m);
			return h;
		}
		assert_true(w.n_queue < ARRAY_SIZE(w.queue));
		w.queue[w.n_queue++] = m;
	}
}

size_t live_events_left(enum gw_verdict verdict)
{
	size_t n = 0;

	(void)live_health();
	for (size_t i = 0; i < w.n_queue; i++) {
		struct gw_event e;

		if ((int)w.queue[i]->type == GW_EVENT && gw_get_event(w.queue[i], &e) == 0 &&
		    e.verdict == verdict)
			n++;
	}
	return n;
}

static void drop_queued(size_t i)
{
	drop_frame(w.queue[i]);
	memmove(&w.queue[i], &w.queue[i + 1], (--w.n_queue - i) * sizeof(w.queue[0]));
}

size_t live_asks(size_t *ret_rejected)
{
	size_t n = 0;

	(void)live_health();
	*ret_rejected = 0;
	for (size_t i = 0; i < w.n_queue;) {
		struct gw_header_ask a;

		if ((int)w.queue[i]->type != GW_HEADER) {
			i++;
			continue;
		}
		assert_int_equal(gw_get_header_ask(w.queue[i], &a), 0);
		*ret_rejected += a.rejected;
		n++;
		drop_queued(i);
	}
	return n;
}

const struct gw_usage *live_usage(void)
{
	static struct gw_usage u;

	drop_frame(w.last);
	w.last = NULL;
	for (size_t i = 0;; i++) {
		if (i == w.n_queue) {
			struct wire_msg *m = next_frame(WAIT_MS);

			if (!m)
				fail_msg("no usage was reported");
			assert_true(w.n_queue < ARRAY_SIZE(w.queue));
			w.queue[w.n_queue++] = m;
		}
		if ((int)w.queue[i]->type != GW_USAGE)
			continue;
		assert_int_equal(gw_get_usage(w.queue[i], &u), 0);
		w.last = w.queue[i];
		memmove(&w.queue[i], &w.queue[i + 1], (--w.n_queue - i) * sizeof(w.queue[0]));
		return &u;
	}
}

const char *live_ca_file(void)
{
	return w.ca_file;
}

size_t live_dns_questions(void)
{
	char b[2048];
	size_t n = 0;

	while (recv(w.dns, b, sizeof(b), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

static int client_in(int ns, const char *addr, uint16_t port)
{
	bool six = strchr(addr, ':') != NULL;
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct timeval limit = {.tv_sec = WAIT_MS / 1000};
	int fd;

	enter(ns);
	fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	(void)inet_pton(six ? AF_INET6 : AF_INET, addr,
			six ? (void *)&a6.sin6_addr : (void *)&a4.sin_addr);
	if (connect(fd, six ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4,
		    six ? sizeof(a6) : sizeof(a4)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

int client(const char *addr, uint16_t port)
{
	return client_in(w.inside, addr, port);
}

int client_outside(const char *addr, uint16_t port)
{
	return client_in(w.outside, addr, port);
}

void live_outside(void)
{
	enter(w.outside);
}

int client_proxy(void)
{
	int fd = client("127.0.0.1", 3128);

	assert_true(fd >= 0);
	return fd;
}

static SSL_CTX *client_ctx(enum trust trust)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	cleanup_buf struct buf pem;
	struct err err = {0};
	X509 *ca;
	BIO *b;

	buf_init(&pem, 16 * KiB);
	if (trust == TRUST_SANDBOX)
		(void)buf_append(&pem, w.sandbox_ca.data, w.sandbox_ca.len);
	else
		(void)ca_certificate(w.ca, &pem, &err);
	b = BIO_new_mem_buf(pem.data, (int)pem.len);
	ca = PEM_read_bio_X509(b, NULL, NULL, NULL);
	(void)X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca);
	X509_free(ca);
	BIO_free(b);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	return ctx;
}

SSL *tls_over(int fd, const char *sni, enum trust trust)
{
	SSL_CTX *ctx = client_ctx(trust);
	SSL *s = SSL_new(ctx);

	SSL_CTX_free(ctx);
	(void)SSL_set_tlsext_host_name(s, sni);
	(void)SSL_set1_host(s, sni);
	(void)SSL_set_fd(s, fd);
	if (SSL_connect(s) == 1)
		return s;
	SSL_free(s);
	return NULL;
}

void tls_put(SSL *s, const char *text)
{
	(void)SSL_write(s, text, (int)strlen(text));
}

char *tls_get(SSL *s, const char *marker)
{
	return live_collect(-1, s, marker);
}

void tls_close(SSL *s)
{
	int fd = SSL_get_fd(s);

	SSL_free(s);
	(void)close(fd);
}

static size_t dns_question(const char *name, uint16_t type, uint8_t *q)
{
	static const uint8_t head[12] = {0x12, 0x34, 0x01, 0x00, 0, 1};
	size_t n = 12;

	memcpy(q, head, 12);
	while (*name) {
		size_t len = strcspn(name, ".");

		q[n++] = (uint8_t)len;
		memcpy(q + n, name, len);
		n += len;
		name += len + (name[len] == '.');
	}
	q[n++] = 0;
	q[n++] = (uint8_t)(type >> 8);
	q[n++] = (uint8_t)type;
	q[n++] = 0;
	q[n++] = 1;
	return n;
}

int dns_ask(const char *name, uint16_t type, bool tcp, char ret_addr[static 46])
{
	uint8_t q[514], a[2048];
	size_t n = dns_question(name, type, q + 2);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
	struct timeval limit = {.tv_sec = 5};
	ssize_t got;
	int fd;

	enter(w.inside);
	(void)inet_pton(AF_INET, "127.0.0.53", &to.sin_addr);
	fd = socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	q[0] = (uint8_t)(n >> 8);
	q[1] = (uint8_t)n;
	put_bytes(fd, tcp ? q : q + 2, tcp ? n + 2 : n);
	got = recv(fd, a, sizeof(a), 0);
	(void)close(fd);
	if (tcp) {
		got -= 2;
		memmove(a, a + 2, got > 0 ? (size_t)got : 0);
	}
	assert_true(got >= 12);
	ret_addr[0] = '\0';
	if (a[7])
		(void)inet_ntop(type == 28 ? AF_INET6 : AF_INET, a + n + 12, ret_addr, 46);
	return a[3] & 15;
}
