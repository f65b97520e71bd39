"""image.py NAME DIR OUT: an image of one layer, with what DIR holds, as an archive that containerd imports."""
import hashlib
import io
import json
import sys
import tarfile

name, tree, out = sys.argv[1:]
layer = io.BytesIO()
with tarfile.open(fileobj=layer, mode="w") as t:
    t.add(tree, arcname=".")
layer = layer.getvalue()
digest = hashlib.sha256(layer).hexdigest()
config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "Cmd": ["/pause"]},
                     "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]}, "history": [{}]}).encode()
key = hashlib.sha256(config).hexdigest() + ".json"
with tarfile.open(out, "w") as t:
    manifest = json.dumps([{"Config": key, "RepoTags": [name], "Layers": [digest + "/layer.tar"]}]).encode()
    for path, data in ((key, config), (digest + "/layer.tar", layer), ("manifest.json", manifest)):
        info = tarfile.TarInfo(path)
        info.size = len(data)
        t.addfile(info, io.BytesIO(data))
