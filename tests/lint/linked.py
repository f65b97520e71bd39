"""How the installed programs are put together: each is linked once more, with a map that says which functions and data --gc-sections
keeps, of which source file, and which libraries it takes them from. Needs a finished build."""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import tempfile

# A line of the map: an input section with address, size and object; a long name has them on the next line.
SECTION = re.compile(r"^ (\.(?:text|rodata|data|bss)[^\s]*)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+(.+)$", re.M)
SUFFIX = re.compile(r"\.(?:part|constprop|isra|cold|lto_priv)(?:\.\d+)?|\.\d+$")
LIBRARY = re.compile(r"lib([\w+-]+?)\.(?:a|so)\b")
# As people call them. The compiler's own parts, which every program has, are not here.
LIBRARIES = {"cap-ng": "libcap-ng", "crypto": "OpenSSL", "curl": "libcurl", "git2": "libgit2", "idn2": "libidn2",
             "jansson": "jansson", "md": "libmd", "nghttp2": "nghttp2", "seccomp": "libseccomp", "sqlite3": "SQLite", "ssl": "OpenSSL",
             "unistring": "libunistring", "yaml": "libyaml", "z": "zlib"}
OF_THE_COMPILER = {"c", "c_nonshared", "gcc", "gcc_eh", "gcc_s", "m", "ssp_nonshared"}


class Program:
    def __init__(self, text, needed):
        self.kept = {}  # source file: names of its functions and data that are kept
        self.known = {}  # the same, with those that are not
        self.libc = "musl" if "-musl/" in text else "glibc"
        self.shared = named(LIBRARY.findall("\n".join(line for line in needed.splitlines() if "(NEEDED)" in line)))
        self.libraries = {self.libc} | self.shared
        self.static = "(NEEDED)" not in needed


def named(libraries):
    return {LIBRARIES[library] for library in libraries if library not in OF_THE_COMPILER}


def run(*argv, **more):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def installed(build):
    """name: path below the build directory, of every program that is installed."""
    ret = {}
    for target in json.loads(run("meson", "introspect", build, "--targets")):
        for path in target["filename"] if target["installed"] else []:
            with open(path, "rb") as f:
                if f.read(4) == b"\x7fELF":
                    ret[os.path.basename(path)] = os.path.relpath(path, os.path.realpath(build))
    return ret


def relink(build, target, scratch):
    """The map, and the sources of a program that is compiled and linked in one go."""
    command = run("ninja", "-C", build, "-t", "commands", "-s", target).strip()
    argv = [arg for arg in shlex.split(command) if arg != "-s"]
    argv[argv.index("-o") + 1] = os.path.join(scratch, "program")
    out = os.path.join(scratch, "map")
    run(*argv, "-Wl,-Map=" + out, "-Wl,--strip-debug", cwd=build)
    with open(out, encoding="utf-8") as f:
        return f.read(), [arg for arg in argv if arg.endswith(".c")]


def objects(build):
    """Object file: its source, both from where one compiles."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        return {row["output"]: row["file"] for row in json.load(f)}


def source_of(build, sources, owner):
    """Of "src/base/libbase.a(buf.c.o)" or "src/cli/cli.p/main.c.o"; None: not ours."""
    owner = re.sub(r"^(.*\.a)\((.*)\)$", r"\1.p/\2", owner)
    path = sources.get(os.path.normpath(owner))
    path = path and os.path.relpath(os.path.join(os.path.realpath(build), path), os.path.realpath("."))
    return path if path and path.startswith("src/") else None


def symbol(section):
    return SUFFIX.sub("", re.sub(r"^\.(?:text|rodata|data\.rel\.ro\.local|data\.rel\.ro|data\.rel\.local|data\.rel|data|bss)(?:\.(?:unlikely|hot|startup|exit))?\.", "", section))


def read_map(program, text, build, sources):
    text = re.sub(r"^( \.[^\s]+)\n +", r"\1 ", text, flags=re.M)
    discarded, rest = text.split("\nMemory Configuration\n")
    for part, keeps in ((discarded, False), (rest, True)):
        for section, size, owner in SECTION.findall(part):
            source = source_of(build, sources, owner)
            if int(size, 16) == 0:
                continue
            if source:
                program.known.setdefault(source, set()).add(symbol(section))
                if keeps:
                    program.kept.setdefault(source, set()).add(symbol(section))
            elif keeps:
                program.libraries |= named(LIBRARY.findall(os.path.basename(owner.partition("(")[0])))


def link(build, target, common):
    with tempfile.TemporaryDirectory() as scratch:
        text, alone = relink(build, target, scratch)
        program = Program(text, run("readelf", "-d", os.path.join(scratch, "program")))
    sources = dict(common)
    if alone:  # the compiler's temporary objects are linked in the order of their sources
        sources.update(zip(re.findall(r"^LOAD (/\S+/cc\w+\.o)$", text, re.M), alone))
    read_map(program, text, build, sources)
    return program


def programs(build):
    """Every installed program, by its name."""
    common = objects(build)
    targets = installed(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda target: link(build, target, common), targets.values())
        return dict(zip(targets, done))
