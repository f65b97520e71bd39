#pragma once

#include "base/err.h"
#include "base/strv.h"

/*
 * The certificate of a page that another machine may open. One of ralph's own lies in a directory
 * of its state and stays the same, so that a browser which was told to trust it once goes on to.
 */
#define TLS_CERT_FILE "cert.pem"
#define TLS_KEY_FILE "key.pem"
#define TLS_CERT_DAYS 820

/* Makes both files for these names and addresses, where they are not there or end within a month. */
int tls_cert_make(int dir, const struct strv *hosts, struct err *err);
/* SHA-256 of the first certificate of a file, as browsers show it: "AB:CD:…". */
#define TLS_FINGERPRINT_SIZE 96
int tls_cert_fingerprint(const char *pem, size_t n, char ret[TLS_FINGERPRINT_SIZE],
			 struct err *err);
