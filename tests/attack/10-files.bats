# runs: root user
# Files of the host: what is not in the sandbox, and what is there to be read only.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
load attack

@test "the host's home is not readable" {
	mkdir -p "$HOME/.ssh" "$HOME/.aws"
	echo key >"$HOME/.ssh/id_ed25519"
	echo key >"$HOME/.aws/credentials"
	echo x >"$HOME/.netrc"
	inside unreadable "$HOME/.ssh/id_ed25519" "$HOME/.aws/credentials" "$HOME/.netrc"
	inside absent "$HOME/.ssh" "$HOME/.aws" "$HOME/.netrc" "$HOME/.local/state" "$XDG_STATE_HOME" "$XDG_CONFIG_HOME"
}

@test 'homes of others are not there' {
	local own=${HOME%/*} d homes=()

	for d in /root /home/*; do
		[ ! -d "$d" ] || [[ $own/ == "$d"/* ]] || homes+=("$d")
	done
	inside absent "${homes[@]}"
}

@test "the workspace's neighbours are not there" {
	mkdir "$T/neighbour" "$HOME/neighbour"
	inside absent "$T/neighbour" "$HOME/neighbour"
}

@test 'files of /etc that may hold secrets are not there' {
	inside absent /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /etc/gitconfig /etc/npmrc /etc/pip.conf \
		/etc/machine-id /etc/fstab /etc/crontab /etc/environment /etc/security /etc/pam.d /etc/ssl/private \
		/etc/pki/tls/private /etc/maven/settings.xml /etc/docker /etc/NetworkManager /etc/wpa_supplicant
}

@test 'no file of /etc or /sys is readable that the host does not show to everybody' {
	inside owners-files /etc /sys
}

@test '/var, /srv, /mnt, /media, /boot and /lost+found of the host are not there' {
	inside absent /var/lib /var/log /var/spool /var/cache /srv /mnt /media /boot /lost+found /root
}

@test '/tmp and /run are not those of the host' {
	local f

	f=$(mktemp /tmp/ralph-attack.XXXXXX)
	inside absent "$f" /run/systemd /run/lock /run/dbus /run/docker.sock /run/udev /run/utmp "$T/state"
	rm "$f"
}

@test 'system directories, the root, the guest and the kernel are not writable' {
	local p=(/ /usr /usr/bin /usr/bin/env /etc /etc/passwd /etc/ld.so.cache /run/ralph/guest /dev /proc/sys /proc/sys/kernel)

	[ ! -d /opt ] || p+=(/opt)
	[ ! -d /sys/devices/system/cpu ] || p+=(/sys/devices/system/cpu)
	[ -z "${ATTACK_OUTSIDE:-}" ] || p=(/usr /usr/bin/env)
	inside unwritable "${p[@]}"
}

@test 'core_pattern and every other file of /proc outside of processes is read-only' {
	inside proc-files >"$T/out" || fail "$(head -n 20 "$T/out")"
}

@test 'the masked paths of /proc give nothing' {
	local p readable=()

	for p in /proc/kcore /proc/keys /proc/timer_list /proc/sched_debug /proc/sysrq-trigger /proc/kmsg /proc/interrupts; do
		[ ! -e "$p" ] || readable+=("$p")
	done
	inside unreadable "${readable[@]}"
	inside absent /proc/acpi/wakeup /proc/scsi/scsi /proc/asound/cards /proc/fs/ext4 /sys/firmware /sys/kernel /sys/fs
}

@test 'device nodes cannot be made' {
	inside devices . "$HOME" /tmp /dev/shm
}

@test '/dev has the minimal nodes and no terminal of the host' {
	inside minimal-dev
}

@test 'no cgroup file system is there to leave a release agent in' {
	inside absent /sys/fs/cgroup
	same "" "$(ralph run --rm -- grep -E ' cgroup2? ' /proc/self/mountinfo)"
}

@test 'files are not opened by handle around the directories above them' {
	inside handles .
}

@test 'files of the host get no second name in the workspace' {
	local f=(/usr/bin/env /etc/passwd)

	[ -n "${ATTACK_OUTSIDE:-}" ] || f+=(/run/ralph/guest)
	cp /usr/bin/env "$HOME/tool"
	[ -z "${ATTACK_OUTSIDE:-}" ] || f=("$HOME/tool")
	inside hard-link . "${f[@]}"
}

@test 'a link in the workspace to a file of the host leads nowhere' {
	echo secret >"$HOME/secret"
	echo secret >"$T/secret"
	ln -s "$HOME/secret" to-home
	ln -s "$T/secret" to-temp
	ln -s ../secret relative
	ln -s /etc/shadow shadow
	ln -s /proc/1/root/etc/shadow through-init
	inside unreadable to-home to-temp relative shadow through-init
}

@test 'a home that the agent rebuilt with links makes nothing on the host' {
	mkdir -p "$HOME/deep/er" "$T/target"
	mv "$WS" "$HOME/deep/er/ws"
	cd "$HOME/deep/er/ws"
	ralph run -- true
	# What a sandbox may do in its own home: move the way to its workspace aside, put a link there.
	ralph run -- sh -c 'cd "$HOME" && mv deep deep2 && ln -s "/oldroot$1" deep' - "$T/target"
	same 1 "$(find "$XDG_STATE_HOME"/ralph/sandboxes/*/home/deep -prune -type l | wc -l)"
	must_exit 125 ralph run -- true
	same "" "$(ls "$T/target")"
}

@test 'what the host mounts later does not appear inside' {
	only_root
	need unshare
	mkdir mounted
	# A host whose mounts are shared, as systemd makes them; in a copy, for the machine's sake.
	unshare -m --propagation shared bash -c '
		"$RALPH" run -d -n "late-${WS##*-}" -- true &&
		mount -t tmpfs none "$WS/mounted" && : >"$WS/mounted/secret" &&
		"$RALPH" exec "late-${WS##*-}" ./probe absent "$WS/mounted/secret"
		code=$?
		"$RALPH" rm -f "late-${WS##*-}"
		exit $code'
}
