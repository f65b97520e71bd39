"""What the machines of fake-sbx may reach, by the rules that were given to it; see fake_sbx_net.py."""
import json
import os

BUILT_IN = ["github.com", "registry.example", "api.anthropic.com"]
CIDRS = ["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "::1/128",
         "fc00::/7", "fe80::/10"]
INSIDE = "127.0.0.2"  # where a machine finds its host
DNS = "127.0.0.53"


def split(rule):
    host, colon, port = rule.rpartition(":")
    return (host, port) if colon and port.isdigit() else (rule, "")


def in_range(rule, address):
    import ipaddress  # here: most calls of the command line look at no address

    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(rule)
    except ValueError:
        return False


def matches(rule, host, port):
    """A resource of `sbx policy`: host, host:port, *.x (one label), **.x, **, an address or a range."""
    rhost, rport = split(rule)
    if rport and rport != str(port):
        return False
    if rhost == "**" or in_range(rhost, host):
        return True
    if rhost.startswith("**."):
        return host.endswith(rhost[2:])
    if rhost.startswith("*."):
        return host.endswith(rhost[1:]) and "." not in host[:-len(rhost[1:])]
    return rhost == host


def sbx_allows(vm, standing, host, port, addresses):
    """Denials always win; a range is denied by the address as well."""
    if any(matches(r, name, port) for r in vm["deny"] for name in [host] + addresses):
        return False
    return any(matches(r, host, port) for r in standing + vm["allow"])


def plugin_rank(rule, host, port):
    """How specific a rule is that fits; 0: it does not. Wildcards do not hold for the domain itself."""
    rhost, rport = split(rule)
    if rport and rport != str(port):
        return 0
    if rhost == "*":
        return 1 + bool(rport)
    if rhost.startswith("*."):
        return 10 + len(rhost) if host.endswith(rhost[1:]) else 0
    return (2000 if rport else 1000) if rhost == host else 0


def plugin_allows(vm, host, port, addresses):
    """The most specific wins; then, where the host was not allowed by name, the blocked ranges."""
    p = vm["proxy"]
    allow = max((plugin_rank(r, host, port) for r in p["allow"]), default=0)
    built_in = max((plugin_rank(r, host, port) for r in BUILT_IN), default=0)
    block = max((plugin_rank(r, host, port) for r in p["block"]), default=0)
    if block and block >= max(allow, built_in):
        return False
    if allow >= 10:
        return True
    if not (allow or built_in or p["policy"] == "allow"):
        return False
    return not any(in_range(c, a) for c in CIDRS + p["cidr"] for a in addresses + [host])


class Rules:
    def __init__(self, base, name, kind):
        self.base, self.name, self.sbx = base, name, kind == "sbx"

    def vm(self):
        with open(os.path.join(self.base, "vms", self.name + ".json"), encoding="utf-8") as f:
            return json.load(f)

    def standing(self):
        try:
            with open(os.path.join(self.base, "policy.json"), encoding="utf-8") as f:
                word = json.load(f)["global"]
        except FileNotFoundError:
            word = modes(self.base).get("policy", "deny-all")
        return {"allow-all": ["**"], "balanced": BUILT_IN}.get(word, [])

    def allows(self, host, port, addresses=()):
        addresses = list(addresses)
        if self.sbx:
            return sbx_allows(self.vm(), self.standing(), host, port, addresses)
        return plugin_allows(self.vm(), host, port, addresses)

    def refusal(self, host):
        if self.sbx:
            status, body = "403 Forbidden", f"Blocked by network policy: domain {host}\nrule: default\n"
        else:
            status, body = "500 Internal Server Error", f"connection to {host} blocked by network policy\n"
        return (f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
                f"Connection: close\r\n\r\n{body}").encode()


def modes(base):
    try:
        with open(os.path.join(base, "mode"), encoding="utf-8") as f:
            return dict(line.strip().split("=", 1) for line in f if "=" in line)
    except FileNotFoundError:
        return {}
