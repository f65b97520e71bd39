#pragma once

#include "base/buf.h"
#include "edge/parse/server-hello.h"

#include <stdbool.h>
#include <stdint.h>

struct tunnel;

/* One direction of an opaque tunnel. */
struct pump {
	struct buf pending; /* read, not yet written */
	int pipe[2];	    /* while bytes are in it; else -1 */
	size_t in_pipe;
	size_t run;	       /* bytes of large reads in a row: bulk is spliced */
	bool done;	       /* the end has been passed on */
	bool untuned;	       /* see tune() */
	struct tunnel *tunnel; /* NULL, or whose `said` is told by what passes */
};

struct tunnel {
	bool check;    /* the client's next bytes are held until they have been judged */
	bool answer;   /* they wait in the kernel until the server has answered a ClientHello */
	bool retried;  /* the server asked for another ClientHello, which is judged too */
	bool early;    /* the first ClientHello announced early data */
	bool tls_only; /* port 443: nothing but TLS passes */
	bool probed;   /* it was silent for long: TCP keep-alive watches both ends */
	struct pump up, down;
	struct server_hello hello;
	enum server_hello_kind said; /* by the server, since its bytes are watched */
};
