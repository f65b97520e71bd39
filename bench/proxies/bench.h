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
 * (origin.c), edge and gateway as they run, with this program as its supervisor (world.c), the programs
 * it is compared with (others.c) and this program as the client of all of them (conn.c, load.c,
 * crowd.c). main.c walks the rounds; emit.c prints what was measured, one JSON object a line.
 * What it means, bars and ratios, is bench/gateway's.
 */

#define ORIGIN "8.1.1.1"
#define PORT_RAW 9000 /* "P\n" brings "pong\n"; "B<n>\n" brings n bytes */
#define PORT_TLS 443  /* HTTP/1.1: /small, /bulk<n>, /sse; as grpc.test HTTP/2: see h2.c */
#define SSE_EVERY_US 1000
#define CPU_CLIENT 0 /* of this program and the origin; the proxies have the other */
#define ENDLESS "1099511627776"

/* Ways to the origin. */
struct way {
	const char *name;
	const char *addr;
	uint16_t port;
	const char *connect; /* the authority asked of a CONNECT proxy; NULL: none */
	const char *sni;     /* TLS on top of that; NULL: the raw port */
	pid_t *pid;	     /* of the proxy; NULL: none */
	const char *auth;    /* Proxy-Authorization; NULL: none */
	const int *netns;    /* where the client's socket is made; NULL: here */
	enum { WAY_HTTP1, WAY_H2, WAY_GRPC } speaks;
};

_Noreturn void die(const char *what, const char *why);
uint64_t now_ns(void);

/* world.c */
void world_enter(const char *dir);	  /* namespaces; exits with 77 where they are refused */
const char *world_file(const char *name); /* a path in the directory; static */
void world_write(const char *name, const char *text);
SSL_CTX *world_server_ctx(void); /* certificates of the origins' CA, by name */
SSL_CTX *world_client_ctx(void); /* trusts the origins' and the sandbox's CA */
/* The programs' paths; NULL all: those of the last call. The pid is the edge's, */
pid_t world_gateway(const char *edge, const char *gateway, const char *ca);
void world_end_gateway(pid_t pid);
/* and what is measured of it counts the gateway in; 0: pid is another program's. */
pid_t world_half(pid_t pid);
int world_listener(const char *addr, uint16_t port);

/* origin.c: a process of its own; ctx NULL: the raw port. */
pid_t origin_start(uint16_t port, SSL_CTX *ctx);

/* others.c */
struct sandboxed { /* a sandbox that brings a proxy of its own; pid 0: not here */
	pid_t pid;
	uint16_t inside, host; /* ports: in the sandbox's network, and here */
	char auth[512];
	int netns;
};
struct others {
	pid_t haproxy, nginx, squid, tinyproxy;
	struct sandboxed srt, codex;
};
void others_start(struct others *o);
void others_renew(struct others *o); /* those that are held against the gateway */
void others_stop(const struct others *o);

/* proc.c: what a process and those below it use. */
#define MAX_TREE 256
size_t proc_tree(pid_t pid, pid_t ret[MAX_TREE]); /* pid first */
double proc_cpu_s(pid_t pid);
void proc_memory(pid_t pid, double *ret_rss_kb, double *ret_pss_kb);
void proc_pin(pid_t pid, int cpu); /* -1: everywhere */
pid_t proc_start(char *const argv[], const char *log);

/* conn.c: one connection of a way. */
struct held {
	SSL *ssl;
	int fd;
};
int conn_dial(const struct way *w); /* not blocking, not yet connected */
void conn_send(const struct way *w, int fd, SSL *ssl, const char *text);
SSL *conn_tls(const struct way *w, SSL_CTX *ctx, int fd);
void conn_connect_text(const struct way *w, char *text, size_t cap);
void conn_request_text(const struct way *w, const char *what, char *text, size_t cap);
bool conn_complete(bool tls, const char *in, size_t n); /* is it a whole answer? */
void conn_send_bytes(const struct way *w, int fd, SSL *ssl, const char *p, size_t n);
/* By blocking calls, up to a request sent. */
void conn_open(const struct way *w, SSL_CTX *ctx, const char *what, struct held *h);
void conn_close(struct held *h);
bool conn_answer(const struct way *w, struct held *h); /* false: the other side had closed */
/* A small request and its answer; false: the other side had closed. */
bool conn_exchange(const struct way *w, struct held *h);

/* h2.c */
#define H2_OUT (16 * 1024)
size_t h2_begin(char *out, bool client);
/* ends: false for a request that is never complete, and so never answered, of gRPC. */
size_t h2_ask(char *out, const struct way *w, uint32_t stream, bool ends);
size_t h2_ping(char *out);
bool h2_is_ponged(const char *in, size_t n);
/* Reads the frames in `in`, leaves the last one that is not whole, and puts into `out` what is to be said: how many
 * messages have ended, or -1 when something has failed. */
int h2_read(char *in, size_t *n, bool server, char *out, size_t *n_out);

struct result {
	double seconds, ops, bytes;
	double p50_us, p99_us, max_us;
	double cpu_s;	     /* of the proxy */
	unsigned int stalls; /* round trips of 40 ms and more */
};

/* load.c */
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

void load_sum_up(double *us, size_t n, struct result *ret); /* sorts */
void load_run(const struct load *l, SSL_CTX *ctx, struct result *ret);
/* Events of one /sse stream: from the origin's write to our read. */
void load_sse(const struct way *w, SSL_CTX *ctx, unsigned int events, struct result *ret);
/* Connections that have had one answer and stay open. */
void load_hold(const struct way *w, SSL_CTX *ctx, struct held *h, size_t n);
void load_let_go(struct held *h, size_t n);
/* As many streams of gRPC that nobody answers, over as many connections of the way. */
void load_hold_streams(const struct way *w, SSL_CTX *ctx, struct held *h, size_t conns,
		       unsigned int streams);
/* n readers of an endless answer, each taking bytes_per_s, for so long; calls each() in between. */
void load_slow(const struct way *w, SSL_CTX *ctx, size_t n, double bytes_per_s, double seconds,
	       void (*each)(void *), void *arg);

/* question.c: the time of a question to another process and its answer, on this core. */
void question_run(double seconds, struct result *ret);

/* crowd.c: many open connections of one way, held by a process of their own. */
struct crowd {
	const struct way *way;
	pid_t pid;
	int sock;
};
void crowd_start(struct crowd *c, const struct way *w, SSL_CTX *ctx);
void crowd_grow(struct crowd *c, size_t n);
/* One request at a time, each over another of them. */
void crowd_measure(struct crowd *c, double seconds, struct result *ret);
void crowd_end(struct crowd *c);

/* emit.c */
void emit_sample(const char *scene, const char *way, size_t turn, double x, const struct result *r);
void emit_value(const char *name, double v);
void emit_absent(const char *way, const char *why);
