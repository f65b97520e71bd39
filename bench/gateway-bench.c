/* gateway-bench GATEWAY CA DIRECTORY JSON ROUNDS SCALE: what bench/gateway runs. */
#include "gateway-bench.h"
#include "gateway-table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELD 1000
#define SLOW_READERS 5
#define SLOW_BYTES_PER_S 1e6
#define SSE_EVENTS 400
#define BULK_CONNS 4
#define TUNNEL_CONNS 8
#define REQUEST_CONNS 16
#define SECONDS 0.4 /* of each way in one round */

static pid_t gateway, raw_origin, tls_origin;
static struct others others;

/* clang-format off */
static const struct way
	raw_direct   = {"direct",               ORIGIN,       PORT_RAW, NULL,           NULL,       NULL},
	raw_connect  = {"gateway, CONNECT",     "127.0.0.1",  3128, "up.test:9000",     NULL,       &gateway},
	raw_standin  = {"gateway, transparent", "198.18.0.5", PORT_RAW, NULL,           NULL,       &gateway},
	raw_haproxy  = {"haproxy",              "127.0.0.1",  4001, NULL,               NULL,       &others.haproxy},
	raw_splice   = {"haproxy, splice-auto", "127.0.0.1",  4002, NULL,               NULL,       &others.haproxy},
	raw_squid    = {"squid, CONNECT",       "127.0.0.1",  4003, "up.test:9000",     NULL,       &others.squid},
	raw_tiny     = {"tinyproxy, CONNECT",   "127.0.0.1",  4004, "up.test:9000",     NULL,       &others.tinyproxy},
	tls_direct   = {"direct",               ORIGIN,       PORT_TLS, NULL,           "api.test", NULL},
	tls_inspect  = {"gateway, inspecting",  "127.0.0.1",  3128, "api.test:443",     "api.test", &gateway},
	tls_inject   = {"gateway, injecting",   "127.0.0.1",  3128, "token.test:443",   "token.test", &gateway},
	tls_sign     = {"gateway, asking each", "127.0.0.1",  3128, "signed.test:443",  "signed.test", &gateway},
	tls_nginx    = {"nginx",                "127.0.0.1",  4443, NULL,               "api.test", &others.nginx};
/* clang-format on */

_Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(1);
}

static double mb_per_s(const struct result *r)
{
	return r->bytes / r->seconds / 1e6;
}

static double cpu_ms_per_gb(const struct result *r)
{
	return r->cpu_s * 1e3 / (r->bytes / 1e9);
}

static double per_s(const struct result *r)
{
	return r->ops / r->seconds;
}

static double cpu_us(const struct result *r)
{
	return r->cpu_s * 1e6 / r->ops;
}

static double p50(const struct result *r)
{
	return r->p50_us;
}

static double p99(const struct result *r)
{
	return r->p99_us;
}

static double max_ms(const struct result *r)
{
	return r->max_us / 1e3;
}

static double stalls(const struct result *r)
{
	return r->stalls;
}

/* clang-format off */
static struct scene scenes[] = {
	[BULK] = {"tunnel, bulk: 4 connections, the proxy on a core of its own", 1,
		{&raw_direct, &raw_connect, &raw_haproxy, &raw_splice, &raw_squid, &raw_tiny},
		{{"MB/s", mb_per_s}, {"CPU ms/GB", cpu_ms_per_gb}}},
	[TUNNELS] = {"new tunnel and one round trip in it: 8 at a time, the proxy on a core of its own", 1,
		{&raw_direct, &raw_standin, &raw_connect, &raw_haproxy, &raw_squid, &raw_tiny},
		{{"tunnels/s", per_s}, {"CPU us each", cpu_us}, {"p50 us", p50}, {"p99 us", p99},
		 {"max ms", max_ms}, {"stalls", stalls}}},
	[REQUESTS] = {"requests over keep-alive, TLS on both sides: 16 connections, the proxy on a core of its own", 1,
		{&tls_direct, &tls_inspect, &tls_inject, &tls_sign, &tls_nginx},
		{{"requests/s", per_s}, {"CPU us each", cpu_us}}},
	[LATENCY] = {"one request at a time over keep-alive, TLS on both sides: everything on one core", 4,
		{&tls_direct, &tls_inspect, &tls_inject, &tls_sign, &tls_nginx},
		{{"p50 us", p50}, {"p99 us", p99}, {"CPU us each", cpu_us}}},
	[SSE] = {"one server-sent event, from the server's write to the client's read: everything on one core", 4,
		{&tls_direct, &tls_inspect, &tls_inject, &tls_sign, &tls_nginx},
		{{"p50 us", p50}, {"p99 us", p99}}},
};

static const struct bar bars[] = {
	{"tunnel throughput / haproxy",              BULK, 0, &raw_connect, &raw_haproxy, false, ">=", 1},
	{"tunnel throughput / squid",                BULK, 0, &raw_connect, &raw_squid,   false, ">=", 1},
	{"tunnel CPU per GB / haproxy",              BULK, 1, &raw_connect, &raw_haproxy, false, "<=", 1},
	{"CPU per new tunnel, transparent / haproxy", TUNNELS, 1, &raw_standin, &raw_haproxy, false, "<=", 1},
	{"CPU per new tunnel, CONNECT / squid",      TUNNELS, 1, &raw_connect, &raw_squid, false, "<=", 1},
	{"new tunnels/s, CONNECT / squid",           TUNNELS, 0, &raw_connect, &raw_squid, false, ">=", 1},
	{"new tunnels/s, transparent / haproxy",     TUNNELS, 0, &raw_standin, &raw_haproxy, false, ">=", 1},
	{"CPU per request, inspected / nginx",       REQUESTS, 1, &tls_inspect, &tls_nginx, false, "<=", 1},
	{"CPU per request, injected / nginx",        REQUESTS, 1, &tls_inject, &tls_nginx, false, "<=", 1},
	{"added p50, inspected / nginx",             LATENCY, 0, &tls_inspect, &tls_nginx, true, "<=", 1},
	{"added p50, injected / nginx",              LATENCY, 0, &tls_inject, &tls_nginx, true, "<=", 1},
	{"SSE lag, injected / nginx",                SSE, 0, &tls_inject, &tls_nginx, false, "<=", 1},
	{"added p99, injected / nginx",              LATENCY, 1, &tls_inject, &tls_nginx, true, NULL, 1},
	{"requests/s, injected / nginx",             REQUESTS, 0, &tls_inject, &tls_nginx, false, NULL, 1},
	{"CPU per request, asking each / nginx",     REQUESTS, 1, &tls_sign, &tls_nginx, false, NULL, 1},
	{"added p50, asking each / nginx",           LATENCY, 0, &tls_sign, &tls_nginx, true, NULL, 1},
	{"tunnel throughput / haproxy splice-auto",  BULK, 0, &raw_connect, &raw_splice, false, NULL, 1},
	{"tunnel CPU per GB / haproxy splice-auto",  BULK, 1, &raw_connect, &raw_splice, false, NULL, 1},
	{"new tunnels/s, CONNECT / haproxy (no CONNECT)", TUNNELS, 0, &raw_connect, &raw_haproxy, false, NULL, 1},
};
/* clang-format on */

/* Proxies on their own core, or with everybody on one. */
static void spread(bool apart)
{
	int client = CPU_CLIENT, proxy = apart && sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : client;
	const pid_t proxies[] = {gateway, others.haproxy, others.nginx, others.squid,
				 others.tinyproxy};

	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
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
		l.kind = LOAD_REQUESTS;
		l.conns = REQUEST_CONNS;
		break;
	case LATENCY:
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
	struct scene *s = &scenes[id];
	size_t n = 0;

	while (s->ways[n])
		n++;
	for (size_t k = 0; k < n; k++) {
		size_t i = (k + turn) % n;
		struct result r;

		measure(id, s->ways[i], scale / (double)s->turns, ctx, &r);
		if (keep)
			scene_keep(s, i, turn, &r);
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
	gateway = world_gateway(NULL, NULL);
	others_renew(&others);
	pin_client();
	return world_client_ctx(); /* with the new sandbox's CA */
}

static void walk(size_t rounds, double scale)
{
	SSL_CTX *ctx = world_client_ctx();

	/* The first round warms up and is not kept. */
	for (size_t round = 0; round <= rounds; round++) {
		ctx = renew(ctx);
		for (size_t s = 0; s < SCENES; s++) {
			size_t turns = round ? scenes[s].turns : 1;

			spread(s != LATENCY && s != SSE);
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

static void memory(double scale, struct memory *m)
{
	static struct held held[HELD];
	double rss, pss, pss_before, ignored;
	struct slow slow = {0};
	SSL_CTX *ctx = world_client_ctx();

	proc_memory(gateway, &m->idle_rss_kb, &m->idle_pss_kb);
	load_hold(&tls_inspect, ctx, held, 1);
	load_let_go(held, 1);
	proc_memory(gateway, &m->tls_rss_kb, &m->tls_pss_kb);
	load_hold(&tls_inspect, ctx, held, HELD);
	proc_memory(gateway, &rss, &pss);
	m->held_kb = (pss - m->tls_pss_kb) / HELD;
	load_let_go(held, HELD);
	proc_memory(others.nginx, &ignored, &pss_before);
	load_hold(&tls_nginx, ctx, held, HELD);
	proc_memory(others.nginx, &ignored, &pss);
	m->nginx_held_kb = (pss - pss_before) / HELD;
	load_let_go(held, HELD);
	/* A new one: the pages of a thousand connections are not given back. */
	world_end_gateway(gateway);
	gateway = world_gateway(NULL, NULL);
	SSL_CTX_free(ctx);
	ctx = world_client_ctx();
	load_slow(&tls_inspect, ctx, SLOW_READERS, SLOW_BYTES_PER_S, 4 * scale, look, &slow);
	m->slow_first_kb = slow.first_kb;
	m->slow_most_kb = slow.most_kb;
	slow = (struct slow){0};
	load_slow(&raw_connect, ctx, SLOW_READERS, SLOW_BYTES_PER_S, 2 * scale, look, &slow);
	m->slow_tunnel_growth_kb = slow.most_kb - slow.first_kb;
	SSL_CTX_free(ctx);
}

static double number(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0) || v > 1000)
		die(text, "not a number in range");
	return v;
}

int main(int argc, char **argv)
{
	struct memory m = {0};
	size_t rounds, missed;
	double scale;

	if (argc != 7)
		die("usage", "gateway-bench GATEWAY CA DIRECTORY JSON ROUNDS SCALE");
	rounds = (size_t)number(argv[5]);
	scale = number(argv[6]);
	if (rounds > MAX_ROUNDS)
		die(argv[5], "too many rounds");
	world_enter(argv[3]);
	raw_origin = origin_start(PORT_RAW, NULL);
	tls_origin = origin_start(PORT_TLS, world_server_ctx());
	others_start(&others);
	gateway = world_gateway(argv[1], argv[2]);
	memory(scale, &m);
	walk(rounds, scale);
	for (size_t s = 0; s < SCENES; s++)
		scene_print(&scenes[s], rounds);
	missed = bars_print(bars, sizeof(bars) / sizeof(bars[0]), scenes, rounds);
	missed += stalls_print(&scenes[TUNNELS], 5, rounds);
	missed += memory_print(&m);
	json_write(argv[4], bars, sizeof(bars) / sizeof(bars[0]), scenes, rounds, &m);
	others_stop(&others);
	return missed ? 1 : 0;
}
