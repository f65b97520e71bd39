#pragma once

#include "base/err.h"

/*
 * Host names in other scripts, for configuration only (host.h says why). A library of its own,
 * policy_idna, so that only programs that read what people wrote load libidn2.
 *
 * The text, a pattern or a host, with every non-ASCII name in its ASCII form by IDNA 2008 with the
 * UTS 46 mapping, non-transitional: '*.bücher.example:443' becomes
 * '*.xn--bcher-kva.example:443'. ASCII text is copied unchanged. Full-width digits and dots become
 * plain ones, so that what they spell is judged like any other spelling.
 */
int idna_to_ascii(const char *text, char **ret, struct err *err);
