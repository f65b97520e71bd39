#pragma once

#include "flow/gw.h"

/* DNS of the sandbox: stand-in addresses for names that policy allows, NXDOMAIN for the rest. */

/* Serves what waits on this UDP socket. */
void dns_datagrams(struct gw *gw, int fd);
/* A connection to the TCP port; takes fd. */
void dns_accept(struct gw *gw, int fd);
