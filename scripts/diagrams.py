#!/usr/bin/python3
"""diagrams.py [--check]: the pictures of docs/how-it-works.md, as docs/images/how-*.svg; with --check, are they what this writes?

A picture is areas (what runs where), boxes (programs, files) and arrows between boxes. Places are given by hand, in units of U pixels: a picture
that a person arranged says more than one that was laid out by a program.
"""
import os
import sys
from html import escape

U = 10
LINE = 15  # between lines of text
STYLE = """
.page { fill: #ffffff; }
.area { fill: #f3f5f8; stroke: #c3cad5; }
.inside { fill: #fff4e0; stroke: #d9a441; }
.box { fill: #ffffff; stroke: #5b6b82; }
.wall { fill: #e3edff; stroke: #3b6fd4; }
.secret { fill: #ffe3e3; stroke: #c94444; }
.file { fill: #eef6ea; stroke: #6a9a54; }
text { font: 12px ui-sans-serif, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1c2430; }
.title { font-weight: 600; fill: #4a5768; }
.strong { font-weight: 600; }
.label { font-size: 11px; fill: #38465a; }
.line { stroke: #5b6b82; stroke-width: 1.4; fill: none; }
.tip { fill: #5b6b82; }
.dash { stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
.page { fill: #10151c; }
.area { fill: #18202a; stroke: #3a4655; }
.inside { fill: #2b2312; stroke: #a67c2b; }
.box { fill: #10151c; stroke: #8fa0b8; }
.wall { fill: #14264a; stroke: #6d9bf1; }
.secret { fill: #3d1717; stroke: #e07a7a; }
.file { fill: #17291a; stroke: #7fb46a; }
text { fill: #e4eaf2; }
.title { fill: #aab8ca; }
.label { fill: #b9c6d6; }
.line { stroke: #9aabc2; }
.tip { fill: #9aabc2; }
}
"""


class Picture:
    def __init__(self, name, width, height, alt):
        self.name, self.width, self.height, self.alt = name, width * U, height * U, alt
        self.areas, self.shapes, self.lines, self.places = [], [], [], {}

    def area(self, x, y, w, h, title, kind="area"):
        self.areas.append(f'<rect class="{kind}" x="{x * U}" y="{y * U}" width="{w * U}" height="{h * U}" rx="8"/>'
                          f'<text class="title" x="{x * U + 10}" y="{y * U + 18}">{escape(title)}</text>')

    def box(self, key, x, y, w, h, text, kind="box"):
        """The first line of the text is its name."""
        lines = text.split("\n")
        self.places[key] = (x * U, y * U, w * U, h * U)
        top = y * U + h * U / 2 - (len(lines) - 1) * LINE / 2 + 4
        out = [f'<rect class="{kind}" x="{x * U}" y="{y * U}" width="{w * U}" height="{h * U}" rx="5"/>']
        for n, line in enumerate(lines):
            style = ' class="strong"' if n == 0 else ""
            out.append(f'<text{style} x="{(x + w / 2) * U:g}" y="{top + n * LINE:g}" text-anchor="middle">{escape(line)}</text>')
        self.shapes.append("".join(out))

    def edge(self, key, other):
        """Where a line from this box to the middle of the other leaves it."""
        x, y, w, h = self.places[key]
        ox, oy, ow, oh = self.places[other]
        cx, cy = x + w / 2, y + h / 2
        # Boxes that overlap in one direction are joined straight in the other.
        left, right = max(x, ox), min(x + w, ox + ow)
        upper, lower = max(y, oy), min(y + h, oy + oh)
        if right - left > 10:
            return (left + right) / 2, (y + h if oy > y else y)
        if lower - upper > 10:
            return (x + w if ox > x else x), (upper + lower) / 2
        tx, ty = ox + ow / 2 - cx, oy + oh / 2 - cy
        scale = min(w / 2 / abs(tx) if tx else 9e9, h / 2 / abs(ty) if ty else 9e9)
        return cx + tx * scale, cy + ty * scale

    def arrow(self, start, end, label="", dash=False, both=False, shift=0, at=0.5, dy=0):
        x1, y1 = self.edge(start, end)
        x2, y2 = self.edge(end, start)
        if abs(x1 - x2) < 1:
            x1, x2 = x1 + shift, x2 + shift
        else:
            y1, y2 = y1 + shift, y2 + shift
        tips = 'marker-end="url(#tip)"' + (' marker-start="url(#tip)"' if both else "")
        self.lines.append(f'<path class="line{" dash" if dash else ""}" d="M{x1:g} {y1:g} L{x2:g} {y2:g}" {tips}/>')
        if not label:
            return
        x, y = x1 + (x2 - x1) * at, y1 + (y2 - y1) * at
        upright = abs(x1 - x2) < 1
        rows = label.split("\n")
        for n, row in enumerate(rows):
            place = (f'x="{x + 7:g}" y="{y + 4 + dy + (n - (len(rows) - 1) / 2) * 13:g}"' if upright
                     else f'x="{x:g}" y="{y - 6 + dy - (len(rows) - 1 - n) * 13:g}" text-anchor="middle"')
            self.lines.append(f'<text class="label" {place}>{escape(row)}</text>')

    def note(self, x, y, text):
        for n, row in enumerate(text.split("\n")):
            self.lines.append(f'<text class="label" x="{x * U}" y="{y * U + n * 14}">{escape(row)}</text>')

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img"><title>{escape(self.alt)}</title>',
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
            f'<rect class="page" width="{self.width}" height="{self.height}" rx="10"/>',
            *self.areas, *self.shapes, *self.lines, "</svg>\n"])


def start():
    p = Picture("start", 78, 35, "the start of a native sandbox: two processes side by side, which meet at the list of mounts")
    p.area(1, 1, 76, 15, "ralph run: what it takes to know the sandbox")
    p.box("ralph", 3, 5, 10, 6, "ralph\nstatic, forks")
    p.box("cli", 20, 5, 14, 6, "cli\nsettings, trust")
    p.box("spec", 41, 5, 14, 6, "spec\nthe whole truth\nabout the sandbox", "wall")
    p.box("sup", 62, 5, 13, 6, "supervisor\nlocks, record")
    p.area(1, 18, 76, 16, "meanwhile: what is the same for every sandbox", "inside")
    p.box("launch", 3, 23, 16, 7, "guest launch\nuser, pid, ipc, uts\nand mount namespaces")
    p.box("guest", 23, 23, 14, 7, "guest\npid 1; own network,\nonly lo")
    p.box("root", 43, 23, 13, 7, "new root\nmounts of the list\npivot_root")
    p.box("conf", 62, 23, 13, 7, "confined\nno capability,\nLandlock, seccomp", "wall")
    p.arrow("ralph", "cli", "exec")
    p.arrow("ralph", "launch", "fork")
    p.arrow("cli", "spec")
    p.arrow("spec", "sup", "start")
    p.arrow("launch", "guest")
    p.arrow("guest", "root")
    p.arrow("root", "conf")
    p.arrow("sup", "root", "the list of mounts", at=0.42, dy=-4)
    p.arrow("conf", "sup", "up", shift=30)
    p.note(17, 14, "audit, --dry-run, inspect and the self-test are all made from the spec")
    return p


def exec_():
    p = Picture("exec", 78, 27, "exec: the three descriptors travel to the sandbox, the bytes do not pass through ralph")
    p.area(1, 1, 50, 25, "host")
    p.area(53, 1, 24, 25, "sandbox", "inside")
    p.box("term", 3, 5, 12, 5, "your shell\nfiles, pipes")
    p.box("cli", 3, 16, 12, 7, "ralph exec\nwaits, passes\nsignals on")
    p.box("sup", 31, 16, 14, 7, "supervisor\none per sandbox")
    p.box("guest", 55, 16, 12, 7, "guest\npid 1, forks")
    p.box("minder", 69, 16, 7, 7, "minder\nreaps all")
    p.box("cmd", 58, 5, 17, 5, "command\ndescriptors 0, 1, 2", "wall")
    p.arrow("term", "cli")
    p.arrow("cli", "sup", "request +\n3 descriptors")
    p.arrow("sup", "guest", "the same")
    p.arrow("guest", "minder")
    p.arrow("minder", "cmd", "exec")
    p.arrow("cmd", "term", "the bytes: the same open files, nothing in between", both=True)
    p.note(3, 25, "a terminal is not handed in: the sandbox has one of its own, relayed and filtered")
    return p


def network():
    p = Picture("network", 78, 32, "network: sockets that were made inside are served outside, by the gateway")
    p.area(1, 1, 27, 30, "sandbox: lo and nothing else", "inside")
    p.area(30, 1, 47, 30, "host")
    p.box("prog", 3, 5, 23, 5, "any program\nconnects to a proxy, or to a name")
    p.box("lis", 3, 14, 23, 7, "listening sockets\nproxy 127.0.0.1:3128, DNS,\n80 and 443 on every address")
    p.box("sup", 33, 24, 18, 5, "supervisor\nstarts it on first use")
    p.box("gw", 33, 11, 18, 10, "gateway\n1. name allowed?\n2. look it up\n3. address allowed?\n4. dial, check TLS", "wall")
    p.box("pol", 56, 4, 19, 5, "rules\ntier, allow, deny", "file")
    p.box("srv", 60, 13, 15, 5, "server\nallowed")
    p.box("log", 56, 24, 19, 5, "events.jsonl\nevery decision", "file")
    p.arrow("prog", "lis")
    p.arrow("lis", "gw", "accepts", shift=-10)
    p.arrow("pol", "gw")
    p.arrow("gw", "srv", "TLS for\nthat name")
    p.arrow("sup", "gw")
    p.arrow("sup", "log", "", dash=True)
    p.note(3, 24, "no route, no other interface,\nno unix socket, no helper inside:\nnothing in there can be killed\nor talked over to get out")
    p.note(53, 21, "a refusal: 403 and why")
    return p


def credentials():
    p = Picture("credentials", 78, 30, "credentials: a phantom inside, the real key outside")
    p.area(1, 1, 20, 28, "sandbox", "inside")
    p.area(23, 1, 36, 28, "host")
    p.box("agent", 3, 9, 14, 6, "agent\nhas a phantom:\na random word")
    p.box("gw", 26, 9, 14, 6, "gateway\nphantom right?\nrequest allowed?", "wall")
    p.box("sup", 26, 19, 14, 6, "supervisor\njudges again,\nholds no key")
    p.box("cred", 45, 19, 12, 6, "cred\nkeys, logins,\nsignatures", "secret")
    p.box("fetch", 45, 4, 12, 4, "fetch\none renewal")
    p.box("prov", 63, 9, 13, 6, "provider\nsees the real\nkey")
    p.box("files", 63, 19, 13, 6, "your logins\n~/.claude, aws,\nkeyring", "secret")
    p.arrow("agent", "gw", "request with\nthe phantom")
    p.arrow("gw", "prov", "real field set", at=0.25)
    p.arrow("gw", "sup", "which field?", shift=-20)
    p.arrow("sup", "gw", "", shift=45)
    p.arrow("sup", "cred", "", both=True)
    p.arrow("files", "cred")
    p.arrow("cred", "fetch", dash=True)
    p.note(3, 20, "anywhere else the\nphantom is worth\nnothing: refused,\nand on record")
    return p


def workspace():
    p = Picture("workspace", 78, 29, "the protected workspace: what the host would run is read-only, and what appears is moved to quarantine")
    p.area(1, 1, 44, 27, "workspace, as the sandbox sees it", "inside")
    p.area(47, 1, 30, 27, "host")
    p.box("src", 3, 5, 18, 6, "sources, tests, objects\nread and written")
    p.box("prot", 3, 14, 18, 8, "hooks, git settings,\n.vscode, .envrc, .claude …\nbound on themselves,\nread-only", "wall")
    p.box("env", 25, 5, 18, 6, ".env, *.pem\nempty: not to be read", "secret")
    p.box("new", 25, 14, 18, 8, "something new\nthat the host\nwould run", "secret")
    p.box("watch", 50, 5, 24, 6, "watch\nafter each command, and inotify", "wall")
    p.box("walk", 50, 13, 24, 5, "walk\nwhen everything has ended", "wall")
    p.box("quar", 50, 21, 24, 5, "quarantine\nshown, kept, can be released", "file")
    p.arrow("watch", "new", "finds", at=0.45)
    p.arrow("walk", "new")
    p.arrow("new", "quar", "moved", at=0.5, dy=18)
    p.note(3, 25, "directories above a protected file cannot be renamed away")
    return p


def loop():
    p = Picture("loop", 78, 31, "the loop: the agent proposes, the host decides on its own copy")
    p.area(1, 1, 25, 29, "host: canonical state")
    p.area(28, 1, 26, 29, "sandbox, new for each iteration", "inside")
    p.area(56, 1, 21, 29, "host: decides")
    p.box("list", 3, 4, 21, 5, "the list of work\nprd.json, plan, issues", "file")
    p.box("state", 3, 12, 21, 5, "state and journal\nwhat is done, what is begun", "file")
    p.box("next", 3, 21, 21, 6, "next task\nready, lowest priority,\nwithin the limits")
    p.box("agent", 30, 4, 22, 6, "a fresh agent\nprompt, one task, what\nfailed the last time")
    p.box("claim", 30, 13, 22, 5, "says: done\nand has committed")
    p.box("verify", 30, 21, 22, 6, "verify commands\nof the list and the task", "wall")
    p.box("check", 58, 4, 17, 6, "commits checked\nauthor, paths, size,\nsecrets, history", "wall")
    p.box("verdict", 58, 13, 17, 5, "verdict\na table of facts", "wall")
    p.box("settle", 58, 21, 17, 6, "settled\nin one write; then\nthe list is marked")
    p.arrow("list", "state")
    p.arrow("state", "next")
    p.arrow("next", "agent")
    p.arrow("agent", "claim")
    p.arrow("claim", "check")
    p.arrow("claim", "verify")
    p.arrow("check", "verdict")
    p.arrow("verify", "verdict")
    p.arrow("verdict", "settle")
    return p


def events():
    p = Picture("events", 78, 22, "the event log: each record carries a hash over the one before")
    p.area(1, 1, 17, 20, "sandbox", "inside")
    p.area(20, 1, 57, 20, "host: the sandbox's record")
    p.box("cmd", 3, 5, 13, 5, "commands\nrequests")
    p.box("sup", 23, 5, 14, 5, "supervisor\nthe only writer", "wall")
    p.box("r1", 23, 13, 14, 5, "record 1\nchain: h1", "file")
    p.box("r2", 41, 13, 14, 5, "record 2\nchain: h2", "file")
    p.box("r3", 59, 13, 15, 5, "record 3\nchain: h3", "file")
    p.box("head", 59, 5, 15, 5, "events.head\nlast number and hash", "file")
    p.arrow("cmd", "sup", "seen,\nnot told")
    p.arrow("sup", "r1")
    p.arrow("r1", "r2", "h1 in")
    p.arrow("r2", "r3", "h2 in")
    p.arrow("r3", "head")
    p.note(3, 14, "nothing inside can\nreach the file; floods\nare counted")
    return p


def engines():
    p = Picture("engines", 78, 31, "engines: one spec, and who makes what of it")
    p.box("spec", 1, 1, 76, 5, "spec\none description of the sandbox", "wall")
    p.area(1, 9, 18, 21, "native")
    p.area(20, 9, 19, 21, "docker, podman")
    p.area(40, 9, 18, 21, "sbx")
    p.area(59, 9, 18, 21, "--no-sandbox")
    p.box("n1", 3, 13, 14, 5, "guest launch\nnamespaces")
    p.box("n2", 3, 22, 14, 6, "guest\nroot, sockets,\nfilters", "inside")
    p.box("d1", 22, 13, 15, 5, "runtime\ncontainer, image")
    p.box("d2", 22, 22, 15, 6, "guest\nroot, sockets,\nfilters", "inside")
    p.box("s1", 42, 13, 14, 5, "sbx\na machine")
    p.box("s2", 42, 22, 14, 6, "no guest\nits own policy;\nphantom by port", "inside")
    p.box("x1", 61, 13, 14, 5, "you\nonly when typed", "secret")
    p.box("x2", 61, 22, 14, 6, "agent\nblocklist asked\nbefore each tool", "secret")
    for a, b in (("n1", "n2"), ("d1", "d2"), ("s1", "s2"), ("x1", "x2"), ("spec", "n1"), ("spec", "d1"), ("spec", "s1"), ("spec", "x1")):
        p.arrow(a, b, shift=40 if a == "spec" else 0)
    return p


def fleet():
    p = Picture("fleet", 78, 33, "many machines: the loop and the logins stay at home, a worker with one task is on each node")
    p.area(1, 1, 33, 31, "home")
    p.area(38, 1, 39, 31, "node: Slurm, Kubernetes, ssh")
    p.box("loop", 3, 5, 13, 7, "loop\nqueue, leases,\nmerges", "wall")
    p.box("place", 20, 5, 12, 7, "placement\nsrun, kubectl,\nssh", "box")
    p.box("check", 3, 15, 13, 7, "checks\ncommits judged\nagain, verified", "wall")
    p.box("cred", 20, 15, 12, 7, "cred\nkeys, logins,\nsignatures", "secret")
    p.box("spool", 3, 25, 13, 5, "spool\nresults on disk", "file")
    p.box("worker", 41, 5, 14, 7, "ralph worker\none task, a lease,\nno key")
    p.box("nloop", 60, 5, 15, 7, "loop\nthe task alone,\nlimits, checks", "wall")
    p.box("gw", 41, 18, 14, 7, "gateway\nrules, phantom", "wall")
    p.box("agent", 60, 18, 15, 7, "agent\nin a sandbox", "inside")
    p.arrow("loop", "place", "starts")
    p.arrow("place", "worker", "one stream", both=True)
    p.arrow("worker", "nloop")
    p.arrow("nloop", "agent")
    p.arrow("agent", "gw")
    p.arrow("gw", "worker", "asks")
    p.arrow("place", "cred", "questions", both=True)
    p.arrow("spool", "check")
    p.arrow("check", "loop", "merge")
    p.note(19, 25, "the node's word is checked\nlike an agent's; a lease\nthat ended is dropped")
    p.note(41, 29, "silence longer than the lease: the worker ends its agent")
    return p


def main():
    check, bad = sys.argv[1:] == ["--check"], 0
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "images")
    for make in (start, exec_, network, credentials, workspace, loop, fleet, events, engines):
        picture = make()
        path = os.path.join(here, f"how-{picture.name}.svg")
        if not check:
            with open(path, "w", encoding="utf-8") as f:
                f.write(picture.svg())
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != picture.svg():
            print(f"{os.path.relpath(path)}: not what scripts/diagrams.py writes; run it")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
