import { assert, base, judge, open, until } from './page.mjs'

const { browser, page, wrong } = await open()

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
for (const hash of [`#/ask/${id}`, '#/asks']) await judge(page, hash.slice(2, 5), hash, process.argv[3])
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
