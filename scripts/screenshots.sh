#!/bin/bash
# Makes the pictures of docs/images from a real terminal: a demo project, ralph as it is installed, and tmux
# as the terminal. Everything is seen at neutral paths (/home/you, /usr/local), in a mount namespace of its
# own, so that nothing of this machine gets into a picture. Needs root, or user namespaces.
#   scripts/screenshots.sh            all pictures
set -euo pipefail
cd "$(dirname "$0")/.."

COLUMNS_SHOWN=104
ROWS=120 # more than any picture needs; blank ones are cut

if [ "${1:-}" != --inside ]; then
	stage=$(scripts/stage.sh --path)
	how=()
	[ "$(id -u)" -eq 0 ] || how=(--user --map-root-user)
	mkdir -p docs/images
	out=$(mktemp -d)
	agents=$(scripts/agents.sh)
	cp scripts/top-demo.json tests/lib/upstream-llm.py "$out/"
	trap 'rm -rf "$out"' EXIT
	unshare "${how[@]}" --mount --net --propagation private "$0" --inside "$stage" "$out" "$agents"
	for text in "$out"/*.ansi; do
		name=$(basename "$text" .ansi)
		python3 scripts/ansi2svg.py --columns "$(cat "$out/$name.columns")" --title "ralph: $name" <"$text" >"docs/images/$name.svg"
		echo "docs/images/$name.svg"
	done
	scripts/web-pictures.sh
	exit
fi

stage=$2 out=$3 agents=$4

# A home, an /etc and a /run that are those of any machine.
mount -t tmpfs none /mnt
umask 022
mkdir -p /mnt/home/you/{shop,.npm-global} /mnt/etc/ssl /mnt/run/user/1000 /mnt/opt
for file in ld.so.cache ld.so.conf ld.so.conf.d services protocols localtime timezone os-release alternatives ssl/certs ssl/openssl.cnf; do
	[ ! -e "/etc/$file" ] || cp -a "/etc/$file" "/mnt/etc/$file"
done
echo 'root:x:0:0:root:/root:/bin/sh
you:x:1000:1000:you:/home/you:/bin/bash' >/mnt/etc/passwd
echo 'root:x:0:
you:x:1000:' >/mnt/etc/group
echo 'passwd: files
group: files
hosts: files' >/mnt/etc/nsswitch.conf
# The provider's name leads to a scripted one, in a network that has nothing else.
echo '127.0.0.1 localhost
8.8.4.4 api.anthropic.com' >/mnt/etc/hosts
ip link set lo up
ip addr add 8.8.4.4/32 dev lo
mkdir -p /mnt/out /mnt/provider
mount --bind "$stage" /usr/local
mount --bind "$out" /mnt/out
for dir in home etc run opt; do
	mount --rbind "/mnt/$dir" "/$dir"
done
chmod 700 /run/user/1000

# Root becomes the user of the demo; in a user namespace there is nobody else to become.
as_you=()
if setpriv --reuid 1000 --regid 1000 --clear-groups true 2>/dev/null; then
	chown -R 1000:1000 /home/you /run/user/1000
	chmod 755 /home/you
	as_you=(setpriv --reuid 1000 --regid 1000 --clear-groups)
fi
mount --bind "$agents" /home/you/.npm-global
mount -o remount,bind,ro /home/you/.npm-global

you() {
	env -i "${as_you[@]}" env HOME=/home/you USER=you LOGNAME=you PATH=/home/you/.npm-global/bin:/home/you/.local/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
		XDG_RUNTIME_DIR=/run/user/1000 EDITOR=vim SHOP_TEST_TOKEN=for-the-tests-only-17 "$@"
}

cd /home/you/shop
you git init -q -b main
you git config user.name you
you git config user.email you@example.org
you mkdir -p /home/you/.config/ralph/profiles
you tee /home/you/.config/ralph/profiles/shop.yaml >/dev/null <<'END'
# shop: a web shop with its database on this machine
env:
  set: [CI=1]
  pass: [EDITOR, SHOP_TEST_TOKEN]
network:
  allow: [api.example.com, "*.docs.example.org", "localhost:5432", "search.example.com:9200"]
limits: {memory: 4G, pids: 512, timeout: 2h}
END
# A login of Claude Code's, which the scripted provider takes.
login() {
	you mkdir -p -m 700 /home/you/.claude
	you tee /home/you/.claude/.credentials.json >/dev/null <<END
{"claudeAiOauth": {"accessToken": "sk-ant-oat01-demo", "refreshToken": "sk-ant-ort01-demo",
	"expiresAt": $((($(date +%s) + 8 * 3600 - 30) * 1000)), "scopes": ["user:inference"], "subscriptionType": "max"}}
END
	you chmod 600 /home/you/.claude/.credentials.json
}
you tee package.json >/dev/null <<<'{"name": "shop", "scripts": {"test": "true"}}'

# provider STEPS: what the model does; see tests/lib/upstream-llm.py. Its certificate is of an authority of its own.
provider() {
	local ca=/mnt/provider/ca

	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=demo -addext 'keyUsage=critical,keyCertSign' \
		-keyout $ca.key -out $ca.pem 2>/dev/null
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=demo -addext 'subjectAltName=DNS:api.anthropic.com' \
		-addext basicConstraints=CA:FALSE -CA $ca.pem -CAkey $ca.key -keyout /mnt/provider/key -out /mnt/provider/cert 2>/dev/null
	cat /mnt/provider/{key,cert} >/mnt/provider/upstream.pem
	printf '%s\n' "$1" >/mnt/provider/steps.json
	python3 /mnt/out/upstream-llm.py /mnt/provider 8.8.4.4 443 >/mnt/provider/said 2>&1 &
	PROVIDER=$!
	until [ -e /mnt/provider/upstream.ready ]; do
		kill -0 $PROVIDER
		sleep 0.1
	done
	you tee /home/you/.config/ralph/config.yaml >/dev/null <<<'providers: {anthropic: {ca_file: /home/you/.config/ralph/demo-ca.pem}}'
	you tee /home/you/.config/ralph/demo-ca.pem >/dev/null <$ca.pem
}

# does FILE TEXT: the model's part of one iteration.
does() {
	printf '{"say": "I will write %s and commit it.", "call": ["Bash", {"command": "echo %s > %s && git add %s && git commit -qm \\"add %s\\"", "description": "write it"}]}, ' "$1" "$2" "$1" "$1" "$1"
	printf '{"say": "%s is there, and committed.\\n<promise>COMPLETE</promise>"}' "$1"
}

tmux=(tmux -u -S /home/you/.tmux -f /dev/null)
# What failed leaves no terminal behind.
trap 'you "${tmux[@]}" kill-server 2>/dev/null || true; [ -z "${PROVIDER:-}" ] || kill $PROVIDER' EXIT

shows() {
	you "${tmux[@]}" capture-pane -p -t shot | grep -q -- "$1"
}

# until_shown TEXT: or fail after half a minute.
until_shown() {
	local end=$((SECONDS + 30))

	until shows "$1"; do
		if [ $SECONDS -ge $end ]; then
			echo "screenshots: '$1' never came; the terminal shows:" >&2
			you "${tmux[@]}" capture-pane -p -t shot >&2
			return 1
		fi
		sleep 0.1
	done
}

# picture NAME COLUMNS ROWS COMMAND UNTIL KEYS END: types a command in a terminal of that size, takes the picture
# once UNTIL is there, types KEYS, and waits for END.
picture() {
	you "${tmux[@]}" new-session -d -s shot -x "$2" -y "$3" \
		"unset TERM_PROGRAM TERM_PROGRAM_VERSION; TERM=xterm-256color PS1='you:~/shop\\$ ' bash --norc --noprofile -i"
	until_shown 'you:~/shop'
	you "${tmux[@]}" send-keys -t shot -l "$4"
	you "${tmux[@]}" send-keys -t shot Enter
	until_shown "$5"
	you "${tmux[@]}" capture-pane -e -p -t shot >"/mnt/out/$1.ansi"
	echo "$2" >"/mnt/out/$1.columns"
	you "${tmux[@]}" send-keys -t shot -l "$6"
	you "${tmux[@]}" send-keys -t shot Enter
	until_shown "$7"
	you "${tmux[@]}" kill-server
}

# keep SECONDS: what the terminal shows now, for so long, in the recording.
keep() {
	you "${tmux[@]}" capture-pane -e -p -t shot >/mnt/screen
	cmp -s /mnt/screen /mnt/screen.before || {
		printf '\f%s\n' "$1"
		cat /mnt/screen
	} >>"/mnt/out/$recording.ansi"
	cp /mnt/screen /mnt/screen.before
}

# types COMMAND UNTIL: in the recording; every change on the way to UNTIL is kept.
types() {
	you "${tmux[@]}" send-keys -t shot -l "$1"
	until_shown "${1:0:20}"
	keep 1.2
	you "${tmux[@]}" send-keys -t shot Enter
	for _ in {1..300}; do
		! shows "$2" || break
		keep 0.5
		sleep 0.2
	done
	until_shown "$2"
	until_shown 'hello\$ *$'
	keep 2.5
	sleep 1 # nobody types as fast as this script
}

# A session from the first command to a finished loop, with the real Claude Code and a scripted provider.
record() {
	recording=$1
	you mkdir -p -m 700 /home/you/.ssh /home/you/hello
	you tee /home/you/.ssh/id_ed25519 >/dev/null <<<'a key'
	cd /home/you/hello
	you git init -q -b main
	you git config user.name you
	you git config user.email you@example.org
	you tee README.md >/dev/null <<<'# hello'
	you git add README.md
	you git commit -q -m start
	you "${tmux[@]}" new-session -d -s shot -x "$2" -y "$3" \
		"unset TERM_PROGRAM TERM_PROGRAM_VERSION; TERM=xterm-256color PS1='you:~/hello\\$ ' bash --norc --noprofile -i"
	until_shown 'you:~/hello'
	types 'ls ~/.ssh' 'id_ed25519'
	types 'ralph run -T -- ls ~/.ssh' 'No such file'
	types 'ralph run -T -- curl -sS https://example.com' 'curl: '
	types 'ralph init && git add .ralph && git commit -qm "what is to be done"' 'next: '
	types 'clear' '^you:'
	types 'ralph build claude' '^next: git log'
	types 'git log --oneline' ' start$'
	printf '%s' "$2" >"/mnt/out/$1.columns"
	you "${tmux[@]}" kill-server
	cd /home/you/shop
}

provider "[$(does greeting.txt hello), $(does farewell.txt goodbye)]"
login
record session 100 24
picture audit $COLUMNS_SHOWN $ROWS 'ralph run --profile shop claude' 'Proceed?' n 'nothing was started'
# A state that was written down, not this machine's: the same picture every time.
cp /mnt/out/top-demo.json /home/you/.top-demo.json
for size in 80x24 200x50; do
	picture "top-$size" "${size%x*}" "${size#*x}" 'clear; TZ=UTC ralph top --from ~/.top-demo.json; echo over' 'q quit' q '^over'
done
