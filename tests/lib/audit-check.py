"""audit-check.py AUDIT FACTS: does the audit (JSON) say what a sandbox really has?

FACTS is a directory with what was read inside: mountinfo, environ, tcp, tcp6, udp, dev (of /proc).
Both ways: everything inside is in the audit, and everything in the audit is inside. Prints each
difference; exits 1 on any.
"""
import ipaddress
import json
import os
import re
import stat
import struct
import sys

audit = json.load(open(sys.argv[1], encoding="utf-8"))
facts = sys.argv[2]
bad = []

# What bwrap makes of its own accord where the spec asks for a /dev and a /proc.
DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "pts", "console"}


def read(name, mode="r"):
    with open(os.path.join(facts, name), mode) as f:
        return f.read()


def mounts_inside():
    """target: (writable, type, root, device), the uppermost mount of each target."""
    found = {}
    for line in read("mountinfo").splitlines():
        head, _, tail = line.partition(" - ")
        _, _, device, root, target, options = head.split()[:6]
        target = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), target)
        found[target] = ("rw" in options.split(","), tail.split()[0], root, device)
    return found


def mounts_audited():
    """The same from the audit: target: (writable, type or None)."""
    want = {"/": (True, "tmpfs")}
    for m in audit["mounts"]:
        kind, target = m["kind"], m["target"]
        if kind in ("ro", "rw"):
            want[target] = (kind == "rw", None)
            for sub in m.get("below", []):
                want[target + sub[len(m["source"]):]] = (kind == "rw", None)
        elif kind in ("pin", "protect", "hide"):
            want[target] = (kind == "pin", None)
        elif kind == "volume":
            want[target] = (True, None)
        elif kind == "tmpfs":
            want[target] = (True, "tmpfs")
        elif kind == "mask":
            directory = stat.S_ISDIR(m.get("mode", 0))
            want[target] = (False, "tmpfs" if directory else None)
        elif kind == "proc":
            want[target] = (True, "proc")
        elif kind == "dev":
            want[target] = (True, "tmpfs")
        elif kind == "remount-ro":
            want[target] = (False, want.get(target, (False, None))[1])
        elif kind not in ("symlink", "home-link", "home-file", "home-seed", "file", "copy", "dir", "image"):
            bad.append(f"unknown kind of mount in the audit: {kind}")
    return want


def belongs_to_engine(target, root):
    if target.startswith("/dev/"):
        return target[len("/dev/"):] in DEVICES
    # A part of the same /proc, made read-only.
    return target.startswith("/proc/") and root == target[len("/proc"):]


def parts_of_image(inside, want):
    """Where there is an image: read-only mounts of one file system, each at its own place."""
    if not any(m["kind"] == "image" for m in audit["mounts"]):
        return set()
    parts = {t: m for t, m in inside.items() if t not in want and not m[0] and m[2] == t}
    devices = {m[3] for m in parts.values()}
    written = {m[3] for m in inside.values() if m[0]}
    return set(parts) if len(devices) == 1 and not devices & written else set()


def check_mounts():
    inside, want = mounts_inside(), mounts_audited()
    image = parts_of_image(inside, want)
    for target, (writable, fstype, root, _) in sorted(inside.items()):
        if target not in want:
            if target not in image and not belongs_to_engine(target, root):
                bad.append(f"mounted inside, not in the audit: {target}")
            continue
        if writable != want[target][0]:
            bad.append(f"{target}: writable is {writable} inside, {want[target][0]} in the audit")
        if want[target][1] and fstype != want[target][1]:
            bad.append(f"{target}: is a {fstype} inside, {want[target][1]} in the audit")
    for target in sorted(set(want) - set(inside)):
        bad.append(f"in the audit, not mounted inside: {target}")


def mask(text):
    return "***" if len(text) < 16 else text[:4] + "…"


def check_env():
    inside = dict(e.split("=", 1) for e in read("environ").split("\0") if e)
    want = {e["name"]: e for e in audit["env"]}
    for name in sorted(set(inside) ^ set(want)):
        where = "the audit" if name in inside else "the environment"
        bad.append(f"variable {name} is not in {where}")
    for name in sorted(set(inside) & set(want)):
        if want[name].get("credential"):
            # A phantom is made at each start: the rest of the value must be as it was told.
            before, _, after = want[name]["value"].partition("{phantom}")
            if not inside[name].startswith(before) or not inside[name].endswith(after):
                bad.append(f"variable {name} does not hold a phantom as the audit says")
            continue
        value = mask(inside[name]) if want[name].get("masked") else inside[name]
        if value != want[name]["value"]:
            bad.append(f"variable {name} is {value!r}, in the audit {want[name]['value']!r}")


def address(text):
    words = [struct.pack("<I", int(text[i:i + 8], 16)) for i in range(0, len(text), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def sockets_inside():
    found = set()
    for name, proto, states in (("tcp", "tcp", {"0A"}), ("tcp6", "tcp", {"0A"}), ("udp", "udp", {"07"})):
        for line in read(name).splitlines()[1:]:
            field = line.split()
            if field[3] in states:
                addr, port = field[1].split(":")
                found.add((proto, address(addr), int(port, 16)))
    return found


def check_net():
    want = {
        ("udp" if s["kind"] == "dns-udp" else "tcp", str(ipaddress.ip_address(s["address"])), s["port"])
        for s in audit["network"]["sockets"]
    }
    inside = sockets_inside()
    for s in sorted(inside - want):
        bad.append(f"socket inside, not in the audit: {s}")
    for s in sorted(want - inside):
        bad.append(f"socket in the audit, not inside: {s}")
    links = [line.split(":")[0].strip() for line in read("dev").splitlines()[2:]]
    if links != ["lo"]:
        bad.append(f"network interfaces inside: {links}")


check_mounts()
check_env()
check_net()
print("\n".join(bad))
sys.exit(1 if bad else 0)
