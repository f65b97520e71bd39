#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * DOC: Theory of operation
 *
 * One network namespace with a public-looking address on its loopback holds everything: the origin
 * (gateway-origin.c), the gateway as it runs, with this program as its supervisor
 * (gateway-world.c), the programs it is compared with (gateway-others.c) and this program as the
 * client of all of them (gateway-load.c). gateway-bench.c walks the rounds and prints.
 */

#define ORIGIN "8.1.1.1"
#define PORT_RAW 9000 /* "P\n" brings "pong\n"; "B<n>\n" brings n bytes */
#define PORT_TLS 443  /* HTTP/1.1: /small, /bulk<n>, /sse */
#define SSE_EVERY_US 1000
#define CPU_CLIENT 0 /* of this program and the origin; the proxies have the other */

/* Ways to the origin. */
struct way {
	const char *name;
	const char *addr;
	uint16_t port;
	const char *connect; /* the authority asked of a CONNECT proxy; NULL: none */
	const char *sni;     /* TLS on top of that; NULL: the raw port */
	pid_t *pid;	     /* of the proxy; NULL: none */
};

_Noreturn void die(const char *what, const char *why);
uint64_t now_ns(void);

/* gateway-world.c */
void world_enter(const char *dir);	  /* namespaces; exits with 77 where they are refused */
const char *world_file(const char *name); /* a path in the directory; static */
void world_write(const char *name, const char *text);
SSL_CTX *world_server_ctx(void); /* certificates of the origins' CA, by name */
SSL_CTX *world_client_ctx(void); /* trusts the origins' and the sandbox's CA */
/* The programs' paths; NULL both: those of the last call. */
pid_t world_gateway(const char *gateway, const char *ca);
void world_end_gateway(pid_t pid);
int world_listener(const char *addr, uint16_t port);

/* gateway-origin.c: a process of its own; ctx NULL: the raw port. */
pid_t origin_start(uint16_t port, SSL_CTX *ctx);

/* gateway-others.c */
struct others {
	pid_t haproxy, nginx, squid, tinyproxy;
};
void others_start(struct others *o);
void others_renew(struct others *o); /* those that are held against the gateway */
void others_stop(const struct others *o);

/* gateway-proc.c: what a process and those below it use. */
double proc_cpu_s(pid_t pid);
void proc_memory(pid_t pid, double *ret_rss_kb, double *ret_pss_kb);
void proc_pin(pid_t pid, int cpu); /* -1: everywhere */
pid_t proc_start(char *const argv[], const char *log);

/* gateway-load.c */
enum load_kind {
	LOAD_BULK,    /* bytes, over `conns` connections */
	LOAD_TUNNELS, /* a new connection per round trip */
	LOAD_REQUESTS /* keep-alive round trips */
};

struct load {
	const struct way *way;
	enum load_kind kind;
	unsigned int conns;
	double seconds;
};

struct result {
	double seconds, ops, bytes;
	double p50_us, p99_us, max_us;
	double cpu_s;	     /* of the proxy */
	unsigned int stalls; /* round trips of 40 ms and more */
};

void load_run(const struct load *l, SSL_CTX *ctx, struct result *ret);
/* Events of one /sse stream: from the origin's write to our read. */
void load_sse(const struct way *w, SSL_CTX *ctx, unsigned int events, struct result *ret);

/* Connections that have had one answer and stay open. */
struct held {
	SSL *ssl;
	int fd;
};
void load_hold(const struct way *w, SSL_CTX *ctx, struct held *h, size_t n);
void load_let_go(struct held *h, size_t n);
/* n readers of an endless answer, each taking bytes_per_s, for so long; calls each() in between. */
void load_slow(const struct way *w, SSL_CTX *ctx, size_t n, double bytes_per_s, double seconds,
	       void (*each)(void *), void *arg);
