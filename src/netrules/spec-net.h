#pragma once

#include "policy/policy.h"
#include "spec/spec.h"
#include "wire/gateway-proto.h"

/* The spec's network in the forms that the other layers speak. */

/* As decisions are made; a rule that policy/ does not take is an error with exit code 2. */
int net_policy(const struct spec_net *net, struct policy **ret, struct err *err);
/* The sockets that the guest opens for its gateway, on this kernel: see net-listeners.h. The caller
 * frees them. */
int net_sockets(const struct spec_net *net, struct gw_listener **ret, size_t *ret_n,
		struct err *err);
bool net_has_ipv6(void); /* this kernel */
/* Does it name a service of this machine's own loopback? */
bool net_rule_is_service(const struct spec_net_rule *rule);
/* As it travels to the gateway. */
void net_to_gw(const struct spec_net *net, struct gw_policy *ret);
/* And back, when a command line changes the rules of a live sandbox. */
void net_from_gw(const struct gw_policy *p, struct sandbox_spec *spec);
/* Does any rule need TLS to be terminated? Then the sandbox gets a CA of its own to trust. */
bool net_inspects(const struct spec_net *net);

/* Where the CA bundle lies inside, for programs that are told by a variable. */
#define NET_CA_BUNDLE "/run/ralph/ca-bundle.pem"
