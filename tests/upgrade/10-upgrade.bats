#!/usr/bin/env bats
# runs: root user
# A new version goes on with everything that 0.1.0 left: tests/upgrade/fixture, made by make-fixture.sh.
# Strings in single quotes are for the shell inside.
# shellcheck disable=SC2016,SC2030,SC2031
load ../cli/helpers
load ../cli/sandbox
load ../cli/loop
load place

setup() {
	local part

	need bwrap xz
	place_take || return
	for part in project state config volume; do
		tar -C "$T" -xJpf "$FIXTURE/$part.tar.xz" || return
	done
	[ ! -f "${RALPH_TEST_STAMP:-}" ] || cp "$RALPH_TEST_STAMP" "$XDG_STATE_HOME/ralph/selftest-native"
	cd "$HOME/app" || return
}

# The sandbox in a container is none that podman knows here.
teardown() {
	[ -z "${T:-}" ] || rm -rf "$T/state/ralph/sandboxes/up-boxed"
	ralph_teardown
}

# rows FILE: of a list of sandboxes, without times and sizes of the directory itself.
rows() {
	python3 -c '
import json, sys
for row in json.load(open(sys.argv[1])):
    print({k: v for k, v in row.items() if k not in ("size", "last_used")})' "$1"
}

# values FILE: of `ralph config show --json`, for the keys that the fixture has.
values() {
	python3 -c '
import json, sys
now, was = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
for key in sorted(was):
    print(key, now[key]["value"], now[key]["origin"])' "$1" "$FIXTURE/config.json"
}

# kept: what belongs to the user, as the fixture lists it, wherever a home is now.
kept() {
	grep -E ' (home|volume|state/ralph/quarantine|state/ralph/homes/.*|state/ralph/sandboxes/[^/]*/(home|clone))/' "${1:-$FIXTURE/files}" |
		sed -E 's, state/ralph/(sandboxes/[^/]*/home|homes/old/[^/]*|homes/[^/]*)/, ,' | sort
}

@test 'ls shows every sandbox as it was, and inspect knows each' {
	ralph ls --json >"$T/ls.json"
	same "$(rows "$FIXTURE/ls.json")" "$(rows "$T/ls.json")"
	for name in $(ralph ls -q); do
		has "$(ralph inspect "$name")" "$name  stopped"
	done
}

@test 'looking at everything changes no file' {
	local name

	same "$(cat "$FIXTURE/files")" "$(place_listing home state/ralph/sandboxes state/ralph/quarantine volume)"
	for name in $(ralph ls -q); do
		ralph inspect --json "$name"
		ralph events "$name"
		ralph usage "$name"
		ralph net ls "$name"
	done >"$T/seen"
	(cd "$HOME/paused" && ralph status && ralph logs) >>"$T/seen"
	(cd "$HOME/killed" && ralph status) >>"$T/seen"
	same "$(cat "$FIXTURE/files")" "$(place_listing home state/ralph/sandboxes state/ralph/quarantine volume)"
}

@test 'a project has the home that was used last, on every branch, and nothing that its sandboxes kept is lost' {
	local before

	before=$(ralph ls -q)
	same 'main 600 private 20000' \
		"$(ralph run -n up-main -- sh -c 'echo $(cat ~/.config/tool/kept; stat -c %a ~/private; readlink ~/link; wc -c <~/large)')"
	git switch -q up-feature
	same main "$(ralph run -- sh -c 'cat ~/.config/tool/kept')"
	same feature "$(cat "$XDG_STATE_HOME/ralph/homes/old/agent-loop-command-up-feature/kept")"
	git switch -q main
	same "$before" "$(ralph ls -q)"
	place_listing home state/ralph/sandboxes state/ralph/homes state/ralph/quarantine volume | grep -vE '^link state/ralph/(sandboxes/[^/]*/home|homes/[^/]*) ' >"$T/files"
	same "$(kept)" "$(kept "$T/files")"
}

# marked BRANCH: which stories are done, as the list of that branch says: the marks are committed there.
marked() {
	git show "$1:.ralph/prd.json" |
		python3 -c 'import json, sys; print(*(str(s["passes"]).lower() for s in json.load(sys.stdin)["userStories"]))'
}

@test 'a paused loop goes on to its end, and the changes of the user are back' {
	cd "$HOME/paused"
	has "$(ralph status)" pause
	loop_exits 0 resume
	same 'done done' "$(verdicts)"
	same 'true true' "$(marked ralph/up-paused)"
	same main "$(git branch --show-current)"
	same 'changed by hand, known to nobody' "$(cat notes), $(cat unknown)"
	same '' "$(git ls-tree ralph/up-paused unknown)"
	same mine "$(git show ralph/up-paused:notes)"
	[ ! -e .ralph/state/stash.json ]
}

@test 'a loop that was killed goes on, and the changes it had stashed are back' {
	cd "$HOME/killed"
	[ -e .ralph/state/stash.json ]
	[ ! -e unknown ]
	loop_exits 0 resume
	same 'true true' "$(marked ralph/up-killed)"
	same 'changed by hand, known to nobody' "$(cat notes), $(cat unknown)"
	same '' "$(git ls-tree ralph/up-killed unknown)"
	[ ! -e .ralph/state/stash.json ]
}

@test 'the event logs hold, and go on' {
	local name

	for name in $(ralph ls -q); do
		ralph events verify "$name"
	done
	ralph run -n up-main -- true
	ralph events verify up-main
	has "$(ralph events --type surface up-main)" .vscode
	printf '%s\n' "$(sed '2s/"type"/"Type"/' "$T/state/ralph/sandboxes/up-main/events.jsonl")" \
		>"$T/state/ralph/sandboxes/up-main/events.jsonl"
	must_exit 1 ralph events verify up-main
}

@test 'quarantine has what it had: show, release, drop' {
	local editor direnv

	same "$(get 'sorted(map(str, j))' <"$FIXTURE/quarantine.json")" "$(ralph quarantine ls --json | get 'sorted(map(str, j))')"
	editor=$(get '[r["id"] for r in j if ".vscode" in r["path"]][0]' <"$FIXTURE/quarantine.json")
	direnv=$(get '[r["id"] for r in j if ".envrc" in r["path"]][0]' <"$FIXTURE/quarantine.json")
	has "$(ralph quarantine show "$direnv")" 'use flake'
	ralph quarantine release "$editor"
	same '{}' "$(cat .vscode/tasks.json)"
	ralph quarantine drop "$direnv"
	same '[]' "$(ralph quarantine ls --json)"
	has "$(ralph events --type quarantine up-main)" "quarantine=$editor"
	ralph events verify up-main
}

@test 'every key of the configuration has the value it had, from where it had it' {
	cd "$HOME/every"
	XDG_CONFIG_HOME=$T/every ralph config show --json >"$T/config.json" 2>"$T/err"
	same '' "$(cat "$T/err")"
	same "$(values "$FIXTURE/config.json")" "$(values "$T/config.json")"
	same trusted "$(XDG_CONFIG_HOME=$T/every ralph trust --list --json | get 'j[0]["state"]')"
}

@test 'the commits of a clone are shown and taken' {
	cd "$HOME/cloned"
	has "$(ralph diff up-clone)" '+more'
	has "$(ralph diff --stat up-clone)" '3 files changed' # with what is not committed
	has "$(ralph apply up-clone)" '2 commits ahead'
	git merge -q up-clone/main
	same new "$(cat new)"
	same open "$(ralph run --clone -n up-clone -- cat uncommitted)"
}

@test 'rules of the user, the project and the sandbox hold' {
	# What is new may stand beside what was there.
	same "$(cat "$FIXTURE/net.json")" "$(ralph net ls --json up-main | python3 -c 'import json, sys
net = json.load(sys.stdin)
del net["provider_tools"]
print(json.dumps(net, indent=2, ensure_ascii=False))')"
	must_exit 0 ralph net check user.example.org
	must_exit 0 ralph net check project.example.org
	must_exit 1 ralph net check other.example.org
	ralph net rm --sandbox up-main sandbox.example.org
	lacks "$(ralph net ls up-main)" sandbox.example.org
}

@test 'usage is what it was' {
	same "$(cat "$FIXTURE/usage.json")" "$(ralph usage --json)"
}
