# Scripted providers of models and the servers where their logins are renewed, on loopback: `load
# ../lib/providers` after the helpers and lib/cred.
#
#   providers_start         lib/upstream-llm.py and lib/upstream-accounts.py in $UP, trusted by $UP/ca.pem, and a
#                           configuration that points every provider at them; UP_H2=1: they offer HTTP/2
#   aws_host KEY SECRET [TOKEN]   the host's ~/.aws/credentials, and an aws that can export them on PATH; what the
#                           provider takes for a signature (aws_takes) is the same
#   inside COMMAND          in a sandbox of $AGENT; what it prints
#   seen EXPRESSION         of every request `r` that the provider saw, as Python: r["path"], field("name")
#   renewal STATUS BODY     what a renewal is answered; renewals: how many there were
# shellcheck shell=bash

PROVIDERS_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

providers_start() {
	local p

	need openssl python3 curl
	UP=$T/upstream
	test_authority "$UP" "DNS:localhost,IP:127.0.0.1" || return
	mv "$UP/leaf.pem" "$UP/upstream.pem"
	[ -z "${UP_H2:-}" ] || touch "$UP/h2"
	/usr/bin/python3 "$PROVIDERS_LIB/upstream-llm.py" "$UP" 127.0.0.1 0 >"$UP/llm.out" 2>&1 3>&- &
	python3 "$PROVIDERS_LIB/upstream-accounts.py" "$UP" 127.0.0.1 0 >"$UP/accounts.out" 2>&1 3>&- &
	wait_until test -s "$UP/upstream.ready" || fail "$(cat "$UP/llm.out")" || return
	wait_until test -s "$UP/accounts.ready" || fail "$(cat "$UP/accounts.out")" || return
	ORIGIN=https://localhost:$(cut -d ' ' -f 1 "$UP/upstream.ready")
	ACCOUNTS=https://localhost:$(cut -d ' ' -f 1 "$UP/accounts.ready")
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	{
		echo "providers:"
		for p in anthropic bedrock vertex foundry openai gemini; do
			echo "  $p: {origin: '$ORIGIN', ca_file: '$UP/ca.pem', token_url: '$ACCOUNTS/token'}"
		done
	} >"$XDG_CONFIG_HOME/ralph/config.yaml"
	AGENT=claude
	export AGENT AWS_EC2_METADATA_DISABLED=true
}

providers_stop() {
	local f

	for f in "$UP/upstream.ready" "$UP/accounts.ready"; do
		[ ! -s "$f" ] || kill "$(cut -d ' ' -f 2 "$f")"
	done
}

inside() {
	ralph run --agent "$AGENT" -- sh -c "$1"
}

# The first aws on PATH that knows the command, alone in a directory; where there is none, one of our own
# that knows nothing else.
aws_program() {
	local dir file code

	mkdir -p "$T/bin"
	export PATH=$T/bin:$PATH
	while IFS= read -r -d : dir; do
		file=$dir/aws
		[ -x "$file" ] || continue
		code=0
		"$file" configure export-credentials --format process >/dev/null 2>&1 || code=$?
		[ $code -eq 2 ] || return 0
	done <<<"$PATH:"
	cat >"$T/bin/aws" <<-'PY'
		#!/usr/bin/python3
		import configparser, json, os, sys
		args, home = sys.argv[1:], os.path.expanduser("~/.aws")
		profile = os.environ.get("AWS_PROFILE", "default")
		files = configparser.ConfigParser()
		files.read([f"{home}/config", f"{home}/credentials"])
		keys = files[profile] if profile in files else {}
		if args == ["configure", "get", "region"]:
		    sys.exit(print(keys["region"]) if "region" in keys else 1)
		if args != ["configure", "export-credentials", "--format", "process"]:
		    sys.exit(252)
		if "sso_session" in keys or "sso_start_url" in keys:
		    print("Error loading SSO Token: Token for x does not exist", file=sys.stderr)
		    sys.exit(255)
		if "aws_access_key_id" not in keys:
		    print("Unable to retrieve credentials: no credentials found", file=sys.stderr)
		    sys.exit(253)
		out = {"Version": 1, "AccessKeyId": keys["aws_access_key_id"], "SecretAccessKey": keys["aws_secret_access_key"]}
		if "aws_session_token" in keys:
		    out["SessionToken"] = keys["aws_session_token"]
		print(json.dumps(out))
	PY
	chmod 755 "$T/bin/aws"
}

aws_takes() {
	python3 - "$UP/aws.json" "$@" <<-'PY'
		import json, os, sys
		path, key, secret, *token = sys.argv[1:]
		with open(path + ".new", "w") as f:
		    json.dump({"id": key, "secret": secret, **({"token": token[0]} if token else {})}, f)
		os.rename(path + ".new", path)
	PY
}

aws_host() {
	mkdir -p "$HOME/.aws"
	{
		printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$1" "$2"
		[ -z "${3:-}" ] || printf 'aws_session_token = %s\n' "$3"
	} >"$HOME/.aws/credentials.new"
	chmod 600 "$HOME/.aws/credentials.new"
	mv "$HOME/.aws/credentials.new" "$HOME/.aws/credentials"
	aws_takes "$@"
}

# all LOG EXPRESSION: there was one, and it holds for each.
all() {
	python3 - "$1" "$2" <<-'PY'
		import json, sys
		rows = [json.loads(line) for line in open(sys.argv[1])]
		for r in rows:
		    field = lambda name: [v for k, v in r["headers"] if k == name]
		    if not eval(sys.argv[2]):
		        sys.exit(f"not {sys.argv[2]}: {json.dumps(r)}")
		sys.exit(0 if rows else "there was no request")
	PY
}

seen() {
	all "$UP/upstream.log" "$1"
}

# botocore_agrees SECRET [TOKEN]: it signs every request that the provider saw in the same way.
botocore_agrees() {
	python3 - "$UP/upstream.log" "$ORIGIN" "$1" "${2:--}" <<-'PY' >"$T/to-sign" || return
		import json, sys
		log, origin, secret, token = sys.argv[1:]
		for r in map(json.loads, open(log)):
		    field = lambda name: dict(r["headers"]).get(name, "-")
		    key, _, region, service, _ = field("authorization").split("Credential=")[1].split(",")[0].split("/")
		    print(key, secret, token, region, service, field("x-amz-date"), r["method"], origin + r["path"],
		          field("content-type"), field("x-amz-content-sha256"), sep="\t")
	PY
	python3 -c 'import json, sys
for line in open(sys.argv[1]): print(dict(json.loads(line)["headers"])["authorization"])' "$UP/upstream.log" >"$T/ours"
	/usr/bin/python3 "$PROVIDERS_LIB/sigv4-botocore.py" <"$T/to-sign" >"$T/theirs"
	[ -s "$T/ours" ] && diff -u "$T/theirs" "$T/ours"
}

renewal() {
	printf '{"status": %s, "body": %s}' "$1" "$2" >"$UP/renewal.json"
}

renewals() {
	[ ! -e "$UP/accounts.log" ] || wc -l <"$UP/accounts.log"
}
