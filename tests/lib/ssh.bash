# A real sshd for tests/fleet: `load ../lib/ssh` after `load ../cli/helpers`. It has keys and settings of its own, and no port: ssh
# starts it for each connection and talks to it over a pipe, so it ends with the connection.
# shellcheck shell=bash

# ssh_up: `ssh HOST` of $T/bin reaches this machine as this user, whatever HOST is, and $T/ssh/asked has its words.
ssh_up() {
	need ssh sshd ssh-keygen || return
	mkdir -m 0700 "$T/ssh" "$T/bin"
	ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/host"
	ssh-keygen -q -t ed25519 -N '' -f "$T/ssh/user"
	cp "$T/ssh/user.pub" "$T/ssh/authorized"
	printf '* %s\n' "$(cut -d' ' -f1,2 "$T/ssh/host.pub")" >"$T/ssh/known"
	cat >"$T/ssh/sshd_config" <<-EOF
		HostKey $T/ssh/host
		AuthorizedKeysFile $T/ssh/authorized
		StrictModes no
		PasswordAuthentication no
		PidFile none
		SetEnv XDG_STATE_HOME=$T/node-state TMPDIR=/tmp
	EOF
	cat >"$T/ssh/config" <<-EOF
		Host *
		ProxyCommand $(command -v sshd) -i -e -f $T/ssh/sshd_config -E $T/ssh/log
		IdentityFile $T/ssh/user
		IdentitiesOnly yes
		UserKnownHostsFile $T/ssh/known
	EOF
	printf '#!/bin/sh\necho "$*" >>%q\nexec %q -F %q "$@"\n' "$T/ssh/asked" "$(command -v ssh)" "$T/ssh/config" >"$T/bin/ssh"
	chmod +x "$T/bin/ssh"
	PATH=$T/bin:$PATH
}
