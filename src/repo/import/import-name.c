#include "repo/import/import.h"

#include <string.h>

#include "repo/wide/wide.h"

size_t import_hex_len(const struct import *im)
{
	return im->wide ? WIDE_HEX : GIT_OID_HEXSZ;
}

const char *import_hex(const struct import *im, const git_oid *oid, struct import_hex *h)
{
	if (git_oid_is_zero(oid))
		return "-";
	if (!im->wide)
		return git_oid_tostr(h->v, GIT_OID_HEXSZ + 1, oid);
	/* Whoever has an object has read its name somewhere. */
	return wide_hex(im->wide, oid, h->v) ? h->v : "?";
}

bool import_oid(const struct import *im, const char *text, git_oid *ret)
{
	if (strlen(text) < import_hex_len(im))
		return false;
	return im->wide ? wide_oid(im->wide, text, ret)
			: git_oid_fromstrn(ret, text, GIT_OID_HEXSZ) == 0;
}
