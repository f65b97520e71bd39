#!/usr/bin/env bats
# runs: user
# Profiles: those that come with ralph do what they say, and the user can have others.
# shellcheck disable=SC2030,SC2031 # tests are subshells
load helpers
load sandbox

setup() {
	ralph_setup
	# The groups of the shipped profiles are what the user's clients say.
	export NPM_CONFIG_REGISTRY=https://npm.example/ PIP_INDEX_URL=https://pypi.example/simple GOPROXY=https://go.example
	mkdir "$HOME/.cargo"
	printf '[registries.mirror]\nindex = "sparse+https://crates.example/"\n' >"$HOME/.cargo/config.toml"
}

# allows PROFILE HOST
allows() {
	ralph audit -p "$1" --json | get '[r["pattern"] for r in j["network"]["rules"] if r["verdict"] == "allow"]' >"$T/rules"
	has "$(cat "$T/rules")" "'$2'"
}

# limit NAME: of what this audit says
limit() {
	ralph audit -p "$1" --json | get "j['limits']['$2']"
}

@test 'default: is what holds without any profile' {
	diff <(ralph config show | grep -v ^profile) <(ralph -p default config show | grep -v ^profile)
	same 7 "$(ralph run --rm -p default -- sh -c 'echo 7')"
}

# bats test_tags=root
@test 'strict: no network, and low limits that hold inside' {
	same 1024 "$(ralph run --rm -p strict -- sh -c 'ulimit -n')"
	same '' "$(ralph run --rm -p strict -- printenv HTTPS_PROXY || :)"
	must_fail ralph run --rm -p strict -- getent hosts github.com
	same 2147483648 "$(limit strict memory)"
	same 1800000 "$(limit strict timeout_ms)"
	same 262144 "$(ralph run --rm -p strict -- df --output=size /tmp | tail -1 | tr -d ' ')"
}

@test 'offline: no network, and package managers that know it' {
	same off "$(ralph run --rm -p offline -- printenv GOPROXY)"
	must_fail ralph run --rm -p offline -- getent hosts github.com
	same '[]' "$(ralph audit -p offline --json | get 'j["network"]["sockets"]')"
	same 4096 "$(limit offline pids)"
}

@test "node: runs JavaScript; the configured registry can be reached" {
	need node
	echo 'console.log(require("os").platform(), process.env.NPM_CONFIG_FUND)' >it.js
	same 'linux false' "$(ralph run --rm -p node -- node it.js)"
	allows node npm.example
	allows node github.com
}

@test "python: runs Python; the configured index can be reached" {
	echo 'import json, os; print(json.dumps({"a": os.environ["PIP_NO_INPUT"]}))' >it.py
	same '{"a": "1"}' "$(ralph run --rm -p python -- python3 it.py)"
	allows python pypi.example
}

@test "rust: builds a crate and runs it; the configured registry can be reached" {
	need cargo rustc
	mkdir src
	echo 'fn main() { println!("{}", 6 * 7); }' >src/main.rs
	printf '[package]\nname = "it"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
	same 42 "$(ralph run --rm -p rust -- cargo run -q)"
	same 4194304 "$(ralph run --rm -p rust -- df --output=size /tmp | tail -1 | tr -d ' ')"
	allows rust crates.example
}

@test "go: builds a module and runs it; the configured proxy can be reached" {
	need go
	printf 'package main\n\nfunc main() { println(6 * 7) }\n' >it.go
	printf 'module it.example/it\n' >go.mod
	same 42 "$(ralph run --rm -p go -- sh -c 'go build -o it . && ./it' 2>&1)"
	allows go go.example
}

@test 'every shipped profile is listed, with what it is for' {
	ralph profile ls --json >"$T/list"
	same 'default go node offline python rust strict' "$(get '" ".join(p["name"] for p in j)' <"$T/list")"
	same True "$(get 'all(p["from"] == "ralph" and len(p["summary"]) > 10 for p in j)' <"$T/list")"
	# Each begins with its own name, and no summary goes on in the next line.
	for file in "$(dirname "$RALPH")"/../share/ralph/profiles/*.yaml; do
		head -1 "$file" | grep -E "^# $(basename "$file" .yaml): .{10,}"
		sed -n 2p "$file" | grep -E '^#?$'
	done
}

@test 'show prints a profile as it is written; as JSON, what it sets' {
	cmp <(ralph profile show strict) "$(dirname "$RALPH")/../share/ralph/profiles/strict.yaml"
	same none "$(ralph profile show strict --json | get 'j["settings"]["network.tier"]')"
	same False "$(ralph profile show strict --json | get '"engine" in j["settings"]')"
}

@test 'new makes a profile that changes nothing until it is edited' {
	ralph profile new mine >"$T/path"
	same "$XDG_CONFIG_HOME/ralph/profiles/mine.yaml" "$(cat "$T/path")"
	diff <(ralph config show | grep -v ^profile) <(ralph -p mine config show | grep -v ^profile)
	# Every key is in it, and all of them are right once the '#' are gone.
	sed -i '1,4d; s/^# //' "$(cat "$T/path")"
	diff <(ralph config show | grep -v ^profile) <(ralph -p mine config show | grep -v ^profile)
	same "$(ralph config show | grep -vc ^profile)" "$(grep -Ec '^ *[a-z_]+: [^ ]+ #' "$(cat "$T/path")")"
}

@test 'new --from copies; what is there is never overwritten' {
	ralph profile new strict --from strict
	cmp "$XDG_CONFIG_HOME/ralph/profiles/strict.yaml" "$(dirname "$RALPH")/../share/ralph/profiles/strict.yaml"
	echo 'limits: {pids: 99}' >"$XDG_CONFIG_HOME/ralph/profiles/strict.yaml"
	must_exit 2 ralph profile new strict 2>"$T/err"
	has "$(cat "$T/err")" 'there already'
	same 'limits: {pids: 99}' "$(cat "$XDG_CONFIG_HOME/ralph/profiles/strict.yaml")"
	same 99 "$(limit strict pids)"
	same user "$(ralph profile ls --json | get '[p["from"] for p in j if p["name"] == "strict"][0]')"
}

@test 'a profile comes by --profile, RALPH_PROFILE or the user file, in that order' {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'profile: strict' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	same 512 "$(ralph audit --json | get 'j["limits"]["pids"]')"
	same 4096 "$(RALPH_PROFILE=offline ralph audit --json | get 'j["limits"]["pids"]')"
	same 512 "$(RALPH_PROFILE=offline ralph -p strict audit --json | get 'j["limits"]["pids"]')"
	must_exit 2 ralph -p no-such audit
	must_exit 2 ralph -p ../strict audit
	must_exit 2 ralph profile show ../strict
	must_exit 2 ralph profile new ../strict
}

@test 'a profile brings variables, mounts and an agent' {
	mkdir -p "$XDG_CONFIG_HOME/ralph/profiles" "$HOME/data"
	cat >"$XDG_CONFIG_HOME/ralph/profiles/mine.yaml" <<-'END'
		# mine: everything
		agent: claude
		env: {set: [A=1], pass: [B]}
		mounts: [{path: ~/data, target: /mnt/data}]
		packages: [sh, env]
	END
	echo there >"$HOME/data/file"
	# shellcheck disable=SC2016 # for the shell inside
	same '1 2 there' "$(B=2 ralph run --rm -p mine -- sh -c 'echo $A $B $(cat /mnt/data/file)')"
	same claude "$(ralph audit -p mine --json -- sh | get 'j["agent"]')"
}

@test 'an expected program that is missing: nothing starts, and all that are missing are named' {
	mkdir -p "$XDG_CONFIG_HOME/ralph/profiles"
	echo 'packages: [no-such-a, sh, no-such-b]' >"$XDG_CONFIG_HOME/ralph/profiles/mine.yaml"
	must_exit 2 ralph run -p mine -- touch ran 2>"$T/err"
	has "$(cat "$T/err")" 'mine.yaml:1: packages: not found inside: no-such-a, no-such-b'
	[ ! -e ran ]
	# Only what is found inside counts: a program of the host's home is not there.
	mkdir -p "$HOME/bin"
	printf '#!/bin/sh\n' >"$HOME/bin/no-such-a"
	chmod +x "$HOME/bin/no-such-a"
	PATH=$HOME/bin:$PATH must_exit 2 ralph run -p mine -- touch ran
	must_exit 2 env RALPH_PACKAGES=../x "$RALPH" run -- true
	# What the sandbox has in its own ~/.local/bin is.
	echo 'packages: [own-tool]' >"$XDG_CONFIG_HOME/ralph/profiles/mine.yaml"
	must_exit 2 ralph run -p mine -- true
	# shellcheck disable=SC2016 # for the shell inside
	ralph run -- sh -c 'mkdir -p ~/.local/bin; printf "#!/bin/sh\necho own" >~/.local/bin/own-tool; chmod +x ~/.local/bin/own-tool'
	same own "$(ralph run -p mine -- own-tool)"
}

@test 'a mount that is not there is an error of the settings, with its place' {
	mkdir -p "$XDG_CONFIG_HOME/ralph/profiles"
	printf 'agent: command\nmounts:\n  - {path: ~/nothing}\n' >"$XDG_CONFIG_HOME/ralph/profiles/mine.yaml"
	must_exit 2 ralph run -p mine -- touch ran 2>"$T/err"
	has "$(cat "$T/err")" "mine.yaml:3: mounts: '$HOME/nothing' does not exist"
	[ ! -e ran ]
}

@test 'a profile that is misspelt: the one that was meant is named' {
	must_exit 2 ralph run -p nodde -- true 2>"$T/err"
	has "$(cat "$T/err")" "there is no profile 'nodde'; did you mean 'node'?"
	must_exit 2 ralph profile show nodde 2>"$T/err"
	has "$(cat "$T/err")" "did you mean 'node'?"
}
