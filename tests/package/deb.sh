#!/bin/bash
# In a fresh system: the Debian package ralph_*.deb that lies here. See run.sh.
set -uo pipefail
export DEBIAN_FRONTEND=noninteractive
# shellcheck source=tests/package/promises.bash
. ./promises.bash

package=$(echo ./ralph_*.deb)

# By the commands of the manual, as a user with sudo. What that page needs of a system besides comes first.
installs() {
	apt-get -q -o APT::Sandbox::User=root update
	apt_install sudo git curl python3
	echo 'Apt::Sandbox::User "root";' >/etc/apt/apt.conf.d/90test
	as_plain true
	echo 'plain ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/plain
	cp "$package" /home/plain/
	as_plain python3 /given/source/tests/lib/page.py --part install /given/source/docs/getting-started.md
	rm /etc/sudoers.d/plain
	test "$(ralph version)" = "ralph $(dpkg-query -W -f '${Version}' ralph)"
}

works() {
	ralph doctor
	mkdir -p /srv/project && cd /srv/project && ralph run --rm -- true
	as_plain mkdir -p project
	test "$(as_plain ralph run --rm project -- echo works)" = works
	# The gateway, which has libraries of its own, answers: no host is allowed.
	as_plain ralph run --rm project -- bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128
		printf "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n" >&3; head -n 1 <&3' | grep 'HTTP/1.1 403'
	finds_libraries /usr/libexec/ralph
}

has_manual_and_completion() {
	for page in ralph.1 ralph-run.1 ralph-config.5 ralph-security.7 dclaude.1; do
		gzip -dc "/usr/share/man/man${page##*.}/$page.gz" | grep -q '^.SH NAME'
	done
	bash -n /usr/share/bash-completion/completions/ralph
	grep -q '^#compdef' /usr/share/zsh/vendor-completions/_ralph
	grep -q '^complete -c ralph' /usr/share/fish/vendor_completions.d/ralph.fish
	test -f /usr/share/ralph/docker/agent-loop/claude/Dockerfile
}

# A parser that knows the rule has the directory of its interface; here there is none, and none is loaded.
has_profile() {
	test ! -e /etc/apparmor.d/ralph
	mkdir -p /etc/apparmor.d/abi
	touch /etc/apparmor.d/abi/4.0
	dpkg-reconfigure ralph
	grep -q userns /etc/apparmor.d/ralph
}

# As a Debian machine does it. Nothing that these tests do needs a container of its own.
passes_its_tests() {
	apt_install autopkgtest
	autopkgtest --no-built-binaries --user plain --ignore-restrictions isolation-container "$package" /given/source/ -- null \
		>/tmp/tests 2>&1 || {
		grep -A 12 '^not ok' /tmp/tests
		tail -n 20 /tmp/tests
		return 1
	}
	grep -x 'installed            PASS' /tmp/tests
}

# The rest of the page, with the real Claude Code and a scripted provider, in a network of its own.
does_as_the_manual_says() {
	apt_install bats iproute2 openssl procps
	as_plain env RALPH=/usr/bin/ralph RALPH_AGENTS=/given/agents RALPH_TEST_REQUIRE=all TERM=dumb \
		bats --formatter tap /given/source/tests/agents/60-getting-started.bats
}

# The same package once more, as a later version.
newer() {
	rm -rf /tmp/newer && dpkg-deb -R "$package" /tmp/newer
	sed -i 's/^Version: .*/&+later/' /tmp/newer/DEBIAN/control
	dpkg-deb -b /tmp/newer /tmp/newer.deb
}

keeps_state() {
	newer
	as_plain mkdir -p kept
	as_plain ralph run -n kept kept -- sh -c 'echo mine >~/note'
	as_plain ralph up -d --yes -n live kept
	as_plain ralph exec live sh -c 'echo before >/tmp/live'
	dpkg -i /tmp/newer.deb
	ralph version | grep -F +later || dpkg-query -W -f '${Version}' ralph | grep -F +later
	as_plain ralph ls -q | grep -x kept
	test "$(as_plain ralph run -n kept kept -- sh -c 'cat ~/note')" = mine
	# What ran goes on, and the new command line talks to it.
	test "$(as_plain ralph exec live cat /tmp/live)" = before
	as_plain ralph stop live
}

is_removed() {
	apt-get -q -y purge ralph
	test ! -e /usr/bin/ralph && test ! -e /usr/libexec/ralph && test ! -e /usr/share/ralph
	test ! -e /etc/apparmor.d/ralph && test ! -L /etc/apparmor.d/ralph
	test -f /home/plain/.local/state/ralph/sandboxes/kept/home/note
}

promise 'the getting-started page installs the package, and what it needs, in a system that has nothing' installs
promise 'it works, for root and for an ordinary user, with the gateway' works
promise 'manual pages, and completion where each shell looks for it' has_manual_and_completion
promise 'the AppArmor profile is there where the parser knows its rule, and only there' has_profile
promise 'the getting-started page does what it says, from top to bottom, as an ordinary user' does_as_the_manual_says
promise 'autopkgtest runs the tests of the package on what is installed' passes_its_tests
promise 'an upgrade keeps state, and what runs goes on' keeps_state
promise 'purging takes everything of the package, and nothing of a user' is_removed
sum
