#!/bin/bash
# Makes the pictures of the page of `ralph web` for docs/images: a real loop with a scripted agent works in a shop, is refused
# a host and asks a question, and Debian's Chromium looks at it by Playwright (scripts/agents.sh). Called by scripts/screenshots.sh.
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
set -euo pipefail
cd "$(dirname "$0")/.."

modules=$(scripts/agents.sh --path)/lib/node_modules
if ! command -v chromium >/dev/null || [ ! -d "$modules/playwright-core" ]; then
	echo "web-pictures: needs chromium and scripts/agents.sh; those of the page stay as they are" >&2
	exit 0
fi
ralph=$(scripts/stage.sh --path)/bin/ralph
images=$PWD/docs/images
home=$(mktemp -d /tmp/pictures.XXXXXX)
export HOME=$home XDG_STATE_HOME=$home/state XDG_CONFIG_HOME=$home/config XDG_RUNTIME_DIR=$home/run
mkdir -m 700 "$home/run"
mkdir "$home/shop"
loop=
server=
end() {
	local pid

	for pid in $loop $server; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	"$ralph" rm --all --force >/dev/null 2>&1 || true
	rm -rf "$home"
}
trap end EXIT

until_true() {
	local i

	for ((i = 0; i < 600; i++)); do
		"$@" && return
		sleep 0.1
	done
	echo "web-pictures: still not: $*" >&2
	cat "$home/err" >&2
	exit 1
}

# ---- the loop ----

cd "$home/shop"
git init -q -b main
git config user.name 'A Person'
git config user.email you@example.com
mkdir .ralph src
cat >.ralph/prd.json <<'END'
{"project": "shop", "branchName": "ralph/cart", "description": "the cart of a shop", "userStories": [
 {"id": "US-1", "title": "Totals are in cents", "description": "x", "acceptanceCriteria": ["no floats"], "priority": 1, "passes": false, "notes": "", "verifyCommands": ["test -f src/US-1.js"]},
 {"id": "US-2", "title": "A discount is taken once", "description": "x", "acceptanceCriteria": ["tests pass"], "priority": 2, "passes": false, "notes": "", "verifyCommands": ["test -f src/US-2.js"]},
 {"id": "US-3", "title": "Round half to even", "description": "x", "acceptanceCriteria": ["tests pass"], "priority": 3, "passes": false, "notes": "", "verifyCommands": ["test -f src/US-3.js"]},
 {"id": "US-4", "title": "Keep carts for 30 days", "description": "x", "acceptanceCriteria": ["kept"], "priority": 4, "passes": false, "notes": "", "verifyCommands": ["test -f src/US-4.js"]},
 {"id": "US-5", "title": "Refund an order in part", "description": "x", "acceptanceCriteria": ["tests pass"], "priority": 5, "passes": false, "notes": "", "verifyCommands": ["test -f src/US-5.js"]},
 {"id": "US-6", "title": "Taxes by country", "description": "x", "acceptanceCriteria": ["tests pass"], "priority": 6, "passes": false, "notes": "", "verifyCommands": ["test -f src/US-6.js"]}]}
END
echo 'Do the task below.' >.ralph/prompt.md
cat >agent.py <<'END'
#!/usr/bin/env python3
import json, os, subprocess, sys, time
sys.stdin.read()
task = os.environ["RALPH_TASK"]
def put(**j): print(json.dumps(j), flush=True)
def say(*content): put(type="assistant", message={"content": content})
def tool(name, **given): say({"type": "tool_use", "id": "1", "name": name, "input": given})
def run(*words): subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
put(type="system", subtype="init", session_id="x", model="m")
say({"type": "text", "text": "The cart adds prices as floats, so a total can be a cent off. I read the sums first, then change them together with their tests."})
tool("Read", file_path=f"src/{task}.js")
said = "Done.\n<promise>COMPLETE</promise>"
if task == "US-4":
    said = "<promise>DECIDE:Are carts of guests kept for 30 days too, or of customers alone?</promise>"
elif task == "US-5":
    run("curl", "-s", "-m", "5", "http://docs.payments.example/refunds")
    tool("Edit", file_path="src/refund.js", old_string="amount", new_string="amount in cents")
    tool("Bash", command="npm test -- refund")
    time.sleep(600)
else:
    with open(f"src/{task}.js", "w") as f:
        f.write("export const total = items =>\n  items.reduce((sum, i) => sum + i.cents * i.count, 0)\n")
    tool("Edit", file_path=f"src/{task}.js", old_string="price", new_string="cents")
    run("git", "add", "src")
    run("git", "commit", "-qm", f"{task}: sums in cents")
    tool("Bash", command="npm test")
    name = ".ralph/agent/prd.json"
    with open(name) as f: prd = json.load(f)
    for s in prd["userStories"]: s["passes"] = s["passes"] or s["id"] == task
    with open(name, "w") as f: json.dump(prd, f)
put(type="result", subtype="success", is_error=False, result=said, num_turns=4, session_id="x", total_cost_usd=0.41,
    usage={"input_tokens": 90000, "output_tokens": 8000, "cache_read_input_tokens": 400000, "cache_creation_input_tokens": 0})
END
chmod +x agent.py
git add -A
git commit -qm 'a shop'
"$ralph" build --max-cost 10 --verify 'echo "41 passing (2 s)"' -- ./agent.py >"$home/out" 2>"$home/err" &
loop=$!
works() {
	grep -qs 'npm test -- refund' .ralph/logs/iteration-005.jsonl
}
until_true works

# ---- the page ----

"$ralph" web --port 0 >"$home/web" 2>>"$home/err" &
server=$!
until_true grep -q '#k=' "$home/web"
link=$(sed 's/.*\(http:\)/\1/' "$home/web") images=$images node --input-type=module <<END
import { createRequire } from 'node:module'
const { chromium } = createRequire('$modules/')('$modules/playwright-core')
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'] })
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', permissions: ['notifications'] })
const page = await context.newPage()
const shoot = name => page.screenshot({ path: process.env.images + '/' + name + '.png' })
await page.goto(process.env.link)
const base = page.url().split('#')[0]
await page.waitForSelector('a[href^="#/loop/"]')
await page.waitForSelector('#line.live')
await page.waitForSelector('text=docs.payments.example')
await shoot('web-overview')
const loop = await page.getAttribute('a[href^="#/loop/"]', 'href')
await page.goto(base + loop)
await page.waitForSelector('#log >> text=npm test -- refund')
await shoot('web-loop')
await page.goto(base + loop.replace('loop', 'commit') + '/1')
await page.waitForSelector('.diff .added')
await page.click('summary:has-text("41 passing")')
await shoot('web-commit')
await page.emulateMedia({ colorScheme: 'dark' })
await page.setViewportSize({ width: 390, height: 844 })
await page.goto(base + '#/')
await page.waitForSelector('h1:has-text("need")')
await shoot('web-phone')
await browser.close()
END
printf 'docs/images/%s.png\n' web-overview web-loop web-commit web-phone
