// What all scripts of this folder start from: a browser that has opened the link, and a list of what went wrong in it.
import { createRequire } from 'node:module'
import assert from 'node:assert/strict'
import fs from 'node:fs'

const modules = process.env.RALPH_AGENTS + '/lib/node_modules/'
const require = createRequire(modules)
const { chromium } = require(modules + 'playwright-core')

export { assert }
const axe = fs.readFileSync(modules + 'axe-core/axe.min.js', 'utf8')
export const link = process.argv[2]
export const base = link.split('#')[0]

export const open = async (options = {}, at = link) => {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--no-first-run'] })
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  const wrong = []
  const watch = page => {
    page.on('pageerror', e => wrong.push('error: ' + e.message))
    page.on('dialog', d => { wrong.push('dialog: ' + d.message()); d.dismiss() })
    page.on('console', m => { if (/Content Security Policy|Trusted/i.test(m.text())) wrong.push('policy: ' + m.text()) })
  }
  context.on('page', watch)
  const page = await context.newPage()
  await page.goto(at)
  await page.waitForSelector('h1')
  return { browser, context, page, wrong }
}

export const until = async (what, fn, ms = 30000) => {
  for (const end = Date.now() + ms; ;) {
    if (await fn()) return
    if (Date.now() > end) throw new Error('still not: ' + what)
    await new Promise(done => setTimeout(done, 50))
  }
}

// The debugger runs axe outside of the page's policy.
export const findings = async page => {
  const cdp = await page.context().newCDPSession(page)
  const there = await cdp.send('Runtime.evaluate', { expression: 'typeof axe' })
  if (there.result.value !== 'object') await cdp.send('Runtime.evaluate', { expression: axe })
  const r = await cdp.send('Runtime.evaluate', { expression: 'axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))])))', awaitPromise: true, returnByValue: true })
  await cdp.detach()
  return JSON.parse(r.result.value)
}

// A page at every size (720x450 is 1440x900 at 200 % zoom), light and dark: it does not scroll sideways, nothing moves, and axe finds nothing. With shots, a picture of each goes there.
export const judge = async (page, name, hash, shots) => {
  for (const [width, height] of [[390, 844], [1440, 900], [720, 450]]) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.goto(base + hash)
      await page.waitForSelector('h1')
      await page.waitForFunction(() => !document.body.textContent.includes('checking the log') && (!document.getElementById('log') || log?.ready))
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      assert.equal(wide, 0, `${name} at ${width} scrolls sideways`)
      assert.equal(await page.$eval('#nav', e => e.scrollWidth - e.clientWidth), 0, `a page in the list of ${name} is out of sight at ${width}`)
      assert.equal(await page.evaluate(() => document.getAnimations().length), 0, `${name} moves for someone who wants no motion`)
      assert.deepEqual(await findings(page), [], `${name} at ${width}, ${colorScheme}`)
      if (shots) await page.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png` })
    }
  }
}
