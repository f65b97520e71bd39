"""The judge of `ralph hook pre-tool-use` once more, in Python: what bench/hook measures it against.

The same reading of shell, the same walk, the same tables (src/hook/rules.def and those of src/hook/*.c, made into the module
`tables` by bench/hook), so the same verdicts on tests/hook. `python3 hook.py` answers a hook; `python3 hook.py FILE...` prints
its verdict on each line of a corpus.
"""
import base64
import json
import os
import re
import sys

import tables as T

ANY, STAR, ONE, SPLIT, OPEN, COMMA, CLOSE, EMPTY = "\1\2\3\4\5\6\7\10"
NET, CODED, SECRET, MADE, SHELL = 1, 2, 4, 8, 16
META = " \t\r\n;&|<>()"
NAME = re.compile(r"[A-Za-z_]\w*")


class GiveUp(Exception):
    pass


class Values(list):
    taint = 0


def values(items, taint=0):
    v = Values(dict.fromkeys(items))
    if len(v) > 64:
        v[:] = v[:63] + [ANY]
    v.taint = taint
    return v


def join(a, b):
    if len(a) * len(b) > 64:
        b = values([ANY], b.taint)
    return values([x + y for x in a for y in b], a.taint | b.taint)


def known(s):
    return not any(m in s for m in (ANY, STAR, ONE))


def is_any(s):
    return ANY in s and not s.strip(ANY + EMPTY)


PLAIN = {ord(STAR): "*", ord(ONE): "?", ord(OPEN): "{", ord(COMMA): ",", ord(CLOSE): "}", ord(SPLIT): " ", ord(EMPTY): None}


def plain(s):
    return s.translate(PLAIN)


# ---- reading ----

class Reader:
    def __init__(self, text, depth=0):
        self.s, self.i, self.depth, self.pending = text, 0, depth, []

    def at(self, t):
        return self.s.startswith(t, self.i)

    def deeper(self):
        self.depth += 1
        if self.depth > 64:
            raise GiveUp("nested")

    def blanks(self):
        while True:
            if self.i < len(self.s) and self.s[self.i] in " \t\r":
                self.i += 1
            elif self.at("\\\n"):
                self.i += 2
            else:
                break
        if self.at("#"):
            n = self.s.find("\n", self.i)
            self.i = len(self.s) if n < 0 else n

    def pair(self, o, c):
        n = 1
        while self.i < len(self.s):
            ch = self.s[self.i]
            self.i += 2 if ch == "\\" else 1
            if ch == o:
                n += 1
            elif ch == c:
                n -= 1
                if not n:
                    return
        raise GiveUp("bracket")

    def until(self, q):
        n = self.s.find(q, self.i)
        if n < 0:
            raise GiveUp("quote")
        text, self.i = self.s[self.i:n], n + 1
        return text

    def ansi(self, parts):
        out, over = [], False
        while not self.at("'"):
            if self.i >= len(self.s):
                raise GiveUp("quote")
            c = self.s[self.i]
            self.i += 1
            if c == "\\" and self.i < len(self.s):
                m = re.compile(r"([0-7]{1,3})|x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(.)", re.S).match(self.s, self.i)
                self.i = m.end()
                o, x, u, w, ctl, ch = m.groups()
                if o or x:
                    n = int(o, 8) & 255 if o else int(x, 16)
                    over = over or n == 0
                    c = chr(n) if n > 8 else "\x7f"
                elif u or w:
                    c = chr(int(u or w, 16))
                elif ctl:
                    c = "\x7f"
                else:
                    c = {"a": "\a", "b": "\b", "e": "\33", "E": "\33", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}.get(
                        ch, ch if ch in "\\'\"?" else "\\" + ch)
            if not over:
                out.append(c)
        self.i += 1
        parts.append(("t", "".join(out), True))

    def backticks(self, quoted):
        out = []
        self.i += 1
        while not self.at("`"):
            if self.i >= len(self.s):
                raise GiveUp("backtick")
            if self.at("\\") and self.s[self.i + 1:self.i + 2] in ("`", "$", "\\") or (quoted and self.at('\\"')):
                self.i += 1
            out.append(self.s[self.i])
            self.i += 1
        self.i += 1
        inner = Reader("".join(out), self.depth)
        inner.deeper()
        return ("c", inner.list(None), quoted)

    def arg(self, quoted, stop):
        start, quote, depth = self.i, "", 0
        while self.i < len(self.s):
            c = self.s[self.i]
            if c == "\\" and quote != "'":
                self.i += 1
            elif quote:
                quote = "" if c == quote else quote
            elif c == '"' or (c == "'" and not quoted):
                quote = c
            elif c in "{(":
                depth += 1
            elif c in "})" and depth:
                depth -= 1
            elif c == "}" or (stop and c == stop and not depth):
                break
            self.i += 1
        if self.i >= len(self.s):
            raise GiveUp("${")
        return Reader(self.s[start:self.i], self.depth + 1).expandable()

    def param(self, quoted):
        self.i += 2
        prefix = index = None
        op, arg, arg2 = "", None, None
        if self.s[self.i:self.i + 1] in ("#", "!") and self.s[self.i + 1:self.i + 2] != "}":
            prefix = self.s[self.i]
            self.i += 1
        m = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?$!_-]").match(self.s, self.i)
        name = m.group() if m else ""
        self.i += len(name)
        if self.at("["):
            start = self.i + 1
            self.i += 1
            self.pair("[", "]")
            index = self.s[start:self.i - 1]
        if not self.at("}"):
            m = re.compile(r":[-=+?]|##|%%|//|/#|/%|\^\^|,,|[^}]").match(self.s, self.i)
            op = m.group() if m else ""
            self.i += len(op)
            arg = self.arg(quoted, "/" if op[:1] == "/" else ":" if op == ":" or op[:1] == ":" else "")
            if not self.at("}"):
                self.i += 1
                arg2 = self.arg(quoted, "")
        if prefix:
            op = "!" if prefix == "!" else "l"
        self.i += 1
        return ("p", name, index, op, arg, arg2, quoted)

    def dollar(self, parts, quoted, braces):
        m = re.compile(r"\$\w*(\\\n)").match(self.s, self.i)
        while m:
            self.s = self.s[:m.start(1)] + self.s[m.end(1):]
            m = re.compile(r"\$\w*(\\\n)").match(self.s, self.i)
        start = self.i
        if self.at("$((") and re.compile(r"\$\(\((?:[^()]|\([^()]*\)|\((?:[^()]|\([^()]*\))*\))*\)\)").match(self.s, self.i):
            self.i += 3
            self.pair("(", ")")
            self.i += 1
            parts += [("c", p[1], True) for p in Reader(self.s[start + 3:self.i - 2], self.depth + 1).expandable() if p[0] == "c"]
            parts.append(("a", quoted))
        elif self.at("$["):
            self.i += 2
            self.pair("[", "]")
            parts.append(("a", quoted))
        elif self.at("$("):
            self.i += 2
            parts.append(("c", self.list(")"), quoted))
        elif self.at("${"):
            self.deeper()
            parts.append(self.param(quoted))
            self.depth -= 1
        else:
            m = re.compile(r"[A-Za-z_]\w*|\d|[@*#?$!_-]").match(self.s, self.i + 1)
            self.i += 1
            if not m:
                parts.append(("t", "$", quoted))
                return
            self.i = m.end()
            if not quoted and (self.at("{") or (braces and (self.at(",") or self.at("}")))):
                parts.append(("a", False))
            else:
                parts.append(("p", m.group(), None, "", None, None, quoted))

    def inside(self, parts, close):
        while self.i < len(self.s) and not (close and self.at(close)):
            c = self.s[self.i]
            if self.at("\\\n"):
                self.i += 2
            elif c == "\\" and self.i + 1 < len(self.s) and (self.s[self.i + 1] in "$`\\" or self.s[self.i + 1] == close):
                parts.append(("t", self.s[self.i + 1], True))
                self.i += 2
            elif c == "$":
                self.dollar(parts, True, 0)
            elif c == "`":
                parts.append(self.backticks(close == '"'))
            else:
                m = re.compile(r'[^\\$`"]+').match(self.s, self.i)
                t = m.group() if m else c
                parts.append(("t", t, True))
                self.i += len(t)

    def double(self, parts):
        self.i += 1
        parts.append(("t", "", True))
        self.inside(parts, '"')
        if self.i >= len(self.s):
            raise GiveUp("quote")
        self.i += 1

    def expandable(self):
        parts = []
        self.deeper()
        while self.i < len(self.s):
            if self.at('"'):
                self.double(parts)
            else:
                self.inside(parts, '"')
        return parts

    def word(self):
        parts, braces = [], 0
        self.blanks()
        while self.i < len(self.s):
            c = self.s[self.i]
            nxt = self.s[self.i + 1:self.i + 2]
            if c in "?*+@!" and nxt == "(":
                if c == "!" and not parts:
                    break
                self.i += 2
                self.pair("(", ")")
                parts.append(("a", False))
            elif c in "<>" and nxt == "(":
                self.i += 2
                parts.append(("x", self.list(")")))
            elif c in META:
                break
            elif c == "\\" and nxt == "\n":
                self.i += 2
            elif c == "\\" and nxt:
                parts.append(("t", nxt, True))
                self.i += 2
            elif c == "'":
                self.i += 1
                parts.append(("t", self.until("'"), True))
            elif c == '"':
                self.double(parts)
            elif c == "$" and nxt == "'":
                self.i += 2
                self.ansi(parts)
            elif c == "$" and nxt == '"':
                self.i += 1
                self.double(parts)
            elif c == "$":
                self.dollar(parts, False, braces)
            elif c == "`":
                parts.append(self.backticks(False))
            else:
                m = re.compile(r"[\w./:=~%,{}\[\]-]+|.", re.S).match(self.s, self.i)
                t = m.group()
                if len(t) > 1 and t[-1] in "?*+@!":
                    t = t[:-1]
                braces += t.count("{")
                if parts and parts[-1][0] == "t" and not parts[-1][2]:
                    parts[-1] = ("t", parts[-1][1] + t, False)
                else:
                    parts.append(("t", t, False))
                self.i += len(t)
        return parts or None

    def need(self):
        w = self.word()
        if not w:
            raise GiveUp("word")
        return w

    def newline(self):
        self.i += 1
        pending, self.pending = self.pending, []
        for r in pending:
            lines = []
            while self.i < len(self.s):
                n = self.s.find("\n", self.i)
                n = len(self.s) if n < 0 else n
                line, self.i = self.s[self.i:n], n + 1
                if r["strip"]:
                    line = line.lstrip("\t")
                if line == r["end"]:
                    break
                lines.append(line + "\n")
            self.i = min(self.i, len(self.s))
            text = "".join(lines)
            r["target"] = [("t", text, True)] if r["raw"] else Reader(text, self.depth).expandable()

    def newlines(self):
        self.blanks()
        while self.at("\n"):
            self.newline()
            self.blanks()

    def keyword(self, w, take=True):
        self.blanks()
        end = self.i + len(w)
        if not self.at(w) or (end < len(self.s) and self.s[end] not in META):
            return False
        if take:
            self.i = end
        return True

    def redir(self, cmd):
        self.blanks()
        m = re.compile(r"(\{\w+\})?\d*(&?>>?\|?|<>|<<<|<<-?|<)(&?)").match(self.s, self.i)
        if not m or (self.s[m.end():m.end() + 1] == "(" and m.group()in "<>"):
            return False
        op, amp = m.group(2), m.group(3)
        self.i = m.end()
        r = {"kind": "in" if op == "<" else "here" if op.startswith("<<") else "out"}
        cmd["redirs"].append(r)
        if op in ("<<", "<<-"):
            w = self.need()
            r.update(strip=op == "<<-", raw=any(p[-1] is True for p in w), end="".join(p[1] for p in w if p[0] == "t"), target=[("t", "", True)])
            self.pending.append(r)
        else:
            if amp and (self.s[self.i:self.i + 1].isdigit() or self.at("-")):
                r["kind"] = "dup"
            r["target"] = self.need()
        return True

    def assign(self, cmd, w):
        if w[0][0] != "t" or w[0][2]:
            return False
        m = re.match(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=", w[0][1])
        if not m:
            return False
        rest = [("t", w[0][1][m.end():], False)] + w[1:]
        if m.end() == len(w[0][1]) and len(w) == 1 and self.at("("):
            self.i += 1
            words = []
            while True:
                self.newlines()
                if self.at(")"):
                    self.i += 1
                    break
                words.append(self.need())
            cmd["assigns"].append((m.group(1), bool(m.group(3)), True, words))
        else:
            cmd["assigns"].append((m.group(1), bool(m.group(3)), False, rest))
        return True

    def simple(self, cmd):
        while True:
            if self.redir(cmd):
                continue
            w = self.word()
            if not w:
                return
            if not cmd["words"] and self.assign(cmd, w):
                continue
            if self.at("(") and self.assign(cmd, w):
                continue
            cmd["words"].append(w)

    def function(self, cmd, name):
        cmd.update(kind="function", name=name, words=[])
        self.blanks()
        if self.at("("):
            self.i += 1
            self.blanks()
            if not self.at(")"):
                raise GiveUp("(")
            self.i += 1
        self.newlines()
        cmd["body"] = [{"cmds": [self.command() or self.give_up()], "bg": False, "cond": False}]

    @staticmethod
    def give_up():
        raise GiveUp("body")

    def arithmetic(self, cmd):
        n, i = 2, self.i + 2
        while i < len(self.s):
            if self.s[i] == "(":
                n += 1
            elif self.s[i] == ")":
                n -= 1
                if not n:
                    if self.s[i - 1] != ")":
                        return False
                    cmd.update(kind="group", body=[], words=[Reader(self.s[self.i + 2:i - 1], self.depth).expandable()])
                    self.i = i + 1
                    return True
            i += 1
        return False

    def compound(self, cmd):
        cmd["kind"] = "group"
        if self.at("((") and self.arithmetic(cmd):
            return True
        if self.at("("):
            self.i += 1
            cmd["body"] = self.list(")")
        elif self.keyword("{"):
            cmd["body"] = self.list("}")
        elif self.keyword("if"):
            cmd.update(cond=True, body=self.list("fi"))
        elif self.keyword("while") or self.keyword("until"):
            cmd["loop"] = any(self.keyword(w, False) for w in ("true", ":", "1", "false"))
            cmd.update(cond=True, body=self.list("done"))
        elif self.keyword("for") or self.keyword("select"):
            self.blanks()
            cmd["loop"] = True
            if self.at("(("):
                self.arithmetic(cmd)
            else:
                cmd["name"] = "".join(p[1] for p in self.need() if p[0] == "t")
                self.newlines()
                if self.keyword("in"):
                    w = self.word()
                    while w:
                        cmd["words"].append(w)
                        w = self.word()
            self.blanks()
            if self.at(";"):
                self.i += 1
            self.newlines()
            if self.at("{"):
                self.i += 1
                cmd["body"] = self.list("}")
            elif self.keyword("do"):
                cmd["body"] = self.list("done")
            else:
                raise GiveUp("do")
        elif self.keyword("case"):
            cmd.update(cond=True, words=[self.need()], body=[])
            self.newlines()
            if not self.keyword("in"):
                raise GiveUp("in")
            while True:
                self.newlines()
                if self.keyword("esac"):
                    break
                if self.at("("):
                    self.i += 1
                while True:
                    w = self.word()
                    if w:
                        cmd["words"].append(w)
                    self.blanks()
                    if self.at("|") or self.at("\n"):
                        self.i += 1
                        continue
                    if not self.at(")"):
                        raise GiveUp("pattern")
                    self.i += 1
                    break
                cmd["body"] += self.list(";;")
        elif self.keyword("[["):
            cmd["body"] = []
            while True:
                self.newlines()
                if self.keyword("]]"):
                    break
                if self.i >= len(self.s):
                    raise GiveUp("[[")
                w = self.word()
                if w:
                    cmd["words"].append(w)
                else:
                    self.i += 1
        elif self.keyword("function"):
            self.function(cmd, "".join(p[1] for p in self.need() if p[0] == "t"))
        else:
            cmd["kind"] = "simple"
            return False
        return True

    def command(self):
        cmd = {"kind": "simple", "assigns": [], "words": [], "redirs": [], "name": None, "loop": False, "cond": False}
        self.deeper()
        while any(self.keyword(w) for w in ("!", "time", "-p", "coproc")):
            pass
        if self.compound(cmd):
            while self.redir(cmd):
                pass
        else:
            self.simple(cmd)
            if len(cmd["words"]) == 1 and not cmd["assigns"] and not cmd["redirs"] and self.at("("):
                self.function(cmd, "".join(p[1] for p in cmd["words"][0] if p[0] == "t"))
        self.depth -= 1
        return cmd if cmd["kind"] != "simple" or cmd["words"] or cmd["assigns"] or cmd["redirs"] else None

    def closer(self, c):
        if c == ";;":
            if self.keyword("esac", False):
                return True
            m = re.compile(r";;&?|;&").match(self.s, self.i)
            if m:
                self.i = m.end()
            return bool(m)
        if c == ")":
            if self.at(")"):
                self.i += 1
                return True
            return False
        return bool(c) and self.keyword(c)

    def list(self, close):
        pipes, cond = [], False
        self.deeper()
        while True:
            self.blanks()
            if self.closer(close):
                break
            if self.i >= len(self.s):
                if close:
                    raise GiveUp("end")
                break
            if self.at("\n"):
                self.newline()
            elif self.at("&&") or self.at("||"):
                cond = True
                self.i += 2
            elif self.at("&") or self.at(";"):
                if pipes and self.at("&"):
                    pipes[-1]["bg"] = True
                self.i += 1
            elif any(self.keyword(w) for w in ("then", "elif", "else", "do")):
                pass
            else:
                cmds = []
                while True:
                    c = self.command()
                    if not c:
                        break
                    cmds.append(c)
                    self.blanks()
                    if not self.at("|") or self.at("||"):
                        break
                    self.i += 2 if self.at("|&") else 1
                    self.newlines()
                if not cmds:
                    raise GiveUp("bracket")
                pipes.append({"cmds": cmds, "bg": False, "cond": cond})
                cond = False
        self.depth -= 1
        return pipes


# ---- matching ----

def may_be(word, text):
    return re.fullmatch("".join(".*" if c in ANY + STAR else "[^/]" if c == ONE else "" if c == EMPTY else re.escape(c) for c in word), text, re.S)


def path_fits(w, p, start=True, steps=None):
    steps = steps if steps is not None else [2000]
    steps[0] -= 1
    if steps[0] < 0:
        return True
    if p[:2] == "**":
        return any(path_fits(w[i:], p[2:], start and not i or w[i - 1:i] == "/", steps) for i in range(len(w) + 1))
    if p[:1] == "*":
        n = len(w.partition("/")[0])
        return any(path_fits(w[i:], p[1:], False, steps) for i in range(n + 1))
    if w[:1] == STAR:
        if path_fits(w[1:], p, False, steps):
            return True
        if not p or p[0] == "/" or (p[0] == "." and start):
            return False
        return path_fits(w, p[1:], False, steps)
    if not w or not p:
        return not w and not p
    if w[0] == ONE:
        return p[0] != "/" and not (p[0] == "." and start) and path_fits(w[1:], p[1:], False, steps)
    return w[0] == p[0] and path_fits(w[1:], p[1:], w[0] == "/", steps)


SIMPLE = {}


def fits(word, pattern):
    """Most paths are plain: then a compiled pattern does."""
    if STAR in word or ONE in word:
        return path_fits(word, pattern)
    # What most patterns are needs no regular expression, whose making would be most of the time.
    body = pattern.removeprefix("**").removesuffix("**")
    if "*" not in body:
        if body == pattern:
            return word == pattern
        if pattern[:2] != "**":
            return word.startswith(body)
        return body in word if pattern[-2:] == "**" else word.endswith(body)
    r = SIMPLE.get(pattern)
    if r is None:
        r = SIMPLE[pattern] = re.compile("".join(
            ".*" if t == "**" else "[^/]*" if t == "*" else re.escape(t) for t in re.split(r"(\*\*?)", pattern)), re.S)
    return r.fullmatch(word)


def under(p, d):
    return p == d or p.startswith(d.rstrip("/") + "/")


# ---- the judge ----

class Judge:
    def __init__(self, cwd, home, env):
        self.cwd = self.root = cwd
        self.home, self.env = home, env
        self.vars, self.functions, self.aliases, self.files = {}, {}, {}, {}
        self.args, self.last, self.sourced, self.stdin = None, "", False, None
        self.depth = self.steps = self.cond = self.pipe = self.bg = self.forever = 0
        self.active, self.findings = set(), {}

    def add(self, cat, sev, text, why=""):
        self.findings.setdefault((cat, sev, text), why)

    def set(self, table, name, v):
        old = table.get(name)
        table[name] = values(old + v, old.taint | v.taint) if self.cond and old is not None else v

    def script(self, text):
        if self.depth > 16:
            raise GiveUp("depth")
        if len(text) > 262144 or "\0" in text:
            raise GiveUp("text")
        self.run_list(Reader(text).list(None), None)

    def scripts(self, v):
        for s in v:
            s = plain(s)
            if not is_any(s):
                self.script(s)

    # expansion

    def activate(self, s):
        s = re.sub(r"\[[^\]]+\]", ONE, s)
        return re.sub(r"\*+", STAR, s).replace("?", ONE).replace("{", OPEN).replace(",", COMMA).replace("}", CLOSE)

    def split(self, v, quoted, everything):
        out = []
        ifs = self.vars.get("IFS")
        ifs = ifs[0] if ifs and ifs[0] and known(ifs[0]) else " \t\n"
        for s in v:
            if quoted and not everything:
                s = EMPTY + plain(s)
            elif not quoted:
                s = "".join(SPLIT if c in ifs else STAR if c == "*" else ONE if c == "?" else c for c in s)
            out.append(s)
        return values(out, v.taint)

    def part(self, p, first):
        k = p[0]
        if k == "t":
            text = p[1]
            if p[2]:
                return values([EMPTY + text])
            m = first and re.match(r"~([^/:]*)", text)
            if m:
                u = m.group(1)
                home = self.home if not u else self.cwd if u == "+" else "/root" if u == "root" else "/home/" + u
                return values([home + self.activate(text[m.end():])])
            return values([self.activate(text)])
        if k == "p":
            return self.split(self.parameter(p), p[6], p[1] == "@" or p[2] == "@")
        if k == "c":
            out = self.run_list(p[1], None)
            return self.split(values([s.rstrip("\n") for s in out], out.taint), p[2], False)
        if k == "x":
            self.set(self.files, "/dev/fd/63", self.run_list(p[1], None))
            return values(["/dev/fd/63"])
        return values([ANY])

    def word(self, w):
        v = values([""])
        for i, p in enumerate(w):
            v = join(v, self.part(p, i == 0))
        return v

    def value(self, w):
        v = self.word(w)
        return values([plain(s) for s in v], v.taint)

    def words(self, ws):
        v = values([""])
        for i, w in enumerate(ws):
            if i:
                v = join(v, values([SPLIT]))
            v = join(v, self.word(w))
        return v

    def braces(self, s, out):
        if len(out) > 2048:
            raise GiveUp("words")
        at = s.find(OPEN)
        while at >= 0:
            depth, commas, close = 0, [], -1
            for i in range(at, len(s)):
                if s[i] == OPEN:
                    depth += 1
                elif s[i] == CLOSE:
                    depth -= 1
                    if not depth:
                        close = i
                        break
                elif s[i] == COMMA and depth == 1:
                    commas.append(i)
            inner = s[at + 1:close]
            if close >= 0 and commas:
                cuts = [at] + commas + [close]
                for a, b in zip(cuts, cuts[1:]):
                    self.braces(s[:at] + s[a + 1:b] + s[close + 1:], out)
                return
            if close >= 0 and ".." in inner:
                m = re.fullmatch(r"(-?\d{1,5})\.\.(-?\d{1,5})|([A-Za-z])\.\.([A-Za-z])", inner)
                items = [ANY]
                if m:
                    a, b = (int(m.group(1)), int(m.group(2))) if m.group(1) else (ord(m.group(3)), ord(m.group(4)))
                    if abs(a - b) <= 64:
                        items = [chr(i) if m.group(3) else str(i) for i in range(a, b + (1 if a <= b else -1), 1 if a <= b else -1)]
                for item in items:
                    self.braces(s[:at] + item + s[close + 1:], out)
                return
            at = s.find(OPEN, at + 1)
        for f in s.split(SPLIT):
            if f:
                out.append(f.replace(EMPTY, "").replace(OPEN, "{").replace(COMMA, ",").replace(CLOSE, "}"))

    def fields(self, s):
        out = []
        self.braces(s, out)
        return out

    def lookup(self, name):
        if name in self.vars:
            return self.vars[name]
        if name in "@*" and name:
            if self.args is None:
                return values([ANY] if self.depth else [""])
            return values([SPLIT.join(EMPTY + a for a in self.args[1:])])
        if name == "_":
            return values([self.last])
        if name.isdigit():
            n = int(name)
            return values([self.args[0] if self.args else "bash"] if n == 0 else [ANY] if not self.args else [self.args[n] if n < len(self.args) else ""])
        fixed = {"HOME": self.home, "PWD": self.cwd, "IFS": " \t\n", "BASH": "/bin/bash"}
        if name in fixed:
            return values([fixed[name]])
        if name in T.CHANGING:
            return values([ANY])
        if name in self.env:
            return values([self.env[name]])
        return values(["", ANY]) if self.sourced else values([])

    def parameter(self, p):
        _, name, index, op, arg, arg2, _ = p
        v = self.lookup(name)
        if index is None and name not in ("@", "*"):
            v = values(v + [(self.fields(s) or [""])[0] for s in v if SPLIT in s], v.taint)
        elif index is not None and index not in ("@", "*"):
            if not index.isdigit():
                self.value(Reader(index).expandable())
                return values([ANY], v.taint)
            v = values([(self.fields(s)[int(index):] or [""])[0] for s in v], v.taint)
        if op == "!":
            v = values([x for s in v for x in (self.lookup(s) if known(s) else [ANY])], v.taint)
        elif op == "l":
            return values([ANY])
        elif op and op[-1] in "-=+?":
            other = self.value(arg) if arg else values([""])
            is_set = bool(v) and (len(v) > 1 or v[0] or op[0] != ":")
            if op[-1] == "+":
                return other if is_set else values(other + [""], other.taint)
            if op[-1] == "=" and not is_set:
                self.set(self.vars, name, other)
            if not is_set:
                return values([""]) if op[-1] == "?" else other
            return v if op[-1] == "?" else values(v + other, v.taint | other.taint)
        v = v or values([""], v.taint)
        if not op or op == "!":
            return v
        a = (self.value(arg) if arg else [""])[0]
        b = (self.value(arg2) if arg2 else [""])[0]
        return values([self.operate(op, s, a, b, arg2 is not None) for s in v], v.taint)

    @staticmethod
    def operate(op, s, a, b, has_b):
        o, twice = op[0], op[1:] == op[0]
        if o in "^,":
            f = str.upper if o == "^" else str.lower
            return f(s) if twice else f(s[:1]) + s[1:]
        if not known(s):
            return ANY
        if o == ":":
            m = re.fullmatch(r" *(\(?-)?(\d+)\)?", a)
            if not m or (has_b and not b.isdigit()):
                return ANY
            at = max(len(s) - int(m.group(2)), 0) if m.group(1) else int(m.group(2))
            return s[at:at + int(b)] if has_b else s[at:]
        if o == "/":
            return ANY if not known(a) or re.search(r"[*?\[\\]", a) else s.replace(a, b, -1 if twice else 1) if a else s
        if o in "#%":
            star = a[:1] == "*" if o == "#" else a[-1:] == "*"
            text = (a[1:] if o == "#" else a[:-1]) if star else a
            if re.search(r"[*?\[\\]", text) or not known(text):
                return ANY
            if not star:
                return s.removeprefix(text) if o == "#" else s.removesuffix(text)
            at = s.rfind(text) if (twice if o == "#" else not twice) else s.find(text)
            return s if at < 0 else s[at + len(text):] if o == "#" else s[:at]
        return ANY

    # walking

    def run_list(self, pipes, inp):
        out = values([""])
        self.depth += 1
        if self.depth > 64:
            raise GiveUp("depth")
        for p in pipes:
            out = join(out, self.run_pipe(p, inp))
        self.depth -= 1
        return out

    def run_pipe(self, p, inp):
        several = len(p["cmds"]) > 1
        inp = self.stdin if inp is None else inp
        if p["bg"] and self.forever:
            self.add("RESOURCES", 2, "endless")
        self.pipe += several
        self.bg += p["bg"]
        self.cond += p["cond"]
        for c in p["cmds"]:
            inp = out = self.run_cmd(c, inp)
        self.pipe -= several
        self.bg -= p["bg"]
        self.cond -= p["cond"]
        return out

    def redirect(self, r, out):
        target = self.value(r["target"])
        if r["kind"] == "here":
            return target
        for t in target:
            if r["kind"] == "dup":
                continue
            if t.startswith(("/dev/tcp/", "/dev/udp/")):
                self.add("NETWORK", 2, t)
                continue
            self.file(t, r["kind"] == "out")
            if r["kind"] == "out" and out is not None:
                self.set(self.files, t, out)
            if r["kind"] == "in" and t in self.files:
                return self.files[t]
        return values([ANY])

    def run_cmd(self, c, inp):
        for r in c["redirs"]:
            if r["kind"] in ("in", "here"):
                inp = self.redirect(r, None)
        if c["kind"] == "simple" and c["words"] == [[("t", "exec", False)]]:
            self.stdin = inp
        if c["kind"] == "function":
            self.functions[c["name"]] = c["body"]
            return values([""])
        out = self.run_simple(c, inp) if c["kind"] == "simple" else self.run_group(c, inp)
        for r in c["redirs"]:
            if r["kind"] == "out":
                self.redirect(r, out)
        return out

    def run_group(self, c, inp):
        v = self.words(c["words"]) if c["words"] else values([""])
        if c["name"]:
            each = values([f for s in v for f in self.fields(s)], v.taint)
            self.set(self.vars, c["name"], each if each else values([ANY]))
        forever = c["loop"] and not c["name"]
        self.cond += c["cond"]
        self.forever += forever
        out = self.run_list(c["body"], inp)
        self.forever -= forever
        self.cond -= c["cond"]
        return out

    def run_simple(self, c, inp):
        for name, append, array, w in c["assigns"]:
            v = (self.words(w) if array else self.value(w)) if w else values([""])
            if append and self.vars.get(name):
                v = join(self.vars[name], v)
            self.set(self.vars, name, v)
            self.assignment(name, v)
        words = [self.word(w) for w in c["words"]]
        if not words:
            return values([""])
        count, most = 1, 1
        for w in words:
            most = max(most, len(w))
            count *= len(w) if count <= 256 else 1
        out, taint = [], 0
        for k in range(count if count <= 256 else most):
            argv, t = [], 0
            for w in words:
                argv += self.fields(w[k % len(w)])
                t |= w.taint
                k //= len(w)
            if not argv:
                continue
            one = self.argv(argv, t, inp)
            out += one
            taint |= one.taint
            self.last = argv[-1]
        return values(out or [""], taint)

    def argv(self, argv, taint, inp):
        self.steps += 1
        if self.steps > 4000:
            raise GiveUp("steps")
        base = argv[0].rpartition("/")[2]
        p = Program(argv, base, taint, inp)
        file = self.files.get(argv[0]) or self.files.get(argv[0].removeprefix("./"))
        if argv[0] in self.functions:
            self.call(p)
        elif base in self.aliases:
            if base not in self.active:
                self.active.add(base)
                for s in self.aliases[base]:
                    self.text(p, values([s + " " + self.joined(p, 1)]))
                self.active.discard(base)
        elif file:
            self.text(p, file)
        elif known(base) and base:
            self.program(p)
        elif not base.strip(ANY + STAR):
            if taint & (NET | CODED):
                self.add("REMOTE_CODE", 2, self.line(argv))
            elif not self.any_program(argv):
                self.add("REMOTE_CODE", 1, self.line(argv))
        else:
            for name in T.NAMES:
                if may_be(base, name):
                    self.program(Program(argv, name, taint, inp))
        return p.out if p.out else values([ANY], p.out.taint if p.out is not None else 0)

    def call(self, p):
        name = p.argv[0]
        if name in self.active:
            if self.pipe or self.bg:
                self.add("RESOURCES", 2, self.line(p.argv))
            return
        self.active.add(name)
        args, self.args = self.args, p.argv
        p.out = self.run_list(self.functions[name], p.inp)
        self.args = args
        self.active.discard(name)

    @staticmethod
    def line(argv):
        return " ".join(argv)[:400]

    @staticmethod
    def joined(p, at):
        return " ".join(plain(s) for s in p.argv[at:])

    def text(self, p, script):
        self.scripts(script)
        if any(ANY in s for s in script):
            if script.taint & (NET | CODED):
                self.add("REMOTE_CODE", 2, self.line(p.argv))
            elif script.taint & MADE:
                self.add("REMOTE_CODE", 1, self.line(p.argv))

    def run_from(self, p, at):
        if at < len(p.argv):
            p.out = self.argv(p.argv[at:], p.taint, p.inp)

    def program(self, p):
        from hook_programs import program
        program(self, p)

    # rules

    def normal(self, f):
        f = f.removeprefix("file://")
        for d in ("/proc/self/root", "/proc/1/root", "/proc/thread-self/root"):
            if under(f, d):
                f = f[len(d):] or "/"
        if under(f, "/proc/self/cwd"):
            f = self.cwd + f[14:]
        if f[:1] == "~" and f[1:2] in ("/", ""):
            f = self.home + f[1:]
        elif f[:1] not in ("/", ANY):
            f = self.cwd + "/" + f
        parts = []
        for c in f.split("/"):
            if c == "..":
                del parts[-1:]
            elif c not in ("", "."):
                parts.append(c)
        return ("" if f[:1] == ANY else "/") + "/".join(parts) or "/"

    def classes(self, field):
        if not field or len(field) > 4096:
            return set()
        path = self.normal(field)
        c = self.place(path)
        for name, pattern in T.PATHS:
            if name not in c and self.matches(path, pattern):
                c.add(name)
        base = path.rpartition("/")[2]
        if base.startswith("known_hosts") or (len(base) > 4 and base.endswith(".pub")):
            c.discard("cred")
        if "tmp" in c:
            c -= {"system", "outside"}
        if under(path, self.root) and under(self.root, "/tmp"):
            c.discard("outside")
        if known(base) and self.masked(base):
            c.add("secretfile")
        if "trusted" not in c and known(path) and self.setting(path):
            c.add("project")
        if c & {"whole", "system"} and "tmp" not in c:
            c.add("hostbind")
        return c

    def matches(self, path, pattern):
        if pattern[0] != "~":
            return fits(path, pattern)
        if path.startswith(self.home + "/"):
            return fits(path[len(self.home):], pattern[1:])
        return (fits(path, self.home + pattern[1:]) or (path.startswith("/home/") and fits(path, "/home/*" + pattern[1:])) or
                (under(path, "/root") and fits(path[5:], pattern[1:])))

    def place(self, path):
        if path[:1] == ANY:
            return {"unknown"} if is_any(path) else set()
        tree = (path[:-2] or "/") if path.endswith("/" + STAR) else path
        own = (under(tree, self.root) and "/" in self.root[1:]) or (under(tree, self.home) and self.home != "/")
        c = set()
        if tree in ("/", "/home", "/Users") or path[:2] == "/" + ANY:
            c.add("whole")
        if fits(tree, self.home):
            c |= {"whole", "home"}
        if fits(tree, self.root):
            c.add("here")
        else:
            up = self.root
            while up.rpartition("/")[0]:
                up = up.rpartition("/")[0]
                if fits(tree, up):
                    c.add("whole")
        for d in T.SYSTEM_DIRS:
            if fits(tree, d):
                c.add("whole")
            elif not own and fits(tree, d + "/**"):
                c.add("system")
        if not under(tree, self.root):
            c.add("outside")
            if tree.startswith(self.home + "/") and "/" not in tree[len(self.home) + 1:]:
                c.add("hometop")
        return c

    @staticmethod
    def masked(name):
        out = False
        for m in T.MASKS:
            if fits(name, m.lstrip("!")):
                out = m[0] != "!"
        return out

    @staticmethod
    def setting(path):
        parts = ["", ""] + path.split("/")
        for parent, name in ((parts[-2], parts[-1]), (parts[-3], parts[-2])):
            for rule in T.TREE:
                d, _, leaf = rule.rpartition("/")
                if (not d or d == parent) and fits(name, leaf):
                    return True
        return False

    def argument(self, s):
        c = set()
        m = re.match(r"[^/:]+:(?!//)", s)
        if m:
            c.add("remote")
        if s[:1] == "-":
            cut = s.find("=")
            if cut < 0 and len(s) > 2 and s[1] != "-" and s[2] in "/~.@":
                cut = 1
            return c | self.argument(s[cut + 1:]) if cut >= 0 else c
        cut = s.rfind("@")
        if cut >= 0 and s[cut + 1:] and (cut == 0 or s[cut - 1] == "="):
            return c | {"file"} | self.classes(s[cut + 1:])
        m = re.match(r"[^/ =]*=(.+)", s, re.S)
        if m:
            c |= self.classes(m.group(1))
        if ":" in s and s[0] in "/~.":
            c |= self.classes(s.partition(":")[0])
        return c | self.classes(s)

    def file(self, path, write):
        c = self.classes(path)
        for name, w, cat, sev in T.FILE_RULES:
            if w == write and name in c:
                self.add(cat, sev, path)
                return

    def assignment(self, name, v):
        text = v[0] if v else ""
        if name == "HISTFILE" or (name in ("HISTSIZE", "HISTFILESIZE") and text == "0"):
            self.add("TRACES", 2, name)
        elif name in ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"):
            self.add("PRIVILEGE", 2, name)
        elif name == "PATH" and any(d in ("", ".") or "tmp" in self.classes(d) for d in text.split(":")):
            self.add("WRITES", 1, name)
        if name in T.RUN_BY_OTHERS:
            self.scripts(v)

    def rules(self, name, argv, taint=0, inp=None):
        a = Args(self, argv, inp)
        for names, when, cat, sev in T.RULES:
            if named(names, name) and all(a.holds(t) for t in when):
                self.add(cat, sev, self.line(argv))
        taint |= inp.taint if inp is not None else 0
        if taint & SECRET and name in T.NET_PROGRAMS:
            self.add("EXFILTRATION", 2, self.line(argv))
        elif inp is not None and inp.taint & SHELL and name in T.NET_PROGRAMS:
            self.add("NETWORK", 2, self.line(argv))
        elif inp and name in ("nc", "ncat", "netcat") and self.pipe:
            self.add("EXFILTRATION", 1, self.line(argv))

    def any_program(self, argv):
        a = Args(self, argv, None)
        for names, when, cat, sev in T.RULES:
            if sev == 2 and any("@" in t for t in when) and names[0] != "*" and all(a.holds(t) for t in when):
                self.add(cat, 2, self.line(argv))
                return True
        return False


class Program:
    def __init__(self, argv, name, taint, inp):
        self.argv, self.name, self.taint, self.inp, self.out = argv, name, taint, inp, None


def word_is(word, field):
    if is_any(field) or len(field) > 255:
        return False
    if "*" in word or "?" in word:
        return may_be(word.replace("*", ANY).replace("?", ONE), field)
    return field == word or (not known(field) and may_be(field, word))


def named(names, name):
    if "!" + name in names:
        return False
    return any(n == name or n == "*" or ("*" in n and n[0] != "!" and word_is(n, name)) for n in names)


class Args:
    def __init__(self, j, argv, inp):
        self.j, self.argv, self.inp, self.operands, over = j, argv, inp, [], False
        self.by_class = [set()]
        for s in argv[1:]:
            self.by_class.append(j.argument(s))
            if not over and s == "--":
                over = True
            elif over or s[:1] != "-" or len(s) < 2:
                self.operands.append(len(self.by_class) - 1)

    def option(self, o):
        for s in self.argv[1:]:
            if s[:1] != "-" or s == "--":
                continue
            if len(o) == 2 and s[1:2] != "-" and (s[1:2] == o[1] or (len(s) <= 10 and s[1:].replace(ANY, "a").isalnum() and o[1] in s)):
                return True
            if s == o or s.startswith(o + "="):
                return True
        return False

    def contains(self, part, last=False):
        r = re.compile(re.escape(part).replace("_", r"(?:\s+|_)"), re.I)
        return any(r.search(s) for s in (self.argv[-1:] if last else self.argv[1:] + list(self.inp or [])))

    def one(self, t, kind):
        last = self.operands[-1] if self.operands else -1
        word = [self.argv[i] for i in self.operands]
        if kind == "~":
            return self.contains(t.lstrip("~"))
        if len(t) > 1 and t[0] == "-":
            return self.option(t)
        if len(t) > 1 and t[0] == "@":
            return any(t[1:] in c for c in self.by_class)
        if t.startswith("$~"):
            return self.contains(t[2:], True)
        if len(t) > 1 and t[0] == "$":
            return last > 0 and t[1:] in self.by_class[last]
        if len(t) > 1 and t[0] == "^":
            return any(t[1:] in c for i, c in enumerate(self.by_class) if i != last)
        if len(t) > 1 and t[0] == "=":
            return word_is(t[1:], self.argv[-1])
        if len(t) > 2 and t[:2] == "..":
            return len(word) > 1 and word_is(t[2:], word[1])
        if len(t) > 1 and t[0] == ".":
            return bool(word) and word_is(t[1:], word[0])
        return any(word_is(t, w) for w in word)

    def holds(self, term):
        no = term[0] == "!"
        term = term[no:]
        return any(self.one(t, term[0]) for t in term.split("|")) != no


# ---- answering ----

def judge(command, cwd, home, env):
    j = Judge(cwd, home, env)
    try:
        j.script(command)
        return max([sev for _, sev, _ in j.findings], default=0), j
    except (GiveUp, RecursionError):
        return 2, j


def main():
    if len(sys.argv) > 1:
        env = {"PATH": "/usr/bin:/bin", "USER": "dev", "SHELL": "/bin/bash", "LANG": "C"}
        for name in sys.argv[1:]:
            with open(name, encoding="utf-8") as f:
                for row in f.read().split("\n"):
                    if row and row[0] != "#":
                        command = row.split("\t", 2)[2].replace("\u2424", "\n")
                        print(("-", "warn", "block")[judge(command, "/home/dev/project", "/home/dev", env)[0]], command.replace("\n", "\u2424"), sep="\t")
        return 0
    try:
        q = json.load(sys.stdin)
        verdict, j = judge(q["tool_input"]["command"], q.get("cwd") or os.getcwd(), os.environ.get("HOME", "/root"), os.environ)
    except (ValueError, KeyError, TypeError):
        print("blocked: not understood", file=sys.stderr)
        return 2
    for (cat, sev, text), _ in j.findings.items():
        if sev == verdict:
            print(cat, text, file=sys.stderr)
    return 2 if verdict == 2 else 0


if __name__ == "__main__":
    sys.exit(main())
