# runs: root user
# Files into a sandbox and out of it: what the agent made of them harms nobody.
# shellcheck disable=SC2016,SC2154 # text for shells inside; bats sets stderr
load ../cli/helpers
load ../cli/sandbox

setup() {
	ralph_setup
	S=cp-${WS##*-}
}

@test 'files and trees go in and out, of a live sandbox and of a stopped one' {
	ralph run -n "$S" -- sh -c 'mkdir -p ~/d/e; echo one >~/d/e/f; ln -s e/f ~/d/link; chmod 755 ~/d/e/f'
	ralph cp "$S:$HOME/d" "$T/out"
	same one "$(cat "$T/out/e/f")"
	same e/f "$(readlink "$T/out/link")"
	same 755 "$(stat -c %a "$T/out/e/f")"
	mkdir "$T/in"
	echo two >"$T/in/g"
	ralph run -d -n "$S"
	ralph cp "$T/in" "$S:$HOME/d"
	same two "$(ralph exec "$S" cat "$HOME/d/in/g")"
	ralph cp "$T/in/g" "$S:here"
	same two "$(cat "$WS/here")"
	(cd "$T" && "$RALPH" cp "$S:here" .)
	same two "$(cat "$T/here")"
	ralph cp "$S:file" "$T/in/g"
	same content "$(cat "$T/in/g")"
	rm "$WS/here"
}

@test 'links that lead out, devices, pipes and sockets do not come out, and each is said' {
	echo precious >"$HOME/precious"
	ralph run -n "$S" -- python3 -c '
import os, socket, sys
os.chdir(os.environ["HOME"]); os.mkdir("d"); os.chdir("d")
os.symlink(sys.argv[1], "absolute"); os.symlink("../../../../../etc/shadow", "climbs"); os.symlink("x/../../y", "around")
os.symlink("file", "fine"); open("file", "w").write("x")
os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("sock")
os.chmod("file", 0o4777)' "$HOME/precious"
	run --separate-stderr timeout 20 "$RALPH" cp "$S:$HOME/d" "$T/out"
	same 0 "$status"
	same "file fine " "$(cd "$T/out" && printf '%s ' *)"
	same 777 "$(stat -c %a "$T/out/file" | sed 's/^0*//')" || same 755 "$(stat -c %a "$T/out/file")"
	for name in absolute climbs around fifo sock; do
		has "$stderr" "$name"
	done
}

@test 'a link in the way is never followed, neither out of the sandbox nor into it' {
	echo precious >"$HOME/precious"
	mkdir "$T/target"
	ralph run -n "$S" -- sh -c 'ln -s "$1" ~/to-file; ln -s "$2" ~/to-dir; mkdir ~/real' - "$HOME/precious" "$T/target"
	must_fail ralph cp "$S:$HOME/to-dir/x" "$T/out"
	ralph cp "$S:$HOME/to-file" "$T/out" 2>"$T/err"
	[ ! -e "$T/out" ]
	echo mine >"$T/mine"
	# What is written replaces the link, and not what it points to.
	ralph cp "$T/mine" "$S:$HOME/to-file"
	same precious "$(cat "$HOME/precious")"
	ralph cp "$T/mine" "$S:$HOME/to-dir"
	same "" "$(ls -A "$T/target")"
	must_fail ralph cp "$T/mine" "$S:$HOME/to-dir/x"
	# A link that the agent left in the workspace is not followed as a target of the host either.
	ln -s "$HOME/precious" "$WS/trap"
	ralph cp "$S:file" "$WS/trap"
	same precious "$(cat "$HOME/precious")"
	rm "$WS/trap"
	ln -s "$T/target" "$WS/dir"
	mkdir "$WS/dir2"
	ralph cp "$S:file" "$WS/dir2"
	[ -e "$WS/dir2/file" ]
	rm -r "$WS/dir" "$WS/dir2"
}

@test 'a huge file with a hole stays small, and one larger than the disk is refused' {
	ralph run -n "$S" -- sh -c 'truncate -s 100G ~/hole; echo end >>~/hole'
	timeout 60 "$RALPH" cp "$S:$HOME/hole" "$T/hole"
	same 107374182404 "$(stat -c %s "$T/hole")"
	same True "$(python3 -c 'import os, sys; print(os.stat(sys.argv[1]).st_blocks < 1000)' "$T/hole")"
	only_root
	need unshare
	mkdir "$T/small"
	ralph run -n "$S" -- sh -c 'head -c 20M /dev/zero | tr "\0" x >~/big'
	must_exit 1 unshare -m bash -c 'mount -t tmpfs -o size=70M none "$T/small" && exec "$RALPH" cp "$1:$HOME/big" "$T/small/x"' - "$S"
}

@test 'trees deeper than a limit end with an error and not with a crash' {
	ralph run -n "$S" -- python3 -c '
import os
os.chdir(os.environ["HOME"]); os.mkdir("deep"); os.chdir("deep")
for i in range(400):
    os.mkdir("d"); os.chdir("d")'
	run --separate-stderr ralph cp "$S:$HOME/deep" "$T/out"
	same 1 "$status"
	has "$stderr" "deeper"
}

@test 'what is not of the sandbox is refused: system, memory, other paths, wrong words' {
	ralph run -d -n "$S"
	must_exit 2 ralph cp file "$S:/usr/bin/x"
	must_exit 2 ralph cp file "$S:/etc/x"
	must_exit 2 ralph cp "$S:/tmp/x" "$T/x"
	must_exit 2 ralph cp "$S:$HOME/../x" "$T/x"
	must_exit 2 ralph cp "$S:/" "$T/x"
	must_exit 2 ralph cp "$S:$HOME" "$T/x"
	must_exit 2 ralph cp file other
	must_exit 2 ralph cp "$S:file" "$S:other"
	must_exit 1 ralph cp no-such-sandbox:file "$T/x"
	must_exit 1 ralph cp "$S:no-such-file" "$T/x"
	# What is protected in the workspace is not written by this way either.
	must_exit 2 ralph cp file "$S:.git/config"
	must_exit 2 ralph cp file "$S:.git/hooks/post-commit"
}

@test 'a link of the agent in the workspace leads nothing that comes out to elsewhere' {
	mkdir "$HOME/private" "$WS/plain" "$WS/plain/deep"
	echo mine >"$HOME/private/x"
	ralph run -n "$S" -- sh -c 'echo theirs >~/x; ln -s "$1" out; ln -s "$1/x" leaf' - "$HOME/private"
	cd "$WS"
	for to in out/x out out/new leaf ./plain/../out/x; do
		ralph cp "$S:$HOME/x" "$to" 2>"$T/err" || :
		same mine "$(cat "$HOME/private/x")"
		same x "$(ls "$HOME/private")"
		rm -f leaf
		ln -s "$HOME/private/x" leaf
	done
	# Neither is anything behind it read for the agent.
	must_fail ralph cp out/x "$S:$HOME/y"
	ralph cp "$S:$HOME/x" plain/deep/x
	same theirs "$(cat plain/deep/x)"
}
