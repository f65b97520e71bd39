import { assert, axePath, base, open } from './page.mjs'
import fs from 'node:fs'

const shots = process.argv[3]
const axe = fs.readFileSync(axePath, 'utf8')
const { browser, page, wrong } = await open()

// The key has left the address, and is good for nothing any more.
assert.ok(!page.url().includes('k='))
const loop = await page.getAttribute('a[href^="#/loop/"]', 'href')
const pages = { overview: '#/', loop, usage: '#/usage', quarantine: '#/quarantine', sessions: '#/sessions' }
const box = await page.$('a[href^="#/events/"]')
if (box) {
  pages.events = await box.getAttribute('href')
  pages.net = pages.events.replace('events', 'net')
}

// The debugger runs axe outside of the page's policy.
const cdp = await page.context().newCDPSession(page)
const findings = async () => {
  await cdp.send('Runtime.evaluate', { expression: axe })
  const r = await cdp.send('Runtime.evaluate', { expression: 'axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))])))', awaitPromise: true, returnByValue: true })
  return JSON.parse(r.result.value)
}

for (const [name, hash] of Object.entries(pages)) {
  for (const [width, height] of [[390, 844], [1440, 900], [720, 450]]) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.goto(base + hash)
      await page.waitForSelector('h1')
      await page.waitForFunction(() => !document.body.textContent.includes('checking the log'))
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      assert.equal(wide, 0, `${name} at ${width} scrolls sideways`)
      assert.deepEqual(await findings(), [], `${name} at ${width}, ${colorScheme}`)
      if (shots) await page.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png` })
    }
  }
}

// By keyboard alone: the first stop skips to the content, and every control can be reached.
await page.setViewportSize({ width: 1440, height: 900 })
await page.goto(base + '#/')
await page.reload()
await page.waitForSelector('h1')
await page.keyboard.press('Tab')
assert.equal(await page.evaluate(() => document.activeElement.className), 'skip')
await page.goto(base + loop)
await page.waitForSelector('button.main')
await page.focus('button.main')
await page.keyboard.press('Enter')
await page.waitForSelector('dialog[open]')
await page.keyboard.press('Escape')
await page.waitForSelector('dialog[open]', { state: 'detached' }).catch(() => {})
assert.equal(await page.evaluate(() => document.getElementById('ask').open), false)
// The page is refused what it never does.
assert.equal(await page.evaluate(() => { try { document.body.innerHTML = '<b>x</b>'; return 'done' } catch (e) { return e.name } }), 'TypeError')
assert.deepEqual(wrong.filter(w => !w.startsWith('policy: ')), [])
await browser.close()
