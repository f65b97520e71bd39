#!/bin/bash
# In a fresh system: the tarball ralph-*.tar.xz that lies here. See run.sh.
set -uo pipefail
export DEBIAN_FRONTEND=noninteractive
# shellcheck source=tests/package/promises.bash
. ./promises.bash

# A blank in the path: nothing may be cut at it.
place='/home/plain/some where'

unpacks() {
	apt-get -q -o APT::Sandbox::User=root update
	apt_install xz-utils
	as_plain true
	cp ralph-*.tar.xz /tmp/ralph.tar.xz
	as_plain mkdir -p "$place"
	as_plain tar -C "$place" --strip-components=1 -xf /tmp/ralph.tar.xz
}

works_in() {
	local ralph=$1/bin/ralph

	as_plain "$ralph" version
	as_plain "$ralph" doctor
	as_plain mkdir -p project
	as_plain "$ralph" run --rm project -- true
	test "$(as_plain "$ralph" run --rm project -- echo works)" = works
	as_plain "$ralph" run --rm project -- bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128
		printf "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n" >&3; head -n 1 <&3' | grep 'HTTP/1.1 403'
	as_plain "$ralph" profile show node
	finds_libraries "$1/libexec/ralph"
	mkdir -p /srv/project && cd /srv/project && "$ralph" run --rm -- true
}

moves() {
	mv "$place" /opt/elsewhere
	works_in /opt/elsewhere
}

promise 'it unpacks with what an ordinary user has' unpacks
promise 'it runs where it is unpacked, as an ordinary user and as root' works_in "$place"
promise 'it runs where it is moved to' moves
sum
