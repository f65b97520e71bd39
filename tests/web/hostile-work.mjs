import { assert, base, open, until } from './page.mjs'
import { clean, found } from './corpus.mjs'

// What an agent left: lines, a commit, what its checks printed, a conversation, the quarantine.
const { browser, page, wrong } = await open()
const api = path => page.evaluate(path => fetch(path, { headers: { 'x-ralph-key': localStorage.getItem('ralph-key') } }).then(r => r.json()), path)
const { loops, sandboxes } = await api('/api/overview'), key = loops[0].key
const held = (await api('/api/quarantine')).rows, talks = (await api('/api/talks')).rows
assert.ok(held.length >= 2 && talks.length >= 1)
const evil = /onerror=alert\(1\)/
const pages = { [`#/loop/${key}/1`]: '#log', [`#/commit/${key}/1`]: '#files', '#/quarantine': 'main', '#/talk': 'main', '#/': 'main', '#/usage': 'main',
  ...Object.fromEntries(held.map(h => [`#/quarantine/${h.id}`, 'pre'])), [`#/talk/${talks[0].id}`]: '#talk', [`#/events/${sandboxes[0].name}`]: 'main', [`#/audit/${sandboxes[0].name}`]: 'main' }
for (const width of [390, 1440]) {
  await page.setViewportSize({ width, height: 844 })
  for (const [hash, where] of Object.entries(pages)) {
    await page.goto('about:blank')
    await page.goto(base + hash)
    await page.waitForSelector('h1')
    // Behind a line of a million signs the older ones can still be reached.
    if (where !== 'main') await until(`the words on ${hash}`, async () => {
      if (where === '#log') await page.click('button:has-text("Older lines")')
      return evil.test(await page.textContent(where))
    })
    if (where === '#log') assert.match(await page.textContent(where), /longer than can be shown/)
    for (const d of await page.$$('main details:not([open]) summary')) await d.click()
    assert.deepEqual(await found(page), clean, `${hash} at ${width}`)
  }
  await page.goto(`${base}#/commit/${key}/1`)
  await until('the checks', async () => evil.test(await page.textContent('section[aria-label=verification]')))
  assert.match(await page.textContent('#files summary'), evil)
}
assert.deepEqual(wrong, [])
await browser.close()
