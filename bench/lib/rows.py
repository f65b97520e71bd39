"""What a benchmark reports: rows against their bars, points of plots, peers that could not be had.

Printed for people, and with --json written for bench/run as one JSON object a line:
  {"row": ID, "part", "what", "peer", "unit", "ours": SPREAD, "theirs": SPREAD, "ratio": SPREAD, "rounds", "bar", "holds"}
  {"point": PLOT, "part", "tool", "x", "unit", "is": SPREAD, "rounds"}
  {"missing": PEER, "part", "why"}
  {"end": how many bars were missed}
where SPREAD is {"median", "p10", "p90"}.
"""
import argparse
import json
import os
import signal
import sys

from bars import BARS


def rounded(v):
    return float("%.4g" % v)


def spread(samples):
    s = sorted(samples)
    n = len(s)
    middle = s[n // 2] if n % 2 else (s[n // 2 - 1] + s[n // 2]) / 2
    return {"median": rounded(middle), "p10": rounded(s[n // 10]), "p90": rounded(s[n - 1 - n // 10])}


def ratios(form, ours, theirs):
    """Round by round where both have the same rounds, so that a slow moment of the machine meets both."""
    if len(ours) != len(theirs):
        ours, theirs = [spread(ours)["median"]], [spread(theirs)["median"]]
    how = {"times": lambda a, b: b / a, "extra": lambda a, b: a - b}.get(form, lambda a, b: a / b)
    return [how(a, b) for a, b in zip(ours, theirs)]


def holds(value, op, limit):
    return {">=": value >= limit, "<=": value <= limit, "<": value < limit}[op]


def show(s, unit):
    if s["p10"] == s["median"] == s["p90"]:
        return "%.4g %s" % (s["median"], unit)
    return "%.4g %s (%.4g-%.4g)" % (s["median"], unit, s["p10"], s["p90"])


class Report:
    def __init__(self, part, path=None):
        self.part = part
        self.file = open(path, "a", encoding="utf-8") if path else None
        self.missed = 0

    def write(self, record):
        if self.file:
            self.file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self.file.flush()

    def say(self, text):
        print(text, flush=True)

    def row(self, key, ours, theirs=None):
        bar = BARS[key]
        record = {"row": key, "part": self.part, "what": bar.what, "peer": bar.peer, "unit": bar.unit, "ours": spread(ours),
                  "theirs": spread(theirs) if theirs else None, "ratio": None, "rounds": len(ours), "bar": None, "holds": None}
        value = record["ours"]["median"]
        if bar.form != "value":
            record["ratio"] = spread(ratios(bar.form, ours, theirs))
            value = record["ratio"]["median"]
        if bar.op:
            record["bar"] = "%s %g" % (bar.op, bar.limit)
            record["holds"] = holds(value, bar.op, bar.limit)
            self.missed += not record["holds"]
        self.write(record)
        self.print_row(bar, record)

    def print_row(self, bar, r):
        what = bar.what.replace("`", "") + (" / " + bar.peer if r["ratio"] else "")
        numbers = show(r["ours"], bar.unit)
        if r["theirs"]:
            numbers = "ralph %s, %s %s" % (numbers, bar.peer, show(r["theirs"], bar.unit))
        verdict = "" if r["bar"] is None else "%s: %s" % (r["bar"], "holds" if r["holds"] else "MISSED")
        sign = bar.unit + " more" if bar.form == "extra" else "x"
        self.say("  %-76s %-26s %s" % (what, show(r["ratio"], sign) if r["ratio"] else "", verdict))
        self.say("      " + numbers)

    def point(self, plot, tool, samples, unit, x=None):
        record = {"point": plot, "part": self.part, "tool": tool, "x": x, "unit": unit, "is": spread(samples), "rounds": len(samples)}
        self.write(record)
        self.say("  %-44s %-10s %s" % (tool, "" if x is None else "%g" % x, show(record["is"], unit)))

    def missing(self, peer, why):
        why = " ".join(why.split())[:300]
        self.write({"missing": peer, "part": self.part, "why": why})
        self.say("  not measured: %s: %s" % (peer, why))

    def end(self):
        """The exit code; without this a benchmark did not come to its end."""
        self.write({"end": self.missed})
        if self.missed:
            self.say("%d missed" % self.missed)
        return 1 if self.missed else 0


def arguments(doc, **numbers):
    """The options that every benchmark has, and these: name=(full, quick, help)."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help="whether it works, not how fast")
    p.add_argument("--json", help="add the rows to this file as well")
    for name, (full, quick, text) in numbers.items():
        p.add_argument("--" + name, type=type(full), help="%s (%s, quick %s)" % (text, full, quick))
    args = p.parse_args()
    for name, (full, quick, _) in numbers.items():
        if getattr(args, name) is None:
            setattr(args, name, quick if args.quick else full)
    # What was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by a signal"))
    os.environ["LC_ALL"] = "C.UTF-8"
    return args
