#pragma once

#include "policy/policy.h"
#include "spec/spec.h"
#include "wire/gateway-proto.h"

/* The spec's network in the forms that the other layers speak. */

/* The sockets that the guest opens for its gateway, on this kernel: see net-listeners.h. The caller
 * frees them. */
int net_sockets(const struct net_policy *net, struct gw_listener **ret, size_t *ret_n,
		struct err *err);
bool net_has_ipv6(void); /* this kernel */
/* Does it name a service of this machine's own loopback? */
bool net_rule_is_service(const struct net_rule *rule);

/* The path of the CA bundle inside, for programs that take it from an environment variable. */
#define NET_CA_BUNDLE "/run/ralph/ca-bundle.pem"
/* The certificate of the sandbox's own CA alone. */
#define NET_CA_OWN "/run/ralph/ca.pem"
/* The supervisor writes these into the sandbox's directory, with the bundle. */
#define NET_CA_OWN_FILE "ca.pem"
#define NET_CA_POLICY_FILE "ca-policy.json" /* of Chromium: CACertificates */
/* In the record, where the supervisor writes them. */
#define NET_CA_BUNDLE_FILE "ca-bundle.pem"
#define NET_CA_JAVA_FILE "ca-java.jks"
