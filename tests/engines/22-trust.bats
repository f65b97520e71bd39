#!/usr/bin/env bats
# runs: root:native root:docker root:podman
# seconds: 15
# The certificates that a sandbox with inspected hosts trusts are where programs of any image look.
# shellcheck disable=SC2016 # text for shells inside
load ../cli/helpers
load ../cli/sandbox
load engine

teardown() {
	local bad=0

	ralph rm --all --force >/dev/null 2>&1 || :
	ralph_teardown || bad=1
	return $bad
}

@test "the bundle is at the places of the system, the same at each, and read-only" {
	local place

	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'network: {rules: [{host: example.org, methods: [GET]}]}' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	ralph run -d -n "$S" -- true
	ralph exec "$S" cat /run/ralph/ca-bundle.pem >"$T/bundle"
	grep -q BEGIN "$T/bundle"
	for place in /etc/ssl/cert.pem /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
		# Of the host's own places one may be missing, an image has them all.
		[ "$ENGINE" != native ] || [ "$place" = /etc/ssl/cert.pem ] || [ -e "$place" ] || continue
		ralph exec "$S" cat "$place" | cmp - "$T/bundle" || fail "$place"
		must_fail ralph exec "$S" sh -c 'echo x >>"$1"' sh "$place"
	done
	[ "$ENGINE" = native ] || ralph exec "$S" cat /etc/pki/java/cacerts | head -c 4 | od -An -tx1 | grep -q "fe ed fe ed"
}
