"""A host process follows no link that an agent may have made.

In the rooms that touch workspaces and homes each call that takes a path is one that follows nothing: path_open_beneath(), or a name
below a descriptor with O_NOFOLLOW or AT_SYMLINK_NOFOLLOW. The others are listed in links.tsv: file, calls and how many of each, and
why no agent has a say in the path. A call that is not listed, and a line that no longer fits, are findings.
"""
import collections
import re
import subprocess
import sys

# What the other rooms open is not in a workspace or home, or is opened inside of a sandbox; src/repo and src/git go through libgit2.
ROOMS = "agent base cli compose config engine image live loop record supervisor transcript view work workspace".split()
CALLS = (
    "open openat fopen opendir stat lstat fstatat statx chmod fchmodat chown lchown fchownat utimensat utimes truncate realpath "
    "canonicalize_file_name mkdir mkdtemp mkstemp rename link linkat symlink unlink rmdir readlink faccessat euidaccess "
    "inotify_add_watch setxattr getxattr nftw ftw glob scandir chdir chroot mount umount umount2 mknod mkfifo "
    "path_real path_mkdirs path_private_dir path_read"
).split()
CALL = re.compile(r"(?<![\w.>])(" + "|".join(CALLS) + r")\s*\(")
DEFINITION = re.compile(r"^(?:static )?(?:[a-z_]+ )+\**$")
LITERAL = re.compile(r'^(?:AT_FDCWD, )?"/')
TABLE = "tests/lint/links.tsv"


def arguments(code, at):
    """The text between the parentheses that begin before `at`."""
    depth = 1
    for i in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return " ".join(code[at:i].split())
    return ""


def follows_nothing(call, args, code):
    flags = args.split(",")[-1 if call != "openat" or args.count(",") < 3 else 2].strip()
    known = args + "".join(re.findall(rf"\b{flags}\s*=([^;]*);", code)) if flags.isidentifier() else args
    if "O_NOFOLLOW" in known or "AT_SYMLINK_NOFOLLOW" in known or "AT_EMPTY_PATH" in known:
        return True
    own_dir = call == "openat" and re.match(r'[\w>.()-]+, "\.",', args)
    # Below a directory path_read() follows nothing; only a path from AT_FDCWD may be anybody's.
    below = call == "path_read" and not args.startswith("AT_FDCWD")
    return bool(LITERAL.match(args) or own_dir or below)


def calls_of(path):
    with open(path, encoding="utf-8") as source:
        text = source.read()
    code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    for found in CALL.finditer(code):
        before = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
        args = arguments(code, found.end())
        if DEFINITION.match(before) or follows_nothing(found.group(1), args, code):
            continue
        yield found.group(1), code.count("\n", 0, found.start()) + 1


def read_table():
    table = {}
    with open(TABLE, encoding="utf-8") as rows:
        for row in rows:
            if row.startswith("#"):
                continue
            path, calls, why = row.rstrip("\n").split("\t")
            if not why:
                sys.exit(f"{TABLE}: {path}: no reason is given")
            table[path] = calls
    return table


def main():
    files = subprocess.run(["git", "ls-files", "src"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    found = collections.defaultdict(list)
    for path in files:
        if path.endswith(".c") and path.split("/")[1] in ROOMS:
            found[path] = sorted(calls_of(path))
    table = read_table()
    problems = 0
    for path in sorted(set(found) | set(table)):
        counts = collections.Counter(call for call, _ in found.get(path, []))
        calls = " ".join(f"{call}:{n}" for call, n in counts.items())
        if calls != table.get(path, ""):
            problems += 1
            where = ", ".join(f"{call}() in line {line}" for call, line in found.get(path, []))
            print(f"{path}: calls that may follow a link: {calls or '-'} ({where}); in {TABLE}: {table.get(path, '-')}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
