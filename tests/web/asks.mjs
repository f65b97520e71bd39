import { assert, axePath, base, open, until } from './page.mjs'
import fs from 'node:fs'

const { browser, page, wrong } = await open()
const findings = async () => {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Runtime.evaluate', { expression: fs.readFileSync(axePath, 'utf8') })
  const r = await cdp.send('Runtime.evaluate', { expression: 'axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))])))', awaitPromise: true, returnByValue: true })
  return JSON.parse(r.result.value)
}

// It is the first thing on the overview, with the agent's words as text.
await until('the ask is shown', async () => /asks for a host/.test(await page.textContent('.need')))
assert.match(await page.textContent('.need'), /docs\.example\.test:80/)
assert.match(await page.textContent('.need'), /<b>the reference<\/b>/)
assert.equal(await page.$('.need b'), null)
// Where notifications lead: one decision, at both sizes, dark and light.
await page.click('.need a:has-text("Decide")')
await page.waitForSelector('h1:has-text("Ask")')
const id = page.url().split('/').at(-1)
assert.match(id, /^[0-9a-f]{8}$/)
for (const hash of [`#/ask/${id}`, '#/asks']) {
  for (const [width, height] of [[390, 844], [1440, 900]]) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.goto(base + hash)
      await page.waitForSelector('.need')
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, `${hash} at ${width} scrolls sideways`)
      assert.deepEqual(await findings(), [], `${hash} at ${width}, ${colorScheme}`)
      if (process.argv[3]) await page.screenshot({ path: `${process.argv[3]}/${hash.slice(2, 5)}-${width}-${colorScheme}.png` })
    }
  }
}
// Allow and deny stand at opposite sides, each as high as a thumb.
await page.setViewportSize({ width: 390, height: 844 })
await page.goto(base + `#/ask/${id}`)
await page.waitForSelector('button:has-text("Allow for 10 minutes")')
const boxes = []
for (const b of await page.$$('.need button')) boxes.push(await b.boundingBox())
assert.ok(boxes.every(b => b.height >= 44))
assert.ok(boxes[0].x < 60 && boxes.slice(1).every(b => b.x + b.width > 330), 'deny left, allow right')
await page.click('button:has-text("Allow for 10 minutes")')
assert.equal(await page.textContent('#ask-cmd'), `ralph ask allow --once -- ${id}`)
await page.waitForSelector('#ask-yes:not([disabled])')
await page.click('#ask-yes')
await until('it was done', async () => /allowed/.test(await page.textContent('#ask-said')))
await page.click('#ask-no')
// The loop may be done by now, and its sandbox gone.
await until('the page says so', async () => /allowed|no such ask/.test(await page.textContent('main')) && !await page.$('.need button'))
// An old link leads to what was decided; one of nothing says so.
await page.goto(base + '#/ask/00000000')
await until('there is none', async () => /no such ask/.test(await page.textContent('main')))
assert.deepEqual(wrong, [])
await browser.close()
