#!/usr/bin/env bats
# runs: user root
# seconds: 40
# Browsers in a sandbox: Debian's Chromium by its wrapper, and as Playwright starts it, with the flags that
# Playwright gives on its own.
load ../cli/helpers
load ../lib/netbed

setup() {
	need chromium
	netbed_setup
}

teardown() {
	netbed_teardown
}

# in_box COMMAND…: in the sandbox, beside a server of its own on port 8000.
in_box() {
	echo "<!doctype html><script>document.write('rendered inside ' + 6 * 7)</script>" >"$WS/index.html"
	cat >"$WS/serve.py" <<-END
		import http.server, subprocess, sys, threading
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), http.server.SimpleHTTPRequestHandler)
		threading.Thread(target=server.serve_forever, daemon=True).start()
		sys.exit(subprocess.call(sys.argv[1:], timeout=90))
	END
	box python3 "$WS/serve.py" "$@"
}

# dom [OPTION…] URL: the page as Chromium has made it.
dom() {
	in_box chromium --headless --dump-dom "$@"
}

# play URL [OPTIONS]: the same by Playwright; the options are those of its page.
play() {
	local node=node

	[ ! -x "$RALPH_AGENTS/bin/node" ] || node=/mnt/agents/bin/node
	cat >"$WS/play.mjs" <<-END
		import { chromium } from '/mnt/agents/lib/node_modules/playwright-core/index.mjs'
		const browser = await chromium.launch({ executablePath: '/usr/bin/chromium' })
		const page = await browser.newPage(${2:-})
		await page.goto('$1')
		console.log(await page.textContent('body'))
		await browser.close()
	END
	in_box "$node" "$WS/play.mjs"
}

needs_playwright() {
	if [ -e "${RALPH_AGENTS:-/nonexistent}/lib/node_modules/playwright-core" ]; then
		echo "mounts: [{path: '$RALPH_AGENTS', target: /mnt/agents}]" >>"$XDG_CONFIG_HOME/ralph/config.yaml"
		return
	fi
	case " ${RALPH_TEST_REQUIRE:-} " in
	*" all "* | *" agents "*) fail "playwright-core is not installed; run: scripts/agents.sh" ;;
	*) skip "playwright-core is not installed; run: scripts/agents.sh" ;;
	esac
}

inspecting() {
	net '{rules: [{host: allowed.test, methods: [GET], paths: [/page]}]}'
}

# The test's authority is nobody's: for a page that is tunnelled Chromium is told not to look at it.
@test "Debian's Chromium renders a page of an allowed host, and of a server inside" {
	has "$(dom --ignore-certificate-errors https://allowed.test/page)" "rendered 42"
	has "$(saw requests)" "443 GET /page allowed.test"
	has "$(dom http://localhost:8000/)" "rendered inside 42"
}

@test "Debian's Chromium trusts the certificate of an inspected host" {
	inspecting
	has "$(dom https://allowed.test/page)" "rendered 42"
	has "$(dom https://allowed.test/other)" "refused by ralph"
	denied allowed.test '"path":"/other"'
}

@test 'Playwright renders a page of an allowed host, and of a server inside' {
	needs_playwright
	has "$(play https://allowed.test/page '{ ignoreHTTPSErrors: true }')" "rendered 42"
	has "$(saw requests)" "443 GET /page allowed.test"
	has "$(play http://localhost:8000/)" "rendered inside 42"
}

@test 'Playwright trusts the certificate of an inspected host' {
	inspecting
	needs_playwright
	has "$(play https://allowed.test/page)" "rendered 42"
}
