import { assert, base, open, until } from './page.mjs'
import { clean, corpus, found } from './corpus.mjs'

// Every page that shows words of agents, from a saved state that is full of them.
const { browser, page, wrong } = await open()
const api = path => page.evaluate(path => fetch(path, { headers: { 'x-ralph-key': localStorage.getItem('ralph-key') } }).then(r => r.json()), path)
const { sandboxes, loops, needs } = await api('/api/overview')
assert.ok(needs.length >= 5)
const name = sandboxes.find(s => s.refused)?.name ?? sandboxes[0].name
await page.goto(base + '#/sessions')
const pages = ['#/', '#/asks', '#/usage', `#/net/${name}`, `#/events/${name}`, `#/loop/${loops[0].key}`, '#/ask/00000001', '#/ask/00000002', '#/ask/00000003', '#/ask/00000004',
  '#/constructor', '#/__proto__', '#/toString/x', '#/loop/%3Cb%3E', '#/audit/<img src=x>', '#/talk/javascript:alert(1)', '#/commit/../..']
let shown = ''
for (const width of [390, 1440]) {
  await page.setViewportSize({ width, height: 844 })
  for (const hash of pages) {
    await page.evaluate(hash => {
      document.querySelector('main').replaceChildren()
      location.hash = hash
    }, hash)
    await until('it is drawn', () => page.evaluate(() => document.querySelector('main').childElementCount > 1))
    assert.deepEqual(await found(page), clean, `${hash} at ${width}`)
    shown += await page.textContent('main')
    // What an act is about is text of agents too.
    for (const b of (await page.$$('main button[aria-label]')).slice(0, 2)) {
      await b.click()
      await page.waitForSelector('dialog[open]')
      assert.deepEqual(await found(page), clean, `dialog of ${hash} at ${width}`)
      assert.ok(!/[\u001b\u202e\u200b]|<b>/.test(await page.$eval('#ask', e => e.textContent + e.innerHTML.replace(/&lt;b&gt;/g, ''))))
      await page.click('#ask-no')
    }
  }
}
for (const word of ['<img src=x onerror=alert(1)>', '\u27e8U+202E\u27e9', '\u27e8U+E0041\u27e9', '\u241b', 'combining marks\u27e9', 'javascript:alert(8)', corpus.at(-1).slice(0, 500)])
  assert.ok(shown.includes(word), `${word} is shown as text`)
assert.deepEqual(wrong, [])
await browser.close()
