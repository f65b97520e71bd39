"""streams.py RALPH N PLACEMENT…: N workers at once that have no task: each is greeted, answers, and is still there when the last one
is. Prints how many answered, how many answered once more, and what they ended with."""
import collections
import importlib.util
import os
import struct
import sys

spec = importlib.util.spec_from_file_location("home", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib", "fleet-home.py"))
home = importlib.util.module_from_spec(spec)
spec.loader.exec_module(home)


def wait_for(stream, name):
    """Whether such a message came, before the stream ended or a minute passed."""
    while True:
        got = stream.get(60)
        if got is None or got == "late":
            return False
        if got[0] == name:
            return True


def main():
    ralph, number, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    start = {"protocol": 1, "version": home.version(ralph), "engine": "", "lease_ms": 300000, "slots": 1, "probe": False}
    streams = [home.Stream(argv) for _ in range(number)]
    for s in streams:
        s.put("START", start)
    greeted = sum(wait_for(s, "HELLO") for s in streams)
    for s in streams:
        s.put("PING", struct.pack("<Q", 7))
    answered = sum(wait_for(s, "PONG") for s in streams)
    for s in streams:
        s.p.stdin.close()
    ends = collections.Counter(s.p.wait() for s in streams)
    print(greeted, answered, *("%d:%d" % e for e in sorted(ends.items())))


main()
