"""hook_tables.py SOURCE >tables.py: the tables of src/hook as Python, for hook.py."""
import re
import sys

root = sys.argv[1]
STRING = r'"((?:\\.|[^"\\])*)"'


def read(name, where="src"):
    with open(f"{root}/{where}/{name}", encoding="utf-8") as f:
        return f.read()


def block(text, start):
    """What is between the braces of a definition."""
    return re.search(re.escape(start) + r".*?= \{(.*?)\n?\};", text, re.S).group(1)


def strings(text):
    return [s.encode().decode("unicode_escape") for s in re.findall(STRING, text)]


severity = {"BLOCK": 2, "WARN": 1}
rules = [(tuple(n.split()), tuple(w.split()), c, severity[s]) for n, w, c, s in
         re.findall(r'^R\("([^"]*)", "([^"]*)", (\w+), (\w+),', read("hook/rules.def"), re.M)]
# The agents' own files are made by the build.
paths = read("hook/paths.c") + read("hook/agent-paths.h", "build/src")
files = read("hook/rules-files.c")
wrappers = read("hook/wrappers.c")
code = read("hook/code.c")
names = strings(block(wrappers, "static const char *const more[]"))
rows = re.findall(r'\{"([^"]+)",\s*"([^"]*)",\s*(\d+),\s*(true|false),\s*(true|false)\}', block(wrappers, "static const struct wrapper wrappers[]"))
names += [r[0] for r in rows] + [n for r in rules for n in r[0] if n[0] != "!" and "*" not in n]
outputs = block(read("hook/outputs.c"), "} outputs[]")
protect = read("policy/protect.c")
print("RULES =", rules)
print("NAMES =", list(dict.fromkeys(names)))
print("PATHS =", [(c.lower(), p) for c, p in re.findall(r'\{PATH_(\w+),\s*"([^"]+)"\}', paths)])
print("SYSTEM_DIRS =", strings(block(paths, "static const char *const system_dirs[]")))
print("FILE_RULES =", [(c.lower(), w == "true", k, severity[s]) for c, w, k, s in
                       re.findall(r"\{PATH_(\w+),\s*(true|false),\s*CAT_(\w+),\s*SEV_(\w+)", files)])
print("RUN_BY_OTHERS =", strings(block(files, "static const char *const run_by_others[]")))
print("CHANGING =", strings(block(read("hook/shell/expand-param.c"), "static const char *const names[]")))
print("NET_PROGRAMS =", strings(block(read("hook/rules.c"), "static const char *const net_programs[]")))
print("SHELLS =", strings(block(read("hook/shells.c"), "static const char *const shells[]")))
print("WRAPPERS =", {n: (tuple(v.split()), int(s), a == "true", b == "true") for n, v, s, a, b in rows})
print("RUN_WORDS =", set(re.findall(r'\{"([^"]+)",\s*"([^"]+)"\}', block(wrappers, "static const char *const pairs[][2]"))))
print("CODE =", {k: strings(block(code, f"static const char *const {k}[]")) for k in
                 ("runs", "removes", "writes", "decodes", "evaluates", "fetches", "sockets", "shells_over", "dumps")})
print("LANGUAGES =", {n: tuple(o.split()) for n, o in re.findall(r'\{"([^"]+)",\s*"([^"]+)"\}', block(code, "} languages[]"))})
print("TOLD =", set(re.findall(r'\{"([^"]+)",\s*told', outputs)))
print("MASKS =", strings(block(protect, "static const char *const masks[]")))
print("TREE =", strings("".join(re.findall(r"^\t\{(\"[^\"]+\"),", block(protect, "static const struct protect_rule tree_rules[]"), re.M))))
