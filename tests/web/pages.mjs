import { assert, base, findings, judge, open, until } from './page.mjs'

const shots = process.argv[3]
const { browser, page, wrong } = await open()

// The key has left the address, and is good for nothing any more.
assert.ok(!page.url().includes('k='))
const loop = await page.getAttribute('a[href^="#/loop/"]', 'href')
const pages = { overview: '#/', loop, usage: '#/usage', quarantine: '#/quarantine', sessions: '#/sessions', talks: '#/talk' }
const box = await page.$('a[href^="#/events/"]')
if (box) {
  pages.events = await box.getAttribute('href')
  pages.net = pages.events.replace('events', 'net')
  pages.audit = pages.events.replace('events', 'audit')
}
// With something to see: a refused host, a file in quarantine, a budget and a limit of a provider.
const api = path => page.evaluate(path => fetch(path, { headers: { 'x-ralph-key': localStorage.getItem('ralph-key') } }).then(r => r.json()), path)
const [held] = (await api('/api/quarantine')).rows
pages.held = `#/quarantine/${held.id}`
pages.refused = '#/net/' + (await api('/api/overview')).needs.find(n => n.kind === 'refused').sandbox

for (const [name, hash] of Object.entries(pages)) await judge(page, name, hash, shots)

await page.goto(base + pages.refused)
await until('what was refused', async () => /docs\.example\.test:80/.test(await page.textContent('main')))
assert.equal((await page.$$('main button:has-text("Allow")')).length, 3)
await page.goto(base + '#/usage')
await until('the budgets', async () => (await page.$$('progress')).length >= 2)
assert.match(await page.textContent('main'), /of \$9\.00/)
assert.match(await page.textContent('main'), /of \$5\.00/)
// What is shown while the browser has no session.
await page.setViewportSize({ width: 390, height: 844 })
for (const colorScheme of ['light', 'dark']) {
  const other = await (await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme })).newPage()
  await other.goto(base)
  await other.waitForSelector('h1:has-text("Log in")')
  assert.deepEqual(await findings(other), [])
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
await until('every control is reached by Tab', async () => {
  const left = () => page.evaluate(() => [...document.querySelectorAll('a[href], button:not([disabled]), input, textarea')].filter(e => e.getClientRects().length && !window.reached.has(e)).length)
  await page.evaluate(() => { window.reached = new Set(); document.activeElement.blur() })
  for (let i = await left() + 3; i > 0; i--) {
    await page.keyboard.press('Tab')
    await page.evaluate(() => window.reached.add(document.activeElement))
  }
  return await left() === 0
})
await page.focus('button.main')
await page.keyboard.press('Enter')
await page.waitForSelector('dialog[open]')
await page.waitForSelector('#ask-yes:not([disabled])')
assert.deepEqual(await findings(page), [])
await page.keyboard.press('Escape')
await page.waitForSelector('dialog[open]', { state: 'detached' }).catch(() => {})
assert.equal(await page.evaluate(() => document.getElementById('ask').open), false)
// The page is refused what it never does.
assert.equal(await page.evaluate(() => { try { document.body.innerHTML = '<b>x</b>'; return 'done' } catch (e) { return e.name } }), 'TypeError')
assert.deepEqual(wrong.filter(w => !w.startsWith('policy: ')), [])
await browser.close()
