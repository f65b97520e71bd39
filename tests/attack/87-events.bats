#!/usr/bin/env bats
# runs: user
# The event log against what is inside: it floods, it sends escape sequences, it looks for the log.
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
load ../cli/helpers
load ../cli/sandbox

setup() {
	need python3
	ralph_setup
	cat >"$WS/flood.py" <<-'END'
		import socket, sys
		# One connection after the other, each refused: N times the same host, or N different ones.
		n, different = int(sys.argv[1]), sys.argv[2] == "different"
		for i in range(n):
		    s = socket.create_connection(("127.0.0.1", 3128))
		    host = f"h{i}.flood.test" if different else "same.flood.test"
		    s.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
		    s.recv(4096)
		    s.close()
	END
}

record() {
	echo "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)"
}

# bytes: of all files of the log.
bytes() {
	cat "$(record)"/events*.jsonl | wc -c
}

# refusals: how many the log tells of, and in how many records.
refusals() {
	ralph events --type net --json | python3 -c '
import json, sys
n = [json.loads(l)["count"] for l in sys.stdin if "flood.test" in l or "(many)" in l]
print(sum(n), len(n))'
}

@test 'a flood of the same refused connection is a few records that count all of them' {
	ralph run -- true
	before=$(bytes)
	ralph run -- python3 flood.py 5000 same
	# The gateway's own count and the log's are the same: nothing is lost, nothing told twice.
	read -r sum records <<<"$(refusals)"
	same 5000 "$sum"
	[ "$records" -le 20 ] || fail "$records records"
	[ $(($(bytes) - before)) -lt 16384 ] || fail "the log grew from $before to $(bytes) bytes"
	ralph events verify
}

@test 'a flood of different names is bounded and counted in full' {
	ralph run -- true
	ralph run -- python3 flood.py 20000 different
	read -r sum records <<<"$(refusals)"
	same 20000 "$sum"
	# The supply of records, and what refilled while the test ran.
	[ "$records" -le 5000 ] || fail "$records records"
	ralph events verify
}

@test 'what was done before a flood is still in the log after it' {
	ralph run -- echo before-the-flood >/dev/null
	ralph run -- python3 flood.py 20000 different
	has "$(ralph events --type exec)" before-the-flood
	[ "$(bytes)" -lt $((4 * 1024 * 1024)) ] || fail "$(bytes) bytes"
}

@test 'escape sequences in names, paths and arguments are shown and not sent' {
	ralph run --detach
	name=$(sandbox)
	ralph exec "$name" bash -c 'for host in "a\033]0;gotcha\007b" "c\xc2\x9b1md" "e\xe2\x80\xaef" "g\rh"; do
		exec 3<>/dev/tcp/127.0.0.1/3128
		printf "GET http://$host.test/p\033[2Jq HTTP/1.1\r\nHost: x\r\n\r\n" >&3; timeout 5 cat <&3; done' >/dev/null || :
	ralph exec "$name" true $'\e[31m\u202e\u009b' || :
	ralph exec "$name" bash -c 'mkdir -p .vscode; touch $'"'"'.git/hooks/\e[31m'"'"' 2>/dev/null; true'
	wait_until grep -q gotcha "$(record)/events.jsonl"
	{
		ralph events --color always
		ralph events --json
		ralph status
		ralph status --json
	} >"$T/out"
	for id in $(ralph events --json | python3 -c 'import json, sys
for l in sys.stdin: print(json.loads(l)["seq"])'); do
		ralph why "$id" >>"$T/out" || :
	done
	has "$(cat "$T/out")" 'gotcha'
	# The only sequences are ralph's own colours.
	sed -e 's/\x1b\[[0-9]*m//g' "$T/out" >"$T/bare"
	! LC_ALL=C grep -q -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80\xae' "$T/bare" || fail "raw bytes: $(cat -v "$T/bare" | grep -P '\^|M-' | head)"
	lacks "$(sed 's/\x1b\[\(0\|1\|2\|31\|32\|33\|36\)m//g' "$T/out")" $'\e'
	ralph events verify
}

# bats test_tags=root
@test 'nothing inside finds the log, by any of its paths' {
	ralph run --detach
	name=$(sandbox)
	dir=$(record)
	ralph exec "$name" python3 - "$dir" <<-'END' >"$T/out"
		import glob, os, sys
		d = sys.argv[1]
		home = os.environ["HOME"]
		paths = [d, d + "/events.jsonl", d + "/events.head", d + "/home/../events.jsonl", home + "/../events.jsonl",
		         home + "/../../events.jsonl", "/proc/1/root" + d + "/events.jsonl", "/proc/1/cwd/events.jsonl",
		         "/proc/self/root/../.." + d]
		for p in paths:
		    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC):
		        try:
		            os.close(os.open(p, flags))
		            print("OPENED", p)
		        except OSError:
		            pass
		# A descriptor of it that was forgotten would be here.
		for fd in glob.glob("/proc/[0-9]*/fd/*"):
		    try:
		        if "events" in os.readlink(fd):
		            print("FD", fd, os.readlink(fd))
		    except OSError:
		        pass
		# A link in its own home leads into its own file system.
		os.symlink("../events.jsonl", home + "/events.jsonl")
		try:
		    open(home + "/events.jsonl", "a").write("forged\n")
		except OSError:
		    pass
		print("done")
	END
	same "done" "$(cat "$T/out")"
	lacks "$(cat "$dir/events.jsonl")" forged
	ralph stop "$name"
	# The host does not follow that link either.
	ralph run -- true
	ralph events verify
	has "$(head -n 1 "$dir/events.jsonl")" '"type":"sandbox-start"'
}

@test 'a program inside that speaks to the control socket adds no event' {
	ralph run --detach
	name=$(sandbox)
	ralph exec "$name" python3 - <<-'END' >"$T/out"
		import glob, socket
		# Whatever socket it can find, of any kind.
		for p in glob.glob("/run/**/*", recursive=True) + glob.glob("/tmp/**/*", recursive=True):
		    for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM, socket.SOCK_DGRAM):
		        try:
		            socket.socket(socket.AF_UNIX, kind).connect(p)
		            print("CONNECTED", p)
		        except OSError:
		            pass
		print("done")
	END
	same "done" "$(cat "$T/out")"
	lacks "$(ralph events)" forged
}
