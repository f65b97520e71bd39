#!/bin/bash
# Makes the pictures of the page of `ralph web` for docs/images, from the saved state scripts/top-demo.json, in Debian's
# Chromium by Playwright (scripts/agents.sh). Called by scripts/screenshots.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=$(scripts/agents.sh --path)/lib/node_modules
if ! command -v chromium >/dev/null || [ ! -d "$modules/playwright-core" ]; then
	echo "web-pictures: needs chromium and scripts/agents.sh; those of the page stay as they are" >&2
	exit 0
fi
home=$(mktemp -d)
export HOME=$home XDG_STATE_HOME=$home/state XDG_CONFIG_HOME=$home/config XDG_RUNTIME_DIR=$home
: >"$home/out"
"$(scripts/stage.sh --path)/bin/ralph" web --port 0 --from scripts/top-demo.json >"$home/out" &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$home"' EXIT
until grep -q '#k=' "$home/out"; do
	kill -0 $server
	sleep 0.1
done
link=$(sed 's/.*\(http:\)/\1/' "$home/out") node --input-type=module <<END
import { createRequire } from 'node:module'
const { chromium } = createRequire('$modules/')('$modules/playwright-core')
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'] })
const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })
await page.goto(process.env.link)
await page.waitForSelector('table')
await page.waitForSelector('#line.live')
await page.screenshot({ path: 'docs/images/web-overview.png' })
await page.emulateMedia({ colorScheme: 'dark' })
await page.setViewportSize({ width: 390, height: 844 })
await page.screenshot({ path: 'docs/images/web-phone.png' })
await browser.close()
END
printf '%s\n' docs/images/web-overview.png docs/images/web-phone.png
