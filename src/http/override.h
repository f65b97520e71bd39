#pragma once

#include "http/slice.h"

/*
 * Fields by which frameworks and proxies let a client name another method, path or host than the
 * request itself does. A decision about a request holds only without them. '_' counts as '-', which
 * CGI-like servers do not tell apart.
 */
bool override_is(struct slice name);
/*
 * Fields that name a second path, to copy from or to: Destination of WebDAV, x-amz-copy-source and
 * its like of other stores. A decision by path holds only for requests without them.
 */
bool override_names_path(struct slice name);
