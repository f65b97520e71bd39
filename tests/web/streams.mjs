import { assert, base, open, until } from './page.mjs'

const { browser, context, page, wrong } = await open()
const name = (await page.getAttribute('a[href^="#/events/"]', 'href')).split('/')[2]

// One event at a time, cut off after each: what the cursors give is every number once.
const seqs = await page.evaluate(async name => {
  const headers = { 'content-type': 'application/json', 'x-ralph-key': localStorage.getItem('ralph-key') }
  const all = []
  let cursor = 0
  for (let i = 0; i < 100; i++) {
    const cut = new AbortController()
    const r = await fetch('/api/stream', { method: 'POST', headers, body: JSON.stringify({ topics: { [`events/${name}`]: Math.max(0, cursor - (i % 3 ? 0 : 1)) } }), signal: cut.signal })
    const reader = r.body.pipeThrough(new TextDecoderStream()).getReader()
    if (i === 0 || i % 3 === 0) {
      let text = ''
      while (!text.includes('\n\n')) text += (await reader.read()).value
      const news = JSON.parse(text.slice(6, text.indexOf('\n\n')))
      for (const row of news.data.rows) if (row.seq > cursor) all.push(row.seq)
      cursor = news.cursor
    }
    cut.abort()
  }
  return all
}, name)
assert.ok(seqs.length > 3)
assert.equal(new Set(seqs).size, seqs.length)
assert.deepEqual(seqs, [...seqs].sort((a, b) => a - b))

// Eight tabs: all are live, and one of them has the stream.
let streams = 0
context.on('request', r => { if (r.url().endsWith('/api/stream')) streams++ })
const tabs = []
for (let i = 0; i < 7; i++) {
  tabs.push(await context.newPage())
  await tabs[i].goto(base)
}
for (const t of tabs) await until('a tab lives', async () => (await t.textContent('#line')) === 'live' && (await t.$('table')))
assert.ok(streams <= 2, `${streams} streams for 8 tabs`)
// The leader goes: another takes over.
await page.close()
await until('another tab reads', () => streams > 0)
await until('it lives', async () => (await tabs[0].textContent('#line')) === 'live')
assert.deepEqual(wrong, [])
await browser.close()
