#!/usr/bin/env bats
# runs: user
# seconds: 15
# The sandbox's own authority is trusted by programs that have no variable for it, and by Java.
# shellcheck disable=SC2030,SC2031 # every test is a process of its own
load ../cli/helpers
load ../lib/netbed

setup() {
	netbed_setup
	net '{rules: [{host: allowed.test, methods: [GET]}]}'
}

teardown() {
	netbed_teardown
}

# bare CMD…: inside, without a single variable.
bare() {
	box env -i /usr/bin/env PATH=/usr/bin:/bin "$@"
}

# bats test_tags=root
@test 'an inspected host is trusted without a variable: curl, wget, openssl, python, git' {
	has "$(bare curl -sSv https://allowed.test/a 2>&1 | grep -i issuer:)" ralph
	has "$(bare curl -sS https://allowed.test/a)" "GET /a"
	has "$(bare wget -qO- https://allowed.test/a)" "GET /a"
	has "$(bare openssl s_client -connect allowed.test:443 -servername allowed.test -verify_return_error </dev/null 2>&1)" "Verify return code: 0"
	has "$(bare python3 -c 'import urllib.request as u; print(u.urlopen("https://allowed.test/a").read())')" "GET /a"
	# git reaches the server and finds no repository there; what it does not say is that the certificate is bad.
	lacks "$(bare git ls-remote https://allowed.test/a 2>&1)" certificate
}

@test 'the bundle holds the certificates of the host and one more, and cannot be changed inside' {
	local all host

	host=$(grep -c BEGIN "$BED/ca.pem")
	all=$(bare cat /etc/ssl/certs/ca-certificates.crt | grep -c BEGIN)
	same $((host + 1)) "$all"
	has "$(bare cat /etc/ssl/cert.pem)" "$(sed -n 2p "$BED/ca.pem")"
	must_fail box sh -c 'echo x >>/etc/ssl/cert.pem'
	must_fail box sh -c 'echo x >>/etc/ssl/certs/ca-certificates.crt'
	must_fail box rm /etc/ssl/cert.pem
}

@test 'a Java trusts it without an option: the keystore has every certificate of the bundle' {
	need java keytool
	local places

	places=$(bare sh -c 'ls -d /etc/ssl/certs/java/cacerts /etc/pki/java/cacerts 2>/dev/null | head -1')
	[ -n "$places" ] || skip "no keystore of the system"
	has "$(bare keytool -list -keystore "$places" -storepass changeit 2>/dev/null)" "contains 2 entries"
	cat >Get.java <<-'END'
		import java.net.URL;

		public class Get {
			public static void main(String[] args) throws Exception {
				System.out.write(new URL(args[0]).openStream().readAllBytes());
				System.out.flush();
			}
		}
	END
	java --list-modules | grep -q jdk.compiler || skip "no compiler of Java"
	has "$(bare java -Xshare:auto -XX:TieredStopAtLevel=1 Get.java https://allowed.test/a)" "GET /a"
}
