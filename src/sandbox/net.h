#pragma once

#include "policy/policy.h"
#include "spec/spec.h"
#include "wire/gateway-proto.h"

/* The spec's network in the forms that the other layers speak. */

/* As decisions are made; a rule that policy/ does not take is an error with exit code 2. */
int net_policy(const struct spec_net *net, struct policy **ret, struct err *err);
/* As it travels to the gateway. */
void net_to_gw(const struct spec_net *net, struct gw_policy *ret);
/* And back, when a command line changes the rules of a live sandbox. */
void net_from_gw(const struct gw_policy *p, struct sandbox_spec *spec);
/* Does any rule need TLS to be terminated? Then the sandbox gets a CA of its own to trust. */
bool net_inspects(const struct spec_net *net);

/* Where the CA bundle lies inside, for programs that are told by a variable. */
#define NET_CA_BUNDLE "/run/ralph/ca-bundle.pem"
