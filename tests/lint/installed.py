"""installed.py BUILD: what the build installs is what debian/ralph.install lists, both ways; and what it is built
with according to scripts/setup.sh, debian/control says too."""
import fnmatch
import json
import re
import subprocess
import sys

PREFIX = "/usr/local/"

with open("debian/ralph.install") as f:
    listed = [line.split()[0] for line in f if line.strip()]  # what follows is where a package has it
text = subprocess.run(["meson", "introspect", sys.argv[1], "--installed"], check=True, stdout=subprocess.PIPE).stdout
paths = [path.replace(PREFIX, "usr/", 1) for path in json.loads(text).values()]

bad = [f"{path} is installed and not listed" for path in paths
       if not any(fnmatch.fnmatch(path, pattern) for pattern in listed)]
bad += [f"{pattern} is listed and not installed" for pattern in listed if not fnmatch.filter(paths, pattern)]
with open("scripts/setup.sh") as f:
    build = re.search(r'^build="([^"]*)"', f.read(), re.M).group(1).split()
with open("debian/control") as f:
    needed = re.findall(r"[a-z0-9][a-z0-9.+-]+", f.read().split("\nPackage:")[0])
bad += [f"{package} is in scripts/setup.sh and not in debian/control" for package in build
        if package.endswith("-dev") and package not in needed + ["libc6-dev", "libcmocka-dev"]]
for line in sorted(bad):
    print("debian:", line)
sys.exit(1 if bad else 0)
