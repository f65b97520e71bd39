"""mkimage.py NAME [AGE_IN_DAYS [TEXT]]: an image as `docker load` and `podman load` take it, on stdout.
It holds busybox with its commands, made so many days ago; TEXT is in its /text, so that no two are the same."""
import hashlib
import io
import json
import sys
import tarfile
import time

APPLETS = "sh cat echo ls mkdir rm cp mv chmod test true false id sleep touch env date grep head tail wc sort printf"
NAMES = {"root": 0, "agent": 1000}


def add(tar, name, data=None, mode=0o755, link=None):
    info = tarfile.TarInfo(name)
    info.mode = mode
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    elif data is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(data)
    tar.addfile(info, io.BytesIO(data) if data is not None else None)


def layer(text):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in "bin dev etc home home/agent proc root run sys usr usr/bin var".split():
            add(tar, name)
        add(tar, "tmp", mode=0o1777)
        with open("/bin/busybox", "rb") as f:
            add(tar, "bin/busybox", f.read())
        for name in APPLETS.split():
            add(tar, "bin/" + name, link="busybox")
            add(tar, "usr/bin/" + name, link="../../bin/busybox")
        add(tar, "etc/passwd", "".join(f"{n}:x:{i}:{i}::/home/{n}:/bin/sh\n" for n, i in NAMES.items()).encode(), 0o644)
        add(tar, "etc/group", "".join(f"{n}:x:{i}:\n" for n, i in NAMES.items()).encode(), 0o644)
        add(tar, "text", text.encode(), 0o644)
    return out.getvalue()


def main(name, days="0", text=""):
    content = layer(text)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86400 * float(days)))
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "created": created, "config": {"Env": ["PATH=/bin"], "Cmd": ["sh"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]},
        "history": [{"created": created, "created_by": "mkimage"}],
    }).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        add(tar, config_name, config, 0o644)
        add(tar, "layer.tar", content, 0o644)
        add(tar, "manifest.json", manifest, 0o644)


main(*sys.argv[1:])
