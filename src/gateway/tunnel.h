#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* One direction of an opaque tunnel. */
struct pump {
	struct buf pending; /* read, not yet written */
	int pipe[2];	    /* while bytes are in it; else -1 */
	size_t in_pipe;
	size_t run; /* bytes of large reads in a row: bulk is spliced */
	bool done;  /* the end has been passed on */
};

struct tunnel {
	bool active;
	bool check;    /* the client's first bytes are held until they have been judged */
	bool tls_only; /* port 443: nothing but TLS passes */
	bool probed;   /* it was silent for long: TCP keep-alive watches both ends */
	struct pump up, down;
};
