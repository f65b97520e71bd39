"""search.py files SECRET-BACKWARDS          in a sandbox: every file and every process's /proc
search.py memory SECRET-BACKWARDS NAME    on the host: the memory of every process in the sandbox NAME

Says where the secret is, or "found nothing". The control, without which nothing was searched at all:
files were read, and the sandbox's own name was found in the environment or memory of a process.
"""
import os
import sys

CHUNK = 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")
# Programs of the host, read-only, as large as they are uninteresting.
SKIP = ("/usr", "/proc", "/sys", "/dev", "/bin", "/sbin", "/lib", "/lib64", "/opt")
secret = sys.argv[2][::-1].encode()


def has(f, what):
    before = b""
    try:
        while data := f.read(CHUNK):
            if what in before + data:
                return True
            before = data[-len(what):]
    except OSError:
        pass
    return False


def file_has(path, what):
    try:
        with open(path, "rb", buffering=0) as f:
            return has(f, what)
    except OSError:
        return False


def search_files():
    found, n = [], 0
    for top, dirs, names in os.walk("/"):
        dirs[:] = [d for d in dirs if os.path.join(top, d) not in SKIP and d != ".npm-global"
                   and not os.path.islink(os.path.join(top, d))]
        for name in names:
            path = os.path.join(top, name)
            if os.path.isfile(path) and not os.path.islink(path):
                n += 1
                if file_has(path, secret):
                    found.append(path)
    named = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for what in ("environ", "cmdline", "comm", "mountinfo", "maps"):
            if file_has(f"/proc/{pid}/{what}", secret):
                found.append(f"/proc/{pid}/{what}")
        named += file_has(f"/proc/{pid}/environ", b"RALPH_SANDBOX=")
    return found, n > 5 and named > 0


def mappings(pid):
    """Start and end of what a process has in memory; what is a file's and was not written to is not its own."""
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if not words[0].endswith(":"):
                place, own = words[0], "r" in words[1] and ("w" in words[1] or words[4] == "0") and "[v" not in line
            elif words[0] == "Rss:" and own and words[1] != "0":
                yield (int(x, 16) for x in place.split("-"))


def touched(pid, low, high):
    """The parts of a mapping that the process has written or read: a runtime reserves gigabytes and uses a few."""
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as f:
        f.seek(low // PAGE * 8)
        pages = f.read((high - low) // PAGE * 8)
    start = None
    for i, entry in enumerate(memoryview(pages).cast("Q")):
        there = entry >> 62 != 0  # in memory, or swapped
        if there and start is None:
            start = i
        elif not there and start is not None:
            yield low + start * PAGE, low + i * PAGE
            start = None
    if start is not None:
        yield low + start * PAGE, high


def memory_has(pid, texts):
    """Which of the texts are in the memory of the process."""
    there = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for low, high in (part for m in list(mappings(pid)) for part in touched(pid, *m)):
            before = b""
            while low < high:
                try:
                    mem.seek(low)
                    data = mem.read(min(CHUNK, high - low))
                except (OSError, OverflowError, ValueError):
                    break
                if not data:
                    break
                there.update(t for t in texts if t in before + data)
                before, low = data[-100:], low + len(data)
    return there


def search_memory(name):
    found, named, here = [], 0, os.readlink("/proc/self/ns/pid")
    mark = f"RALPH_SANDBOX={name}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            inside = os.readlink(f"/proc/{pid}/ns/pid") != here
        except OSError:
            continue
        if not inside or not file_has(f"/proc/{pid}/environ", mark):
            continue
        try:
            there = memory_has(pid, (secret, mark))
        except OSError as e:
            print(f"{pid}: {e}")
            continue
        if secret in there:
            found.append(f"memory of {pid}")
        named += mark in there
    return found, named > 0


found, searched = search_files() if sys.argv[1] == "files" else search_memory(sys.argv[3])
for place in found:
    print(place)
if not searched:
    print("nothing was searched")
elif not found:
    print("found nothing")
