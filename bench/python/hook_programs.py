"""The programs that are more than a row of the rules; see bench/hook.py, which uses this."""
import base64
import re

import tables as T
from hook import ANY, CODED, MADE, NET, SECRET, SHELL, SPLIT, GiveUp, Program, is_any, known, plain, values


def first_operand(p, valued):
    i = 1
    while i < len(p.argv):
        s = p.argv[i]
        if s == "--":
            return i + 1
        if s[:1] != "-" or len(s) < 2:
            break
        i += 2 if s in valued else 1
    return i


# ---- names and values ----

def declare(j, p):
    for f in p.argv[1:]:
        name, eq, value = f.partition("=")
        if eq:
            j.set(j.vars, name, values([value]))
            j.assignment(name, values([value]))
    if (len(p.argv) == 1 or p.argv[1:] == ["-p"]) and p.name != "local":
        p.out = values([ANY], SECRET)
        j.add("CREDENTIALS", 1, j.line(p.argv))


def alias(j, p):
    for f in p.argv[1:]:
        name, eq, value = f.partition("=")
        if eq:
            j.set(j.aliases, name, values([value]))


def hash_names(j, p):
    if len(p.argv) == 4 and p.argv[1] == "-p":
        j.set(j.aliases, p.argv[3], values([p.argv[2]]))


def set_args(j, p):
    if "--" in p.argv[1:]:
        j.args = ["bash"] + p.argv[p.argv.index("--", 1) + 1:]
    if len(p.argv) == 1:
        p.out = values([ANY], SECRET)
    j.rules("set", p.argv, 0, p.inp)


def unset(j, p):
    for f in p.argv[1:]:
        if f == "HISTFILE":
            j.add("TRACES", 2, f)
        j.set(j.vars, f, values([""]))


def cd(j, p):
    to = [s for s in p.argv[1:] if s[:1] != "-"]
    if len(p.argv) > 1 and not to:
        return
    j.cwd = j.normal(to[-1]) if to else j.home
    p.out = values([j.cwd])


def read_names(j, p):
    v = p.inp if p.inp is not None else values([ANY])
    names = [s for s in p.argv[1:] if s[:1] != "-"] or ["REPLY"]
    for n in names[:-1]:
        j.set(j.vars, n, values([ANY], v.taint))
    j.set(j.vars, names[-1], values([s.partition("\n")[0] for s in v] or [""], v.taint))


def trap(j, p):
    at = 2 if p.argv[1:2] == ["--"] else 1
    if len(p.argv) > at + 1:
        j.text(p, values([p.argv[at]]))


def bind(j, p):
    for f in p.argv[1:]:
        if ":" in f:
            j.text(p, values([f.partition(":")[2]]))


BUILTINS = {"export": declare, "declare": declare, "typeset": declare, "local": declare, "readonly": declare, "alias": alias, "hash": hash_names,
            "set": set_args, "unset": unset, "cd": cd, "pushd": cd, "chdir": cd, "read": read_names, "mapfile": read_names,
            "readarray": read_names, "trap": trap, "bind": bind}


# ---- shells ----

def run_file(j, p, path):
    path = path.removeprefix("./")
    if path in j.files:
        j.text(p, j.files[path])
    elif path in ("/dev/stdin", "-", "/dev/fd/0") or path.startswith("/proc/self/fd/0"):
        if p.inp is not None:
            j.text(p, p.inp)


def shell(j, p):
    script, stdin, i = False, False, 1
    while i < len(p.argv):
        s = p.argv[i]
        if (s[:1] == "-" and s[1:2] != "-" and "c" in s) or s == "--command":
            script = True
        elif s in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            if s[1] == "-" and i + 1 < len(p.argv):
                run_file(j, p, p.argv[i + 1])
            i += 1
        elif s[:1] in ("-", "+") and len(s) > 1:
            stdin = stdin or s[:1] == "-" and s[1:2] != "-" and "s" in s
        else:
            args, j.args = j.args, p.argv[i + script:] or ["bash"]
            if script:
                j.text(p, values([s], p.taint))
            elif not stdin:
                run_file(j, p, s)
            elif p.inp is not None:
                j.text(p, p.inp)
            j.args = args
            return
        i += 1
    if p.inp is not None:
        j.text(p, p.inp)
    p.out = values([ANY], SHELL)


def run_shell(j, p):
    if p.name in T.SHELLS:
        shell(j, p)
    elif p.name == "eval":
        if len(p.argv) > 1:
            j.text(p, values([j.joined(p, 1)], p.taint))
    elif p.name in ("source", "."):
        j.sourced = True
        for s in p.argv[1:3]:
            run_file(j, p, s)
    else:
        return False
    return True


# ---- wrappers ----

def env(j, p):
    at = 1
    while at < len(p.argv):
        s = p.argv[at]
        if s in ("-S", "--split-string"):
            j.text(p, values([j.joined(p, at + 1)]))
            return
        if s.startswith("-S") or s.startswith("--split-string="):
            j.text(p, values([(s[2:] if s[1] == "S" else s[15:]) + " " + j.joined(p, at + 1)]))
            return
        if s in ("-u", "-C", "--unset", "--chdir"):
            at += 1
        elif "=" in s and s[:1] != "-":
            j.assignment(s.partition("=")[0], values([s.partition("=")[2]]))
        elif s[:1] != "-":
            j.run_from(p, at)
            return
        at += 1
    p.out = values([ANY], SECRET)
    j.add("CREDENTIALS", 1, j.line(p.argv))


def printenv(j, p):
    j.rules("printenv", p.argv, 0, p.inp)
    if len(p.argv) == 1:
        env(j, p)


def xargs(j, p):
    at = first_operand(p, ("-I", "-n", "-P", "-d", "-a", "-E", "-L", "-s", "--max-args", "--max-procs", "--delimiter", "--arg-file", "--replace"))
    what = None
    for i in range(1, min(at, len(p.argv))):
        s = p.argv[i]
        if s == "-I" and i + 1 < len(p.argv):
            what = p.argv[i + 1]
        elif s.startswith("-I") and s[2:]:
            what = s[2:]
        elif s == "-i":
            what = "{}"
    inp = p.inp if p.inp is not None else values([ANY])
    for text in inp:
        for line in (text.rstrip("\n").split("\n") if what else [text]):
            argv = [s.replace(what, line, 1) if what else s for s in p.argv[at:]] or ["echo"]
            if not what:
                argv += j.fields(re.sub(r"[ \n\t]", SPLIT, line))
            p.out = j.argv(argv, p.taint | inp.taint, None)


FILTERS = {"-name", "-iname", "-path", "-ipath", "-regex", "-mtime", "-size", "-newer", "-mmin", "-empty", "-user", "-perm", "-type", "-maxdepth"}


def find(j, p):
    i, start = 1, []
    while i < len(p.argv) and re.match(r"-[HLPDO]", p.argv[i]):
        i += 1
    while i < len(p.argv) and p.argv[i][:1] not in ("-", "(", "!"):
        start.append(p.argv[i])
        i += 1
    filtered = any(s in FILTERS and p.argv[k + 1:k + 2] != ["*"] for k, s in enumerate(p.argv) if k >= i)
    for k in range(i, len(p.argv)):
        for place in start or ["."]:
            found = place + "/" + ANY if filtered else place
            if p.argv[k] == "-delete":
                j.argv(["rm", "-r", found], 0, None)
            elif p.argv[k] in ("-exec", "-execdir", "-ok", "-okdir"):
                argv = []
                for s in p.argv[k + 1:]:
                    if s in (";", "+"):
                        break
                    argv.append(s.replace("{}", found, 1))
                if argv:
                    p.out = j.argv(argv, p.taint, None)
            elif p.argv[k].startswith("-fprint") and k + 1 < len(p.argv):
                j.file(p.argv[k + 1], True)
    j.rules("find", p.argv, 0, p.inp)
    if not p.out:
        p.out = values(["".join(f + ("/" + ANY if filtered else "") + "\n" for f in start or ["."])])


def with_text(j, p):
    at = first_operand(p, ("-c", "-s", "--command", "-w", "-E", "-t", "-n", "-S"))
    j.rules(p.name, p.argv, 0, p.inp)
    for s, text in zip(p.argv[1:], p.argv[2:]):
        if s == "--command" or (s[:1] == "-" and s[1:2] != "-" and s[-1] == "c"):
            j.text(p, values([text]))
    if p.name == "flock" and at + 1 < len(p.argv) and p.argv[at + 1][0] != "-":
        j.run_from(p, at + 1)
    if p.name == "tmux" and len(p.argv) > 2:
        j.text(p, values([p.argv[-1]]))


def git(j, p):
    bare, i = ["git"], 1
    while i < len(p.argv) and p.argv[i][:1] == "-":
        s = p.argv[i]
        if s == "-c" and i + 1 < len(p.argv):
            value = p.argv[i + 1].partition("=")[2]
            if value[:1] == "!" or " " in value:
                j.text(p, values([value.removeprefix("!")]))
        if s in ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path"):
            i += 1
        i += 1
    bare += p.argv[i:]
    if bare[1:3] == ["bisect", "run"] and len(bare) > 3:
        j.run_from(Program(bare, "git", p.taint, p.inp), 3)
    if bare[1:3] == ["submodule", "foreach"] and len(bare) > 3:
        j.text(p, values([bare[-1]]))
    if bare[1:2] == ["rebase"]:
        for s, text in zip(bare[2:], bare[3:]):
            if s in ("-x", "--exec"):
                j.text(p, values([text]))
    if bare[1:2] == ["config"] and len(bare) > 2 and bare[-1][:1] == "!":
        j.text(p, values([bare[-1][1:]]))
    j.rules("git", bare, p.taint, p.inp)


def packer(j, p):
    for i, s in enumerate(p.argv):
        m = re.match(r"--(?:checkpoint-action=exec|to-command|use-compress-program|rsh|new-volume-script|info-script)=(.*)", s, re.S)
        if m and i:
            j.text(p, values([m.group(1)]))
        if s in ("-I", "-e") and i + 1 < len(p.argv) and " " in p.argv[i + 1]:
            j.text(p, values([p.argv[i + 1]]))
    j.rules(p.name, p.argv, p.taint, p.inp)


SPECIAL = {"env": env, "printenv": printenv, "xargs": xargs, "find": find, "gfind": find, "su": with_text, "script": with_text, "flock": with_text,
           "tmux": with_text, "git": git, "tar": packer, "bsdtar": packer, "rsync": packer}


def run_wrapper(j, p):
    if p.name in SPECIAL:
        SPECIAL[p.name](j, p)
        return True
    if p.name in T.WRAPPERS:
        valued, skip, joined, judged = T.WRAPPERS[p.name]
        at = first_operand(p, valued) + skip
        while at < len(p.argv) and "=" in p.argv[at] and "/" not in p.argv[at]:
            at += 1
        if judged:
            j.rules(p.name, p.argv, p.taint, p.inp)
        if at >= len(p.argv):
            return True
        if p.name == "command" and re.match(r"-.*[vV]", p.argv[1]):
            p.out = values([p.argv[at]])
        elif joined:
            j.text(p, values([j.joined(p, at)], p.taint))
        else:
            j.run_from(p, at)
        return True
    if len(p.argv) > 2 and (p.name, p.argv[1]) in T.RUN_WORDS:
        at = 2
        while at < len(p.argv) and p.argv[at][:1] == "-":
            at += 1
        j.rules(p.name, p.argv, p.taint, p.inp)
        if p.argv[1] == "--run":
            j.text(p, values([p.argv[2]]))
        else:
            j.run_from(p, at)
        return True
    return False


# ---- code ----

def has_one(code, words):
    return any(w in code for w in words)


def try_script(j, text):
    depth, cond = j.depth, j.cond
    try:
        j.depth += 4
        j.script(text)
    except GiveUp:
        pass
    j.depth, j.cond = depth, cond


LITERAL = re.compile(r"'''(.*?)(?:'''|\Z)|\"\"\"(.*?)(?:\"\"\"|\Z)|'((?:\\.|[^'\\])*)(?:'|\Z)|\"((?:\\.|[^\"\\])*)(?:\"|\Z)|`((?:\\.|[^`\\])*)(?:`|\Z)", re.S)


def unescape(s):
    return re.sub(r"\\(x([0-9a-fA-F]{1,2})|.)", lambda m: chr(int(m.group(2), 16)) if m.group(2) else {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), s, flags=re.S)


def check_code(j, p, code):
    runs, removes, writes = (has_one(code, T.CODE[k]) for k in ("runs", "removes", "writes"))
    writes = writes or ("awk" in p.name and ">" in code)

    def items_done(items):
        for s in items:
            if runs:
                try_script(j, s)
            if not s or re.search(r"[ \n]", s) or not re.search(r"[/~.]", s):
                continue
            c = j.classes(s)
            if "cred" in c:
                j.add("CREDENTIALS", 2, s)
            if removes and c & {"whole", "system", "hometop", "device"}:
                j.add("FILES", 2, s)
            if writes:
                j.file(s, True)
        if runs and len(items) > 1:
            try_script(j, " ".join(items))
        items.clear()

    items, joined, i = [], False, 0
    while i < len(code):
        m = LITERAL.match(code, i)
        if not m:
            c = code[i]
            if c == "+" or (c == "." and code[i + 1:i + 2] in (" ", "\t", "'", '"')):
                joined = True
            elif c == ",":
                joined = False
            elif not c.isspace():
                items_done(items)
            i += 1
            continue
        i = m.end()
        text = unescape(next(g for g in m.groups() if g is not None))
        if joined and items:
            items[-1] += text
        elif len(items) < 32:
            items.append(text)
        joined = False
    items_done(items)
    line = j.line(p.argv)
    if has_one(code, T.CODE["evaluates"]) and (has_one(code, T.CODE["decodes"]) or has_one(code, T.CODE["fetches"])):
        j.add("REMOTE_CODE", 2, line)
    if has_one(code, T.CODE["sockets"]) and has_one(code, T.CODE["shells_over"]):
        j.add("NETWORK", 2, line)
    if "fork while" in code or ("fork(" in code and ("while" in code or "loop" in code)):
        j.add("RESOURCES", 2, line)
    if has_one(code, T.CODE["dumps"]):
        j.add("CREDENTIALS", 1, line)
    if has_one(code, ("setuid(0", "setgid(0", "setreuid(0")):
        j.add("PRIVILEGE", 2, line)
    if has_one(code, ("kill(-1", "kill -9, -1")):
        j.add("TRACES", 2, line)


def check_values(j, p, v):
    for s in v:
        if not is_any(s):
            check_code(j, p, s)
    if v.taint & (NET | CODED):
        j.add("REMOTE_CODE", 2, j.line(p.argv))


def ends_option(field, options):
    return any(field == o or (len(o) == 2 and field[:1] == "-" and 2 < len(field) < 8 and field[1] != "-" and field[-1] == o[1]) for o in options)


def run_code(j, p):
    if p.name in ("vi", "vim", "nvim", "ex", "ed", "emacs", "sed", "view"):
        for i, f in enumerate(p.argv[1:], 1):
            s = f.lstrip("+:0123456789,$%")
            if p.name == "sed":
                if s[:2] == "e ":
                    try_script(j, s[2:])
            elif "!" in s and (s[0] == "!" or i > 1):
                try_script(j, s.partition("!")[2])
            if "system(" in s:
                check_code(j, p, s)
        return
    options = T.LANGUAGES.get(re.sub(r"[0-9.]*$", "", p.name))
    if options is None:
        return
    operand = False
    for i in range(1, len(p.argv)):
        s = p.argv[i]
        if (s[:1] != "-" and not operand) if options == ("0",) else i > 1 and ends_option(p.argv[i - 1], options):
            check_values(j, p, values([plain(s)], p.taint))
            operand = True
        elif s[:1] != "-":
            operand = True
            if s in j.files:
                check_values(j, p, j.files[s])
        elif s == "-m":
            operand = True
    if not operand and p.inp is not None:
        check_values(j, p, p.inp)


# ---- outputs ----

ESCAPES = {"a": "\a", "b": "\b", "e": "\33", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def unescaped(s, nul=""):
    def one(m):
        if m.group(1):
            return ESCAPES[m.group(1)]
        n = int(m.group(2), 16) if m.group(2) else int(m.group(3), 8)
        return nul if n & 255 == 0 else chr(n & 255)
    return re.sub(r"\\(?:([abefnrtv\\])|x([0-9a-fA-F]{1,2})|([0-7]{1,4}))", one, s)


def echo(j, p):
    at, escapes, newline = 1, False, True
    while at < len(p.argv) and re.fullmatch(r"-[neE]+", p.argv[at]):
        escapes, newline = escapes or "e" in p.argv[at], newline and "n" not in p.argv[at]
        at += 1
    line = j.joined(p, at) + ("\n" if newline else "")
    p.out = values([unescaped(line)] if escapes else [line, unescaped(line)] if "\\" in line else [line], p.taint)


def printf(j, p):
    argv, name = p.argv[1:], None
    if argv[:1] == ["-v"] and len(argv) > 1:
        name, argv = argv[1], argv[2:]
    if argv[:1] == ["--"]:
        argv = argv[1:]
    if not argv:
        return

    def formatted(nul):
        form, args, out = unescaped(plain(argv[0]), nul), argv[1:], ""

        def one(m):
            if m.group() == "%%":
                return "%"
            arg = args.pop(0) if args else ""
            kind = m.group()[-1]
            return arg[:1] if kind == "c" else unescaped(arg) if kind == "b" else arg if kind in "sqd" else ANY
        while True:
            before = len(args)
            out += re.sub(r"%%|%[^sbcdiouxXqfge%]*[sbcdiouxXqfge]", one, form)
            if len(args) == before or not args:
                return out
    p.out = values([""] if name else [formatted(""), formatted("\n")], p.taint)
    if name:
        j.set(j.vars, name, values([formatted("")]))


def pass_on(j, p):
    taint, file = p.inp.taint if p.inp is not None else 0, None
    for s in p.argv[1:]:
        if j.argument(s) & {"cred", "secretfile"}:
            taint |= SECRET
        if file is None and s[:1] != "-":
            file = j.files.get(s)
    if file is not None:
        out = file
    elif p.inp is not None and not (p.name == "cat" and len(p.argv) > 1 and p.argv[1] != "-"):
        out = p.inp
    else:
        out = values([ANY])
    p.out = values(out, out.taint | taint)


def tee(j, p):
    pass_on(j, p)
    for s in p.argv[1:]:
        if p.inp is not None and s[:1] != "-":
            j.set(j.files, s, p.inp)


def rev(j, p):
    ok = p.inp is not None and len(p.inp) == 1 and known(p.inp[0])
    p.out = values(["\n".join(line[::-1] for line in p.inp[0].split("\n"))] if ok else [ANY], CODED)


def decode(j, p):
    is_hex = p.name == "xxd"
    back = bool({"-r", "-rp", "-pr"} & set(p.argv)) if is_hex else bool({"-d", "--decode", "-D", "-di"} & set(p.argv))
    text = None
    if back and p.inp is not None and len(p.inp) == 1 and known(p.inp[0]):
        try:
            raw = "".join(p.inp[0].split())
            text = (bytes.fromhex(raw) if is_hex else base64.b64decode(raw + "=" * (-len(raw) % 4), validate=True)).decode("utf-8", "replace")
        except ValueError:
            text = None
        if text is not None and "\0" in text:
            text = None
    taint = p.inp.taint if p.inp is not None else 0
    p.out = values([text], taint) if text is not None else values([ANY], taint | (CODED if back else MADE))


def downloaded(j, p):
    p.out = values([ANY], NET)
    for i, s in enumerate(p.argv):
        if i and s in ("-o", "-O", "--output", "--output-document") and i + 1 < len(p.argv):
            j.set(j.files, p.argv[i + 1], values([ANY], NET))
        if "://" in s:
            j.set(j.files, s.rpartition("/")[2], values([ANY], NET))


def copied(j, p):
    ops = [s for s in p.argv[1:] if s[:1] != "-"]
    if len(ops) < 2:
        return
    source, to = ops[-2], ops[-1]
    base = to.rpartition("/")[2]
    if source.rpartition("/")[2] == base or not base:
        return
    if source in j.files:
        j.set(j.files, to, j.files[source])
    elif "bin/" in source or not known(source):
        j.set(j.aliases, base, values([source]))


def listed(j, p):
    names = [a for a in p.argv[1:] if a[:1] != "-"]
    p.out = values(["".join(a + "\n" for a in names)]) if names and {"-d", "-1d"} & set(p.argv) else values([ANY], MADE)


def path_part(j, p):
    last = p.argv[-1] if len(p.argv) > 1 else ""
    p.out = values([last.rpartition("/")[2] if p.name == "basename" else last.rpartition("/")[0] or "."])


def told(j, p):
    if p.name == "pwd":
        p.out = values([j.cwd])
    elif p.name == "mktemp":
        p.out = values(["/tmp/tmp." + ANY])
    elif p.name == "git" and "--show-toplevel" in p.argv:
        p.out = values([j.cwd])
    elif p.name in ("which", "type", "realpath", "readlink") and len(p.argv) > 1:
        p.out = values([p.argv[-1]])
    else:
        p.out = values([ANY])


OUTPUTS = {"echo": echo, "printf": printf, "tee": tee, "rev": rev, "ls": listed, "basename": path_part, "dirname": path_part}
OUTPUTS.update(dict.fromkeys(("cat", "head", "tail", "sort", "uniq"), pass_on))
OUTPUTS.update(dict.fromkeys(("base64", "xxd", "base32"), decode))
OUTPUTS.update(dict.fromkeys(("curl", "wget", "aria2c", "fetch", "http", "xh", "nc", "ncat", "lynx"), downloaded))
OUTPUTS.update(dict.fromkeys(("cp", "ln", "mv", "install"), copied))
TAINTS = dict.fromkeys(("tr", "openssl", "gpg", "gunzip", "zcat", "gzip", "bzcat", "xzcat", "xz", "uudecode"), CODED)
TAINTS.update(dict.fromkeys(("dig", "ssh", "host", "nslookup"), NET))


def output(j, p):
    if p.name in OUTPUTS:
        OUTPUTS[p.name](j, p)
    elif p.name in TAINTS:
        p.out = values([ANY], TAINTS[p.name])
    elif p.name in T.TOLD:
        told(j, p)
    if not p.out:
        p.out = values([ANY], MADE)
    if p.inp is not None:
        p.out = values(p.out, p.out.taint | p.inp.taint)


def program(j, p):
    if p.name in BUILTINS:
        BUILTINS[p.name](j, p)
    elif not run_shell(j, p) and not run_wrapper(j, p):
        run_code(j, p)
        j.rules(p.name, p.argv, p.taint, p.inp)
    if not p.out:
        output(j, p)
