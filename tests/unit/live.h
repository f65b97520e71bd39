#pragma once

#include "tests.h"

#include "base/buf.h"
#include "base/fd.h"
#include "wire/gateway-proto.h"

#include <openssl/ssl.h>
#include <sys/types.h>

/*
 * The real edge, gateway and CA helper, with the test as supervisor. Two network namespaces: in
 * "inside" the listeners and the clients live, in "outside" edge, gateway and the servers; nothing
 * leaves either. /etc/hosts is the test's own; what it does not hold is asked of a DNS server on
 * 127.0.0.1 outside, which only counts.
 */

/* Names and addresses outside, all of them local there. */
#define ADDR_ALLOWED "8.1.1.1"
#define ADDR_OTHER "8.1.1.2"
#define ADDR_SIX "2600:beef::10"
#define ADDR_PRIVATE "10.9.9.9"
#define ADDR_METADATA "169.254.169.254"

/* Once per program; exits with 77 where namespaces cannot be had. */
void live_world(void);

struct live_rule {
	bool deny;
	const char *pattern, *methods, *paths, *git, *credential; /* lists: "GET POST" */
};

struct live_options {
	const struct live_rule *rules;
	size_t n_rules;
	enum policy_tier tier; /* POLICY_NONE stands for POLICY_ALLOWLIST */
	const char *https_proxy, *http_proxy, *no_proxy;
	const char *route_url; /* of provider "test" (credential "key", phantom "phantom-token") and
				  of one for each other credential, with the phantom
				  "phantom-of-NAME" */
	const char *requests;  /* that they may make, with commas; NULL: GET and POST below /v1 */
	const char *route_ca;  /* trust of their own */
	bool route_private;
	uint32_t head_ms, dial_ms, lookup_ms, keepalive_ms;
	uint32_t keep_ms; /* of the headers the supervisor gives */
	bool trust_dir;	  /* the servers' CA in a hashed directory, not in a file */
	bool no_events;	  /* nobody will ask for them */
	bool bad_trust;	  /* the servers' CA is not trusted */
	bool no_edge; /* the test is the edge, or the gateway; live_health() has no answer then */
	bool no_gateway;
};

/* Per test: starts everything; live_stop() ends it. */
void live_start(const struct live_options *o);
void live_stop(void);
/* SIGKILL to one of the two, and the end of both. */
void live_kill(pid_t pid);
pid_t live_edge(void);
pid_t live_gateway(void);
/* The lines of the program that the test stands for: see wire/edge-proto.h. */
int live_arrivals(void);
int live_dials(void);
void live_policy(const struct live_options *o);

/* The next event of this verb, verdict and host ("": any) within 5 s; fails the test otherwise.
 * Strings live until the next call. */
const struct gw_event *live_event(enum gw_verb verb, enum gw_verdict verdict, const char *host);
/* Events that have come and were not asked for yet; how many of them have this verdict. */
size_t live_events_left(enum gw_verdict verdict);
struct gw_health live_health(void);
/* Questions for headers since the last call, and how many of them said that it was rejected. */
size_t live_asks(size_t *ret_rejected);
/* The next report of usage within 5 s; as live_event(). */
const struct gw_usage *live_usage(void);
const char *live_ca_file(void);
/* DNS questions the host's resolver has seen since the last call. */
size_t live_dns_questions(void);

/* A client inside. */
int client(const char *addr, uint16_t port);
int client_outside(const char *addr, uint16_t port);
void live_outside(void); /* this process goes there */
int client_proxy(void);
void put(int fd, const char *text);
void put_bytes(int fd, const void *p, size_t n);
/* Reads until `marker` has come (or end of stream when NULL); the text is the caller's. */
char *get(int fd, const char *marker);
char *live_collect(int fd, SSL *ssl, const char *marker); /* the same of either */
/* The whole conversation: sends text to the proxy, reads to the end. */
char *ask(const char *text);
/* Fail the test unless the text has this part, or starts so. */
void has(const char *text, const char *part);
void starts(const char *text, const char *with);
bool is_reset(int fd);
bool is_closed(int fd); /* end of stream or reset, without a byte */
/* CONNECT that must be granted. */
int tunnel_to(const char *authority);

/* TLS inside: trust is the sandbox's CA or the servers'. */
enum trust { TRUST_SANDBOX, TRUST_SERVERS };
SSL *tls_over(int fd, const char *sni, enum trust trust); /* NULL: the handshake failed */
void tls_put(SSL *s, const char *text);
char *tls_get(SSL *s, const char *marker);
void tls_close(SSL *s);
/* The bytes of a ClientHello; sni NULL: none. The caller's. */
size_t hello_bytes(const char *sni, unsigned char **ret);

/* DNS inside: rcode, and the first address as text ("" for none). */
int dns_ask(const char *name, uint16_t type, bool tcp, char ret_addr[static 46]);

/* The scripted servers (allowed.test:8080, other.test:8443 with TLS): the next line of what they
 * recorded, and a byte of the bodies that they take for right. */
const char *script_line(void);
void script_forget(void);
char script_byte(unsigned long at);

/* Lets the server that waits in /sse or /hold go on. */
void server_go(void);
