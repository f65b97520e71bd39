/*
 * proxies EDGE GATEWAY CA DIRECTORY ROUNDS SCALE CROWD [SCENE…]: what bench/gateway runs. CROWD is
 * the largest number of open connections, 0 for none. SCENEs are those to measure, without the
 * memory. srt.sh and codex.sh of the directory, where there are any, start a sandbox in which a
 * proxy of that program can be reached.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD 1000
#define STREAM_CONNS 10
#define STREAMS 100
#define SLOW_READERS 5
#define SLOW_BYTES_PER_S 1e6
#define SSE_EVENTS 400
#define BULK_CONNS 4
#define TUNNEL_CONNS 8
#define REQUEST_CONNS 16
#define SECONDS 0.4 /* of each way in one round */
#define MAX_WAYS 12
#define MAX_ROUNDS 64
#define CROWD_TURNS 5
#define CROWD_SECONDS 0.4
#define FILES_KEPT 2200 /* by the gateway, for what is no connection */

enum scene_id {
	BULK,
	TUNNELS,
	REQUESTS,
	LATENCY,
	SSE,
	H2_REQUESTS,
	H2_LATENCY,
	GRPC_REQUESTS,
	GRPC_LATENCY,
	SCENES
};

struct scene {
	const char *name;
	size_t turns; /* of each way in one round: a slow moment of the machine meets all alike */
	bool apart;   /* the proxy on a core of its own, or everything on one */
	const struct way *ways[MAX_WAYS];
};

static pid_t gateway, raw_origin, tls_origin;
static struct others others;

/* clang-format off */
static const struct way
	raw_direct   = {"direct",               ORIGIN,       PORT_RAW, NULL,           NULL,       NULL, NULL, NULL, WAY_HTTP1},
	raw_connect  = {"gateway, CONNECT",     "127.0.0.1",  3128, "up.test:9000",     NULL,       &gateway, NULL, NULL, WAY_HTTP1},
	raw_standin  = {"gateway, transparent", "198.18.0.5", PORT_RAW, NULL,           NULL,       &gateway, NULL, NULL, WAY_HTTP1},
	raw_haproxy  = {"haproxy",              "127.0.0.1",  4001, NULL,               NULL,       &others.haproxy, NULL, NULL, WAY_HTTP1},
	raw_splice   = {"haproxy, splice-auto", "127.0.0.1",  4002, NULL,               NULL,       &others.haproxy, NULL, NULL, WAY_HTTP1},
	raw_squid    = {"squid, CONNECT",       "127.0.0.1",  4003, "up.test:9000",     NULL,       &others.squid, NULL, NULL, WAY_HTTP1},
	raw_tiny     = {"tinyproxy, CONNECT",   "127.0.0.1",  4004, "up.test:9000",     NULL,       &others.tinyproxy, NULL, NULL, WAY_HTTP1},
	tls_direct   = {"direct",               ORIGIN,       PORT_TLS, NULL,           "api.test", NULL, NULL, NULL, WAY_HTTP1},
	tls_inspect  = {"gateway, inspecting",  "127.0.0.1",  3128, "api.test:443",     "api.test", &gateway, NULL, NULL, WAY_HTTP1},
	tls_inject   = {"gateway, injecting",   "127.0.0.1",  3128, "token.test:443",   "token.test", &gateway, NULL, NULL, WAY_HTTP1},
	tls_sign     = {"gateway, asking each", "127.0.0.1",  3128, "signed.test:443",  "signed.test", &gateway, NULL, NULL, WAY_HTTP1},
	tls_nginx    = {"nginx",                "127.0.0.1",  4443, NULL,               "api.test", &others.nginx, NULL, NULL, WAY_HTTP1},
	tls_haproxy  = {"haproxy",              "127.0.0.1",  4444, NULL,               "api.test", &others.haproxy, NULL, NULL, WAY_HTTP1},
	h2_direct    = {"direct",               ORIGIN,       PORT_TLS, NULL,           "grpc.test", NULL, NULL, NULL, WAY_H2},
	h2_inject    = {"gateway, injecting",   "127.0.0.1",  3128, "token.test:443",   "token.test", &gateway, NULL, NULL, WAY_H2},
	h2_nginx     = {"nginx",                "127.0.0.1",  4445, NULL,               "api.test", &others.nginx, NULL, NULL, WAY_H2},
	grpc_direct  = {"direct",               ORIGIN,       PORT_TLS, NULL,           "grpc.test", NULL, NULL, NULL, WAY_GRPC},
	grpc_inject  = {"gateway, injecting",   "127.0.0.1",  3128, "grpc.test:443",    "grpc.test", &gateway, NULL, NULL, WAY_GRPC},
	grpc_nginx   = {"nginx",                "127.0.0.1",  4446, NULL,               "api.test", &others.nginx, NULL, NULL, WAY_GRPC};

/* As a command in the sandbox has it, and the proxy alone, without what carries bytes to it. */
static struct way
	raw_srt        = {"srt",              "127.0.0.1", 0, "up.test:9000", NULL, &others.srt.pid, others.srt.auth, &others.srt.netns, WAY_HTTP1},
	raw_srt_host   = {"srt, proxy alone", "127.0.0.1", 0, "up.test:9000", NULL, &others.srt.pid, others.srt.auth, NULL, WAY_HTTP1},
	raw_codex      = {"codex",            "127.0.0.1", 0, "up.test:9000", NULL, &others.codex.pid, NULL, &others.codex.netns, WAY_HTTP1},
	raw_codex_host = {"codex, proxy alone", "127.0.0.1", 0, "up.test:9000", NULL, &others.codex.pid, NULL, NULL, WAY_HTTP1};

static const struct scene scenes[] = {
	[BULK] = {"bulk", 1, true, {&raw_direct, &raw_connect, &raw_haproxy, &raw_splice, &raw_squid, &raw_tiny,
		&raw_srt, &raw_srt_host, &raw_codex, &raw_codex_host}},
	[TUNNELS] = {"tunnels", 1, true, {&raw_direct, &raw_standin, &raw_connect, &raw_haproxy, &raw_squid, &raw_tiny,
		&raw_srt, &raw_srt_host, &raw_codex, &raw_codex_host}},
	[REQUESTS] = {"requests", 1, true, {&tls_direct, &tls_inspect, &tls_inject, &tls_sign, &tls_nginx}},
	[LATENCY] = {"latency", 4, false, {&tls_direct, &tls_inspect, &tls_inject, &tls_sign, &tls_nginx}},
	[SSE] = {"sse", 4, false, {&tls_direct, &tls_inspect, &tls_inject, &tls_sign, &tls_nginx}},
	[H2_REQUESTS] = {"h2 requests", 1, true, {&h2_direct, &h2_inject, &h2_nginx}},
	[H2_LATENCY] = {"h2 latency", 4, false, {&h2_direct, &h2_inject, &h2_nginx}},
	[GRPC_REQUESTS] = {"grpc requests", 1, true, {&grpc_direct, &grpc_inject, &grpc_nginx}},
	[GRPC_LATENCY] = {"grpc latency", 4, false, {&grpc_direct, &grpc_inject, &grpc_nginx}},
};
static const struct way *const crowded[] = {&tls_inject, &tls_nginx, &tls_haproxy};
/* clang-format on */
#define CROWDED (sizeof(crowded) / sizeof(crowded[0]))

_Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(1);
}

static void progress(const char *what, size_t n)
{
	static uint64_t start;

	start = start ? start : now_ns();
	(void)fprintf(stderr, "  %5.1f s: %s %zu\n", (double)(now_ns() - start) / 1e9, what, n);
}

/* Proxies on their own core, or with everybody on one. */
static void spread(bool apart)
{
	int client = CPU_CLIENT, proxy = apart && sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : client;
	const pid_t proxies[] = {gateway,	   others.haproxy, others.nginx,    others.squid,
				 others.tinyproxy, others.srt.pid, others.codex.pid};

	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		if (proxies[i] > 0)
			proc_pin(proxies[i], proxy);
}

static void measure(enum scene_id id, const struct way *w, double scale, SSL_CTX *ctx,
		    struct result *ret)
{
	struct load l = {.way = w, .seconds = SECONDS * scale};

	switch (id) {
	case BULK:
		l.kind = LOAD_BULK;
		l.conns = BULK_CONNS;
		break;
	case TUNNELS:
		l.kind = LOAD_TUNNELS;
		l.conns = TUNNEL_CONNS;
		break;
	case REQUESTS:
	case H2_REQUESTS:
	case GRPC_REQUESTS:
		l.kind = LOAD_REQUESTS;
		l.conns = REQUEST_CONNS;
		break;
	case LATENCY:
	case H2_LATENCY:
	case GRPC_LATENCY:
		l.kind = LOAD_REQUESTS;
		l.conns = 1;
		break;
	case SSE:
		load_sse(w, ctx, (unsigned int)(SSE_EVENTS * scale), ret);
		return;
	case SCENES:
		return;
	}
	load_run(&l, ctx, ret);
}

/* Each way once; who begins changes from turn to turn. */
static void take_turn(enum scene_id id, size_t turn, double scale, SSL_CTX *ctx, bool keep)
{
	const struct scene *s = &scenes[id];
	size_t n = 0;

	while (s->ways[n])
		n++;
	for (size_t k = 0; k < n; k++) {
		const struct way *w = s->ways[(k + turn) % n];
		struct result r;

		if (!w->port)
			continue;
		measure(id, w, scale / (double)s->turns, ctx, &r);
		if (keep)
			emit_sample(s->name, w->name, turn, 0, &r);
	}
	if (id == LATENCY && keep) {
		struct result r;

		question_run(SECONDS * scale / (double)s->turns, &r);
		emit_sample("question", "the kernel alone", turn, 0, &r);
	}
}

static void pin_client(void)
{
	proc_pin(raw_origin, CPU_CLIENT);
	proc_pin(tls_origin, CPU_CLIENT);
	proc_pin(getpid(), CPU_CLIENT); /* and everything below: spread() comes after it */
}

/* Where its pages lie makes one process slower than the next of the same program, for as long as it
 * lives. So each round has new ones. */
static SSL_CTX *renew(SSL_CTX *ctx)
{
	SSL_CTX_free(ctx);
	world_end_gateway(gateway);
	gateway = world_gateway(NULL, NULL, NULL);
	others_renew(&others);
	pin_client();
	return world_client_ctx(); /* with the new sandbox's CA */
}

static bool chosen(const char *scene, char *const *only)
{
	while (*only && strcmp(*only, scene) != 0)
		only++;
	return *only != NULL;
}

static void walk(size_t rounds, double scale, char *const *only)
{
	SSL_CTX *ctx = world_client_ctx();

	/* The first round warms up and is not kept. */
	for (size_t round = 0; round <= rounds; round++) {
		progress("round", round);
		ctx = renew(ctx);
		for (size_t s = 0; s < SCENES; s++) {
			size_t turns = round ? scenes[s].turns : 1;

			if (*only && !chosen(scenes[s].name, only))
				continue;
			spread(scenes[s].apart);
			for (size_t t = 0; t < turns; t++)
				take_turn((enum scene_id)s,
					  (round ? round - 1 : 0) * scenes[s].turns + t, scale, ctx,
					  round > 0);
		}
	}
	SSL_CTX_free(ctx);
}

struct slow {
	double first_kb, most_kb;
	unsigned int calls;
};

static void look(void *arg)
{
	struct slow *s = arg;
	double rss, pss;

	if (++s->calls % 10)
		return;
	proc_memory(gateway, &rss, &pss);
	if (s->calls == 20) /* 0.4 s: every buffer has been used */
		s->first_kb = rss;
	if (rss > s->most_kb)
		s->most_kb = rss;
}

/* What connections that stay open cost the proxy, each. */
static double held_kb(const struct way *w, SSL_CTX *ctx)
{
	static struct held held[HELD];
	double rss, before, after;

	proc_memory(*w->pid, &rss, &before);
	load_hold(w, ctx, held, HELD);
	proc_memory(*w->pid, &rss, &after);
	load_let_go(held, HELD);
	return (after - before) / HELD;
}

/* The proxy's memory for each stream that waits for an answer. */
static double stream_kb(const struct way *w, SSL_CTX *ctx)
{
	static struct held held[STREAM_CONNS];
	double rss, before, after;

	proc_memory(*w->pid, &rss, &before);
	load_hold_streams(w, ctx, held, STREAM_CONNS, STREAMS);
	proc_memory(*w->pid, &rss, &after);
	load_let_go(held, STREAM_CONNS);
	return (after - before) / (STREAM_CONNS * STREAMS);
}

static void memory(double scale)
{
	struct held one;
	double rss, pss;
	struct slow slow = {0};
	SSL_CTX *ctx = world_client_ctx();

	proc_memory(gateway, &rss, &pss);
	emit_value("idle_rss_kb", rss);
	emit_value("idle_pss_kb", pss);
	load_hold(&tls_inspect, ctx, &one, 1);
	load_let_go(&one, 1);
	proc_memory(gateway, &rss, &pss);
	emit_value("tls_rss_kb", rss);
	emit_value("tls_pss_kb", pss);
	emit_value("held_kb", held_kb(&tls_inspect, ctx));
	emit_value("nginx_held_kb", held_kb(&tls_nginx, ctx));
	/* A new one: the pages of a thousand connections are not given back. */
	world_end_gateway(gateway);
	gateway = world_gateway(NULL, NULL, NULL);
	SSL_CTX_free(ctx);
	ctx = world_client_ctx();
	load_slow(&tls_inspect, ctx, SLOW_READERS, SLOW_BYTES_PER_S, 4 * scale, look, &slow);
	emit_value("slow_most_kb", slow.most_kb);
	emit_value("slow_growth_kb", slow.most_kb - slow.first_kb);
	slow = (struct slow){0};
	load_slow(&raw_connect, ctx, SLOW_READERS, SLOW_BYTES_PER_S, 2 * scale, look, &slow);
	emit_value("slow_tunnel_growth_kb", slow.most_kb - slow.first_kb);
	world_end_gateway(gateway);
	gateway = world_gateway(NULL, NULL, NULL);
	SSL_CTX_free(ctx);
	ctx = world_client_ctx();
	emit_value("stream_kb", stream_kb(&grpc_inject, ctx));
	emit_value("nginx_stream_kb", stream_kb(&grpc_nginx, ctx));
	SSL_CTX_free(ctx);
}

/* As many as asked for, or as the gateway has descriptors for: two each, and some kept back. */
static size_t crowd_size(size_t wanted)
{
	struct rlimit files = {0};
	size_t can;
	char why[128];

	(void)getrlimit(RLIMIT_NOFILE, &files);
	can = files.rlim_cur > 2 * FILES_KEPT ? (files.rlim_cur - FILES_KEPT) / 2 / 100 * 100 : 0;
	if (wanted <= can)
		return wanted;
	(void)snprintf(why, sizeof(why), "%zu instead: a process may have %zu descriptors here",
		       can, (size_t)files.rlim_cur);
	emit_absent("10,000 open connections", why);
	return can;
}

/* Time of one request while 1, 10, 100 … connections are open. */
static void crowds(size_t most)
{
	SSL_CTX *ctx = renew(world_client_ctx());
	struct crowd c[CROWDED];

	for (size_t i = 0; i < CROWDED; i++)
		crowd_start(&c[i], crowded[i], ctx);
	for (size_t n = 1; n; n = n == most ? 0 : n * 10 < most ? n * 10 : most) {
		progress("open connections", n);
		spread(true);
		for (size_t i = 0; i < CROWDED; i++)
			crowd_grow(&c[i], n);
		spread(false);
		for (size_t turn = 0; turn < CROWD_TURNS; turn++)
			for (size_t i = 0; i < CROWDED; i++) {
				size_t at = (i + turn) % CROWDED;
				struct result r;

				crowd_measure(&c[at], CROWD_SECONDS, &r);
				emit_sample("crowd", crowded[at]->name, turn, (double)n, &r);
			}
	}
	for (size_t i = 0; i < CROWDED; i++)
		crowd_end(&c[i]);
	SSL_CTX_free(ctx);
}

/* In a process of its own, which may end: a peer that does not work is left out. */
static bool works(const struct way *w)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct load l = {.way = w, .kind = LOAD_TUNNELS, .conns = 1, .seconds = 0.05};
		struct result r;
		int fd = open(world_file("tried.out"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			      0600);

		(void)dup2(fd, 2);
		(void)alarm(10);
		load_run(&l, NULL, &r);
		_exit(r.ops > 0 ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

static void use_sandboxed(const struct sandboxed *s, struct way *inside, struct way *host)
{
	if (!s->pid)
		return;
	inside->port = s->inside;
	host->port = s->host;
	if (!s->auth[0])
		inside->auth = host->auth = NULL;
	for (size_t i = 0; i < 2; i++) {
		struct way *w = i ? host : inside;

		if (!works(w)) {
			emit_absent(w->name, "no tunnel through its proxy");
			w->port = 0;
		}
	}
}

static double number(const char *text, double most)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= 0) || v > most)
		die(text, "not a number in range");
	return v;
}

int main(int argc, char **argv)
{
	size_t rounds, crowd;
	double scale;

	if (argc < 8)
		die("usage", "proxies EDGE GATEWAY CA DIRECTORY ROUNDS SCALE CROWD [SCENE…]");
	rounds = (size_t)number(argv[5], MAX_ROUNDS);
	scale = number(argv[6], 10);
	crowd = (size_t)number(argv[7], 10000);
	progress("the world, rounds", rounds);
	world_enter(argv[4]);
	raw_origin = origin_start(PORT_RAW, NULL);
	tls_origin = origin_start(PORT_TLS, world_server_ctx());
	others_start(&others);
	gateway = world_gateway(argv[1], argv[2], argv[3]);
	use_sandboxed(&others.srt, &raw_srt, &raw_srt_host);
	use_sandboxed(&others.codex, &raw_codex, &raw_codex_host);
	if (!argv[8]) {
		progress("memory, connections", HELD);
		memory(scale);
	}
	walk(rounds, scale, argv + 8);
	if (crowd)
		crowds(crowd_size(crowd));
	others_stop(&others);
	return 0;
}
