#pragma once

#include "base/buf.h"

/*
 * Certificates to trust as a keystore of Java (JKS), which every version reads at the place of its
 * `cacerts`, whatever the type there was before: PEM in, one entry for each certificate out, under
 * the usual password, which keeps nothing secret. -ENOBUFS: it does not fit.
 */
int keystore_of(const char *pem, struct buf *ret);
