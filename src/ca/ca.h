#pragma once

/*
 * ROOM: ca
 *
 * The certificate authority of one sandbox, a program of its own. Its key is in no file and no
 * other process.
 */

#include "base/buf.h"
#include "base/err.h"

/*
 * The certificate authority of one sandbox: made in memory, never written anywhere, gone with its
 * process (libexec/ralph/ca, which the supervisor starts with a sandbox that has a rule which
 * inspects; loading OpenSSL into the supervisor itself would cost every start). Its key never
 * leaves that process; leaves and their keys do, and live for CA_LEAF_HOURS.
 */
#define CA_DAYS 90
#define CA_LEAF_HOURS 24

struct ca;

struct ca *ca_new(const char *sandbox, struct err *err);
struct ca *ca_free(struct ca *ca);

static inline void ca_freep(struct ca **ca)
{
	(void)ca_free(*ca);
}

/* The certificate that clients inside are told to trust, as PEM. */
int ca_certificate(const struct ca *ca, struct buf *ret, struct err *err);
/* A certificate and key for one host, a name or an address in canonical form, as PEM. */
int ca_leaf(const struct ca *ca, const char *host, struct buf *ret_cert, struct buf *ret_key,
	    struct err *err);
