#pragma once

#include "base/buf.h"
#include "policy/policy.h"

/*
 * Requests to inspected hosts: method, path and git operation.
 *
 * If a rule decides by path, the decision and the server must read the same path. So the target is
 * normalized and judged, and the normalized form is sent on: escapes of unreserved characters are
 * decoded (%61 is a), the other escapes are written in upper case, and "/./" becomes "/". Spellings
 * that servers disagree about are refused instead of repaired: empty segments ("//"), ".." in any
 * spelling (also before a ';', as "." is), '\', %5c, %00 and other control bytes, escapes that are
 * not UTF-8 in its shortest form, characters that are folded to a dot, a slash, a backslash or a
 * percent sign (full-width ones), an escaped percent that hides one of these, bad escapes. "%2f" stays as it is, since registries use it inside names: for a prefix it is a
 * character like any other (a path that matches also matches with a slash in its place), while for
 * empty and dot segments it counts as a slash. When no rule of the host looks at paths, the target
 * passes unchanged.
 *
 * A prefix ends at a segment: '/v1' covers /v1 and /v1/x, not /v10; '/v1/' covers what is below.
 * The query is not part of it. GET allows HEAD. CONNECT is never a request to an inspected host.
 *
 * git: "fetch" allows the two requests of a smart fetch (GET …/info/refs?service=git-upload-pack
 * and POST …/git-upload-pack) of any repository of that host, "fetch OWNER/REPO" of one; "push
 * OWNER/REPO" the same two with git-receive-pack, and fetching, of that one, with or without
 * ".git". A rule with git and nothing else allows nothing but these; dumb HTTP and LFS are then
 * refused. When a rule has git, that alone decides git requests, whatever its methods and paths
 * would say.
 *
 * Of several rules that allow a request, the one that describes it most narrowly is its rule: for
 * git the one that names the repository, else the one with the longest prefix, then the one that
 * names methods. The request carries the credential of that rule, or none if it names none. Of equals
 * the one with a credential is used; equals with different credentials refuse the request. So does a
 * path that would carry another credential, or none, if a server read it less strictly: "%2f" as a
 * slash, without the parameters of a segment (";v=1"), without regard to capitals.
 */
#define REQUEST_TARGET_MAX (16 * KiB)

/* `v` is the allowing, inspecting verdict of policy_name(). ret_target receives the target to send
 * (origin-form), on allow only; it should have room for REQUEST_TARGET_MAX. */
void policy_request(const struct policy *p, const struct verdict *v, const struct host *h,
		    uint16_t port, const char *method, const char *target, size_t target_n,
		    struct buf *ret_target, struct verdict *ret);
/* The credential of the rule that allowed the request, by the verdict of policy_request(); NULL: it
 * has none. */
const char *policy_credential(const struct policy *p, const struct verdict *v);
/* Does the rule of that verdict decide by paths? */
bool policy_by_path(const struct policy *p, const struct verdict *v);
/* Does any rule give requests to this host a credential, on whatever port? */
bool policy_has_credential(const struct policy *p, const struct host *h);

/* The canonical form of an origin-form target, path and query, appended to ret; ret_path_n is the
 * length of its path. -EINVAL: not a path, or one that can be read in two ways; -ENOBUFS. */
int request_canon(const char *target, size_t n, struct buf *ret, size_t *ret_path_n);

/* Checks the lists of a rule and brings them into canonical form; exit code 2. */
int request_read_lists(struct net_rule *rule, struct err *err);
