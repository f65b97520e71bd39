import { assert, base, judge, open, until } from './page.mjs'

// A commit with what proved it beside it, a conversation, and what the sandbox has.
const shots = process.argv[3], pages = {}
const { browser, page, wrong } = await open()
await page.click('a[href^="#/loop/"]')
await page.click('a[href^="#/commit/"]')
await until('the commit', async () => /US-/.test(await page.textContent('h1')))
await until('its file', async () => /US-1/.test(await page.textContent('#files')))
assert.match(await page.textContent('section[aria-label=verification]'), /1 of 1 passed/)
assert.ok(await page.$$('.diff .added').then(rows => rows.length > 0))
pages.commit = new URL(page.url()).hash
await page.goto(base + '#/talk')
await page.waitForSelector('a[href^="#/talk/"]')
await page.click('a[href^="#/talk/"]')
await until('the conversation', async () => /The door is blue/.test(await page.textContent('#talk')))
pages.talk = new URL(page.url()).hash
const box = await page.evaluate(() => fetch('/api/overview', { headers: { 'x-ralph-key': localStorage.getItem('ralph-key') } }).then(r => r.json()).then(j => j.sandboxes[0].name))
await page.goto(`${base}#/audit/${box}`)
await until('the audit', async () => /What .* has/.test(await page.textContent('h1')))
assert.match(await page.textContent('main'), /your kernel/)
assert.match(await page.textContent('main'), /allowlist/)
await page.goto(`${base}#/audit/no-such-sandbox`)
await until('the refusal', async () => /no sandbox/.test(await page.textContent('main')))
for (const [name, hash] of Object.entries({ ...pages, talks: '#/talk', audit: `#/audit/${box}` })) await judge(page, name, hash, shots)
assert.deepEqual(wrong.filter(w => !w.startsWith('policy: ')), [])
await browser.close()
