"""The host's side of the demo: listens on what the sandbox must not reach, and writes down who came.

Arguments: a unix socket, an abstract socket, a file for the TCP port, a file for the visitors.
"""
import os
import selectors
import socket
import sys

path, abstract, port_file, visitors = sys.argv[1:]
selector = selectors.DefaultSelector()


def listen(name, family, address):
    s = socket.socket(family)
    s.bind(address)
    s.listen()
    selector.register(s, selectors.EVENT_READ, name)
    return s


listen("unix socket", socket.AF_UNIX, path)
listen("abstract socket", socket.AF_UNIX, "\0" + abstract)
tcp = listen("tcp", socket.AF_INET, ("127.0.0.1", 0))
with open(port_file + ".new", "w") as f:
    f.write(str(tcp.getsockname()[1]))
# The file appears whole or not at all: its name is what the demo waits for.
os.rename(port_file + ".new", port_file)
while True:
    for key, _ in selector.select():
        key.fileobj.accept()[0].close()
        with open(visitors, "a") as f:
            f.write(key.data + "\n")
