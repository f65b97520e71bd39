#pragma once

#include "base/mem.h"

/*
 * Every limit of edge and gateway, in one place. Peers on both sides are hostile: the sandbox's
 * programs and, for what they send back, the servers they reach.
 */

/* Connections. Each holds at most two descriptors, four while it splices. */
#define MAX_CONNS 16384	     /* open at once; more wait in the listeners' backlogs */
#define KNOCKS_MAX 256	     /* on a port of the host, that have not shown a token yet */
#define MAX_FDS_RESERVE 2048 /* of RLIMIT_NOFILE, kept back for everything but connections */
#define ACCEPT_BURST 32	     /* from one listener before the others have their turn */

#define CONNS_WITH_BUFFERS 32 /* keep OpenSSL's between two records, 33 KiB a stream */

/* Bytes. */
#define IN_MAX                                                                                     \
	(96 * KiB)	   /* read from one side and not yet understood: a head and a little more  \
			    */
#define SCRATCH (64 * KiB) /* one read; shared by all connections */
#define PENDING_MAX (192 * KiB)	 /* read from one side, not yet taken by the other */
#define REPLY_MAX (8 * KiB)	 /* an answer of our own */
#define HEAD_USUAL (1 * KiB - 1) /* room for a head that is written; malloc() is quick up to this */
#define SPLICE_AFTER (64 * KiB)	 /* of large reads in a row that make a tunnel bulk */
#define SPLICE_READ (8 * KiB)	 /* the least size of a large read */
#define PIPE_SIZE (512 * KiB)
#define PIPES_MAX 64   /* held at once; a tunnel that gets none copies */
#define PIPES_IDLE 8   /* empty ones kept */
#define RELAY_ROUNDS 4 /* reads of one connection before the others have their turn */

/* Time, in ms. The supervisor may set those that have a field in struct gw_config. */
#define HEAD_MS 10000	   /* first byte to the end of a head, SOCKS greeting, ClientHello */
#define KEEPALIVE_MS 65000 /* between two requests of one connection */
#define LOOKUP_MS 8000
#define DIAL_MS 10000	    /* all addresses of a host */
#define DIAL_STAGGER_MS 250 /* RFC 8305: before the next address is tried beside this one */
#define HANDSHAKE_MS 10000
#define ANSWER_MS 60000 /* a server's, to the ClientHello of a tunnel */
#define LEAF_MS 5000
#define PASS_MS 10000	   /* until the gateway has taken a connection of the edge's */
#define HEADER_MS 60000	   /* a login may have to be renewed first, or another program is at it */
#define BUDGET_MS 300000   /* the rest of it is reserved by requests that are under way */
#define RESPONSE_MS 600000 /* no byte either way while an answer is awaited: models think long */
#define PROBE_MS 30000	   /* between two probes of TCP keep-alive */
#define PROBES_MAX 6	   /* that nobody answered, before the connection is over */
#define CLOSING_MS 2000
#define UPSTREAM_IDLE_MS 30000 /* in the pool */

/* Names and addresses. */
#define LOOKUPS_MAX 256 /* waiting or running */
#define LOOKUPS_KEPT 32 /* answers */
#define LOOKUP_KEEP_MS 5000
#define LOOKUP_WORKERS 8  /* running */
#define ADDRS_MAX 16	  /* taken from one answer */
#define DIALS_PARALLEL 4  /* attempts of one dial in flight */
#define STANDINS_MAX 4096 /* names with a stand-in address */
#define DNS_TTL 60

/* Upstream connections kept open. */
#define POOL_MAX 128
#define POOL_PER_HOST 64
#define CONNS_WITH_OWN 256 /* with more, the pool has what a connection does not use right now */

/* Ready headers the supervisor let us use again. */
#define HEADERS_KEPT 16
#define HEADER_KEEP_MS 60000 /* at most, whatever it said */

/* Secrets that answers are searched for. */
#define GIVEN_TURNS 3 /* sets of one credential: the newest, and those it has replaced */

/* Certificates. */
#define LEAVES_MAX 64 /* contexts of inspected hosts */

/* Events: beyond this rate those that are alike become one with a count. */
#define EVENT_BURST 256
#define EVENT_PER_S 128
#define EVENT_GROUPS 64
#define EVENT_FLUSH_MS 1000

/* Requests with a credential. */
#define BODY_KEPT_MAX (1 * MiB)	    /* to be sent again after a 401; longer ones are not */
#define BODY_SIGNED_MAX (32 * MiB)  /* read before it is sent, where the provider signs it */
#define SPOOL_SMALL (256 * KiB)	    /* in memory; more lies in a file of memory */
#define SPOOL_TOTAL_MAX (128 * MiB) /* of requests; and as much of answers */
#define ANSWER_READ_MAX (32 * MiB)  /* of a provider's answer, for the reader */
#define READER_LATE_MAX (16 * MiB)  /* that waits for room in the line to the reader */
#define ASKS_MS 45000 /* the body of an ask, then the supervisor's answer, which may wait a while */
#define BODY_MS 120000 /* no byte of a body that is read before it is sent */

/* HTTP/2, of one connection. */
#define H2_STREAMS_MAX 100	  /* open at once; the client is told so */
#define H2_WINDOW (64 * KiB)	  /* of one stream's body, on its way to the other side */
#define H2_WINDOW_FAST (1 * MiB)  /* of an answer whose reader has kept up so far */
#define H2_WINDOWS (16 * MiB)	  /* of all streams: slow ones leave room for the others, */
#define H2_FAST_MAX 8		  /* as long as no more than these have a fast window */
#define H2_HEADERS_MAX (64 * KiB) /* of one head, counted as RFC 9113 does */
#define H2_OUT_MAX (64 * KiB)	  /* of one stream, that waits for the peer's windows */
#define H2_PENDING_MAX (64 * KiB) /* frames that wait for the socket, before more are made */
#define H2_TABLE_MAX 4096	  /* of HPACK, either way */
#define H2_CONTROL_BURST 1000	  /* frames that carry nothing; see gateway/h2/h2-budget.c */
#define H2_CONTROL_PER_S 100
#define H2_RESETS_BURST 200 /* streams that the peer takes back */
#define H2_RESETS_PER_S 20
#define H2_ORIGINS_MAX 64   /* servers whose protocol is known, */
#define H2_ORIGIN_MS 600000 /* for this long */
#define H2_UPS_MAX 128	    /* connections to servers */
