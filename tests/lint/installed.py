"""installed.py BUILD: what the build installs is what debian/ralph.install lists, both ways."""
import fnmatch
import json
import subprocess
import sys

PREFIX = "/usr/local/"

with open("debian/ralph.install") as f:
    listed = [line.strip() for line in f if line.strip()]
text = subprocess.run(["meson", "introspect", sys.argv[1], "--installed"], check=True, stdout=subprocess.PIPE).stdout
paths = [path.replace(PREFIX, "usr/", 1) for path in json.loads(text).values()]

bad = [f"{path} is installed and not listed" for path in paths
       if not any(fnmatch.fnmatch(path, pattern) for pattern in listed)]
bad += [f"{pattern} is listed and not installed" for pattern in listed if not fnmatch.filter(paths, pattern)]
for line in sorted(bad):
    print("debian/ralph.install:", line)
sys.exit(1 if bad else 0)
