/* Namespaces, names and certificates; the gateway with this program as its supervisor. */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "ca/ca.h"
#include "wire/gateway-proto.h"

#define STANDIN "198.18.0.5"
#define SKIP 77
#define FILES 40000 /* ten thousand connections through a proxy have two ends there */
#define NICE (-10)

static struct {
	char dir[128];
	struct ca *ca; /* of the origins */
	struct buf sandbox_ca;
	const char *edge, *gateway, *ca_program;
	pid_t supervisor, edge_pid, gateway_pid;
} w;

static const char hosts[] =
	"127.0.0.1 localhost\n" ORIGIN " up.test api.test token.test signed.test grpc.test\n";

static _Noreturn void leave_out(const char *what)
{
	(void)fprintf(stderr, "bench: left out: %s: %s\n", what, strerror(errno));
	exit(SKIP);
}

const char *world_file(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", w.dir, name);
	return path;
}

static void write_path(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		leave_out(path);
}

void world_write(const char *name, const char *text)
{
	write_path(world_file(name), text);
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
	if (run_capture(argv.v, env, 5000, 4096, &out, &code, &err) < 0 || code)
		leave_out(line);
}

static void user_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (uid == 0)
		return;
	if (unshare(CLONE_NEWUSER) < 0)
		leave_out("a user namespace");
	write_path("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	write_path("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	write_path("/proc/self/gid_map", map);
}

/* Everything started from here on lives in a process namespace that ends with its first process. */
static void process_namespace(void)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) < 0)
		leave_out("namespaces");
	pid = fork();
	if (pid < 0)
		die("fork", strerror(errno));
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		return;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid", strerror(errno));
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void cover(const char *name, const char *text)
{
	char to[64];

	(void)snprintf(to, sizeof(to), "/etc/%s", name);
	world_write(name, text);
	if (mount(world_file(name), to, NULL, MS_BIND, NULL) < 0)
		leave_out(to);
}

static void certificates(void)
{
	cleanup_buf struct buf pem, cert, key;
	struct err err = {0};

	w.ca = ca_new("origins", &err);
	buf_init(&pem, 16 * KiB);
	buf_init(&cert, 16 * KiB);
	buf_init(&key, 16 * KiB);
	if (!w.ca || ca_certificate(w.ca, &pem, &err) < 0 ||
	    ca_leaf(w.ca, "api.test", &cert, &key, &err) < 0)
		die("certificates", err.msg);
	world_write("ca.pem", buf_str(&pem));
	world_write("api.crt", buf_str(&cert));
	world_write("api.key", buf_str(&key));
	(void)buf_append(&cert, key.data, key.len);
	world_write("api.pem", buf_str(&cert));
}

/*
 * Real-time, all of one priority, and everything that is started here with us: what else runs on
 * the machine disturbs less, and who runs when another is woken is no choice of the scheduler's. It
 * chooses one way for seconds and then the other, by what each process used before; on one core
 * that is a third of the time of a request.
 */
static void take_turns(void)
{
	const struct sched_param p = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &p) == 0)
		return;
	(void)fprintf(stderr, "bench: not real-time, so times vary more: %s\n", strerror(errno));
	(void)setpriority(PRIO_PROCESS, 0, NICE);
}

void world_enter(const char *dir)
{
	struct rlimit files;

	(void)snprintf(w.dir, sizeof(w.dir), "%s", dir);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		leave_out("open files");
	files.rlim_cur = files.rlim_max = files.rlim_max < FILES ? files.rlim_max : FILES;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		leave_out("open files");
	take_turns();
	user_namespace();
	process_namespace();
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ||
	    mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
		leave_out("mounts");
	cover("hosts", hosts);
	cover("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
	cover("nsswitch.conf", "hosts: files\n");
	ip_tool("/sbin/ip link set lo up");
	/* Not an address of an interface: srt refuses those. */
	ip_tool("/sbin/ip route add local " ORIGIN "/32 dev lo");
	ip_tool("/sbin/ip route add local 198.18.0.0/15 dev lo");
	/* Closed connections would hold their ports for a minute, and the search for a free one
	 * would become what is measured. */
	write_path("/proc/sys/net/ipv4/tcp_max_tw_buckets", "8");
	certificates();
}

int world_listener(const char *addr, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, addr, &a.sin_addr);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4096) < 0)
		leave_out(addr);
	return fd;
}

static SSL_CTX *leaf_ctx(const char *host)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	cleanup_buf struct buf cert, key;
	struct err err = {0};
	BIO *b;

	buf_init(&cert, 16 * KiB);
	buf_init(&key, 16 * KiB);
	if (ca_leaf(w.ca, host, &cert, &key, &err) < 0)
		die(host, err.msg);
	b = BIO_new_mem_buf(cert.data, (int)cert.len);
	(void)SSL_CTX_use_certificate(ctx, PEM_read_bio_X509(b, NULL, NULL, NULL));
	BIO_free(b);
	b = BIO_new_mem_buf(key.data, (int)key.len);
	(void)SSL_CTX_use_PrivateKey(ctx, PEM_read_bio_PrivateKey(b, NULL, NULL, NULL));
	BIO_free(b);
	return ctx;
}

struct by_name {
	const char *name;
	SSL_CTX *ctx;
};

static int choose(SSL *ssl, int *alert, void *arg)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	for (const struct by_name *b = arg; name && b->name; b++)
		if (streq(name, b->name))
			(void)SSL_set_SSL_CTX(ssl, b->ctx);
	return SSL_TLSEXT_ERR_OK;
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in,
		     unsigned int n_in, void *arg)
{
	static const unsigned char h2[] = "\2h2";
	unsigned char *chosen = NULL;

	if (SSL_select_next_proto(&chosen, n, h2, 3, in, n_in) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

SSL_CTX *world_server_ctx(void)
{
	static struct by_name others[] = {
		{"token.test", NULL}, {"signed.test", NULL}, {"grpc.test", NULL}, {0}};
	SSL_CTX *ctx = leaf_ctx("api.test");

	for (struct by_name *b = others; b->name; b++)
		b->ctx = leaf_ctx(b->name);
	SSL_CTX_set_alpn_select_cb(others[2].ctx, choose_h2, NULL);
	(void)SSL_CTX_set_tlsext_servername_callback(ctx, choose);
	(void)SSL_CTX_set_tlsext_servername_arg(ctx, others);
	return ctx;
}

static void trust(SSL_CTX *ctx, const struct buf *pem)
{
	BIO *b = BIO_new_mem_buf(pem->data, (int)pem->len);
	X509 *ca = PEM_read_bio_X509(b, NULL, NULL, NULL);

	(void)X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca);
	X509_free(ca);
	BIO_free(b);
}

SSL_CTX *world_client_ctx(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	cleanup_buf struct buf pem;
	struct err err = {0};

	buf_init(&pem, 16 * KiB);
	if (ca_certificate(w.ca, &pem, &err) < 0)
		die("certificates", err.msg);
	trust(ctx, &pem);
	trust(ctx, &w.sandbox_ca);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	return ctx;
}

static pid_t start_helper(const char *path, int sock)
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

static void add_rule(struct net_policy *p, const char *pattern, const char *methods,
		     const char *credential)
{
	struct net_rule *g = net_policy_add(p, false, pattern, "bench");

	if (methods)
		strv_split(&g->methods, methods, ' ');
	if (credential)
		g->credential = xstrdup(credential);
}

static void send_config(int sock)
{
	cleanup_(gw_config_freep) struct gw_config *c = gw_config_new();
	cleanup_buf struct buf b;

	c->sandbox = xstrdup("bench");
	c->ca_file = xstrdup(world_file("ca.pem"));
	c->standin4 = xstrdup(GW_STANDIN4);
	c->standin6 = xstrdup(GW_STANDIN6);
	c->policy.tier = POLICY_ALLOWLIST;
	add_rule(&c->policy, "up.test:9000", NULL, NULL);
	add_rule(&c->policy, "api.test", "GET POST", NULL);
	add_rule(&c->policy, "token.test", "GET POST", "token");
	add_rule(&c->policy, "grpc.test", "GET POST", "token");
	add_rule(&c->policy, "signed.test", "GET POST", "signature");
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_config(&b, c);
	if (wire_send(sock, (enum wire_type)GW_CONFIG, 0, &b, NULL, 0) < 0)
		die("gateway", "takes no configuration");
}

static void send_listeners(int sock)
{
	static const struct gw_listener rows[] = {
		{GW_LISTEN_PROXY, "127.0.0.1", 3128, false, ""},
		{GW_LISTEN_STANDIN, STANDIN, PORT_RAW, false, "up.test"},
	};
	int fds[2];

	for (size_t i = 0; i < 2; i++)
		fds[i] = world_listener(rows[i].addr, rows[i].port);
	if (gw_send_listeners(sock, rows, fds, 2) < 0)
		die("edge", "takes no listeners");
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void make_ca(int sock)
{
	cleanup_wire_msg struct wire_msg m;
	cleanup_buf struct buf b;
	struct wire_reader r;
	const char *pem;
	size_t n, keystore;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_str(&b, "bench");
	wire_put_bytes(&b, "", 0);
	wire_msg_init(&m);
	if (wire_send(sock, (enum wire_type)CA_MAKE, 1, &b, NULL, 0) < 0 ||
	    wire_recv(sock, &m) != 1)
		die("ca", "does not answer");
	wire_read(&r, &m);
	pem = wire_get_bytes(&r, &n);
	(void)wire_get_bytes(&r, &keystore);
	if (wire_read_end(&r) < 0)
		die("ca", "bad answer");
	buf_done(&w.sandbox_ca);
	buf_init(&w.sandbox_ca, 16 * KiB);
	(void)buf_append(&w.sandbox_ca, pem, n);
}

/* What the credential helper would say, over its own line: a token may be kept for a moment, a
 * signature holds for one request. */
static void answer_header(int line, const struct wire_msg *m)
{
	struct gw_header_ask ask;
	struct gw_header h;
	cleanup_buf struct buf b;

	if (gw_get_header_ask(m, &ask) < 0)
		die("gateway", "asks for no header");
	gw_header_init(&h);
	h.keep_ms = streq(ask.credential, "token") ? 5000 : 0;
	strv_push(&h.set,
		  "Authorization: Bearer sk-ant-oat01-a-token-of-the-usual-length-0123456789");
	strv_push(&h.secrets, "sk-ant-oat01-a-token-of-the-usual-length-0123456789");
	strv_push(&h.drop, "x-api-key");
	buf_init(&b, WIRE_BODY_MAX);
	gw_put_header(&b, &h);
	gw_header_done(&h);
	(void)wire_send(line, (enum wire_type)GW_HEADER_IS, m->id, &b, NULL, 0);
}

static void send_empty(int sock, enum gw_type type, const int *fds, size_t n_fds)
{
	if (wire_send(sock, (enum wire_type)type, 0, NULL, fds, n_fds) < 0)
		die("gateway", "does not listen to its supervisor");
}

/* One frame of either side; events are dropped. false: the end. */
static bool relay(int from, int gw, int ca, int cred)
{
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	if (wire_recv(from, &m) <= 0)
		return false;
	if (from == ca)
		(void)wire_send(gw, m.type, m.id, &m.body, NULL, 0);
	else if ((int)m.type == GW_LEAF)
		(void)wire_send(ca, (enum wire_type)CA_LEAF, m.id, &m.body, NULL, 0);
	else if (from == cred)
		answer_header(cred, &m);
	return true;
}

static _Noreturn void supervise(int edge, int gw, int ca, int cred)
{
	struct pollfd p[4] = {{.fd = edge, .events = POLLIN},
			      {.fd = gw, .events = POLLIN},
			      {.fd = ca, .events = POLLIN},
			      {.fd = cred, .events = POLLIN}};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (poll(p, 4, -1) > 0)
		for (size_t i = 0; i < 4; i++)
			if (p[i].revents && !relay(p[i].fd, gw, ca, cred))
				_exit(0);
	_exit(1);
}

static void await_up(int sock)
{
	cleanup_wire_msg struct wire_msg up;

	wire_msg_init(&up);
	if (wire_recv(sock, &up) != 1 || (int)up.type != GW_HEALTH)
		die("gateway", "does not come up");
}

static void introduce(int edge, int gw, int cred)
{
	int arrivals[2], dials[2];
	struct err err = {0};

	if (wire_pair(arrivals, &err) < 0 || wire_pair(dials, &err) < 0)
		die("gateway", err.msg);
	send_config(gw);
	send_empty(gw, GW_CRED, &cred, 1);
	send_empty(gw, GW_LINES, (int[]){arrivals[1], dials[1]}, 2);
	send_empty(gw, GW_START, NULL, 0);
	send_config(edge);
	send_empty(edge, GW_LINES, (int[]){arrivals[0], dials[0]}, 2);
	send_listeners(edge);
	send_empty(edge, GW_START, NULL, 0);
	for (size_t i = 0; i < 2; i++) {
		(void)close(arrivals[i]);
		(void)close(dials[i]);
	}
	await_up(edge);
	await_up(gw);
}

pid_t world_gateway(const char *edge, const char *gateway, const char *ca)
{
	int outer[2], gw[2], authority[2], cred[2];
	struct err err = {0};

	if (edge) {
		w.edge = edge;
		w.gateway = gateway;
		w.ca_program = ca;
	}
	if (wire_pair(outer, &err) < 0 || wire_pair(gw, &err) < 0 ||
	    wire_pair(authority, &err) < 0 || wire_pair(cred, &err) < 0)
		die("gateway", err.msg);
	w.edge_pid = start_helper(w.edge, outer[1]);
	w.gateway_pid = start_helper(w.gateway, gw[1]);
	(void)start_helper(w.ca_program, authority[1]);
	make_ca(authority[0]);
	introduce(outer[0], gw[0], cred[1]);
	(void)close(cred[1]);
	w.supervisor = fork();
	if (w.supervisor == 0)
		supervise(outer[0], gw[0], authority[0], cred[0]);
	(void)close(cred[0]);
	(void)close(outer[0]);
	(void)close(gw[0]);
	(void)close(authority[0]);
	return w.edge_pid;
}

pid_t world_half(pid_t pid)
{
	return pid == w.edge_pid ? w.gateway_pid : 0;
}

void world_end_gateway(pid_t pid)
{
	(void)kill(w.supervisor, SIGKILL);
	(void)waitpid(w.supervisor, NULL, 0);
	(void)waitpid(pid, NULL, 0); /* both end with their sockets */
	(void)waitpid(w.gateway_pid, NULL, 0);
}
