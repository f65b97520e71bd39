# A loop that can be killed wherever it changes something: `load dying` after `load loop`. See tests/unit/die-at.c.
# shellcheck shell=bash

# The programs of ralph, but for a loop that can die.
dying_libexec() {
	local f dies=$BATS_TEST_DIRNAME/loop-dies

	[ -x "$dies" ] || dies=$BATS_TEST_DIRNAME/../../build/tests/unit/loop-dies
	mkdir "$T/libexec"
	for f in "${RALPH%/bin/ralph}"/libexec/ralph/*; do
		ln -s "$f" "$T/libexec/"
	done
	# A copy: what is installed with ralph is found from where its program lies.
	rm -f "$T/libexec/loop"
	cp "$dies" "$T/libexec/loop"
	ln -s "${RALPH%/bin/ralph}/share" "$T/share"
}

# A workspace as it was before, in the same place.
fresh() {
	cd "$HOME" || return
	rm -rf "$WS"
	cp -a "$T/before" "$WS"
	cd "$WS" || return
}

quick_agent() {
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		# Does its task if it is not done, and says so. Every run is written down.
		echo "$RALPH_TASK" >>/tmp/runs
		[ -f "$RALPH_TASK" ] || { echo x >"$RALPH_TASK"; git add "$RALPH_TASK"; git commit -qm "$RALPH_TASK"; }
		echo '<promise>COMPLETE</promise>'
	EOF
	chmod +x agent.sh
	git rm -q --cached agent.py
	rm agent.py
	git add -A
	git commit -qm agent
}
