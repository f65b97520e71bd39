import { assert, base, open, until } from './page.mjs'
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import { promisify } from 'node:util'

// Between the browser and the server: streams are cut after so many bytes, the first answer of a stream in its middle too.
const [log, box, ralph] = process.argv.slice(3), CUTS = 100
const open_sockets = new Set()
let cuts = 0, on_cut = () => {}
const server = net.createServer(from => {
  const to = net.connect(Number(new URL(base).port), '127.0.0.1')
  let left = Infinity
  open_sockets.add(from)
  for (const [a, b] of [[from, to], [to, from]]) {
    a.on('close', () => b.destroy())
    a.on('error', () => b.destroy())
  }
  from.on('data', d => {
    if (cuts < CUTS && d.includes('POST /api/stream ')) left = Math.floor(Math.random() * (cuts % 4 ? 3000 : 8000))
    to.write(d)
  })
  to.on('data', d => {
    const whole = d.length <= left || cuts >= CUTS
    from.write(whole ? d : d.subarray(0, left))
    left -= d.length
    if (whole) return
    cuts++
    from.end()
    to.destroy()
    on_cut()
  })
})
await new Promise(done => server.listen(0, '127.0.0.1', done))
const cut_base = `http://127.0.0.1:${server.address().port}/`

const { browser, context, page, wrong } = await open({}, process.argv[2].replace(base, cut_base))

// Lines of a log, as the page shows them. It tries again at once, as after its machine was asleep.
await page.evaluate(() => { setInterval(() => window.dispatchEvent(new Event('online')), 20) })
await page.goto(cut_base + await page.getAttribute('a[href^="#/loop/"]', 'href'))
const before = await page.$$eval('#log div', rows => rows.length)
const line = text => JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text: text + ' and more'.repeat(30) }] } }) + '\n'
let n = 0
on_cut = () => fs.appendFileSync(log, line(`line ${n++};`) + line(`line ${n++};`))
await until('100 cuts', () => {
  // Something has to be on the way for a stream to be cut in it.
  if (cuts < CUTS && n < 400) fs.appendFileSync(log, line(`line ${n++};`))
  return cuts === CUTS
}, 90000)
await until('the last line', async () => (await page.textContent('#log')).includes(`line ${n - 1};`))
const lines = await page.$$eval('#log div', rows => rows.map(e => /^line (\d+);/.exec(e.textContent)?.[1]).filter(Boolean).map(Number))
assert.ok(before < 20)
assert.deepEqual(lines, [...Array(n).keys()])
await until('it lives', async () => (await page.textContent('#line')) === 'live')

// Events, more of them than the reader keeps in memory, from the first one on.
const event = () => promisify(execFile)(ralph, ['exec', box, 'true'])
for (let i = 0; i < 14; i++) await Promise.all([...Array(10)].map(event))
cuts = 0
on_cut = () => {}
const reading = page.evaluate(async name => {
  const headers = { 'content-type': 'application/json', 'x-ralph-key': localStorage.getItem('ralph-key') }
  const all = []
  for (let cursor = 0; !(cursor >= window.last);) {
    const r = await fetch('/api/stream', { method: 'POST', headers, body: JSON.stringify({ topics: { [`events/${name}`]: cursor } }) }).catch(() => null)
    const reader = r?.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let text = ''; reader && !(cursor >= window.last);) {
      const { done, value } = await reader.read().catch(() => ({ done: true }))
      if (done) break
      const records = (text + value).split('\n\n')
      text = records.pop()
      for (const record of records.filter(r => r.startsWith('data: '))) {
        const news = JSON.parse(record.slice(6))
        all.push(...news.data.rows.map(r => r.seq))
        cursor = news.cursor
      }
    }
    reader?.cancel()
  }
  return all
}, box)
await until('30 cuts', async () => {
  await event()
  return cuts >= 30
}, 60000)
cuts = CUTS
const kept = await page.evaluate(async name => {
  const { rows } = await fetch(`/api/events/${name}`, { headers: { 'x-ralph-key': localStorage.getItem('ralph-key') } }).then(r => r.json())
  window.last = rows.at(-1).seq
  return rows.map(r => r.seq)
}, box)
await event()
const seqs = (await reading).filter(n => n <= kept.at(-1))
assert.ok(seqs.length > 270, `${seqs.length} events`)
assert.deepEqual(seqs, kept)

// Eight tabs: all are live, and one of them has the stream.
let streams = 0
context.on('request', r => { if (r.url().endsWith('/api/stream')) streams++ })
const tabs = []
for (let i = 0; i < 7; i++) {
  tabs.push(await context.newPage())
  await tabs[i].goto(cut_base)
}
for (const t of tabs) await until('a tab lives', async () => (await t.textContent('#line')) === 'live' && (await t.$('table')))
assert.ok(streams <= 2, `${streams} streams for 8 tabs`)
// The leader goes: another takes over.
await page.close()
await until('another tab reads', () => streams > 0)
await until('it lives', async () => (await tabs[0].textContent('#line')) === 'live')

// The server goes: what is shown stays, and nobody calls it live. It comes back: so does the page, by itself.
const { port } = server.address()
server.close()
for (const s of open_sockets) s.destroy()
await until('it says so', async () => /behind|offline/.test(await tabs[0].textContent('#line')))
assert.ok(await tabs[0].$('table'))
await tabs[0].goto(cut_base + '#/usage')
await until('it is drawn or waits', async () => /Usage|does not answer/.test(await tabs[0].textContent('main')))
await new Promise(done => server.listen(port, '127.0.0.1', done))
await until('it lives again', async () => (await tabs[0].textContent('#line')) === 'live')
await until('it is drawn', async () => /Budgets/.test(await tabs[0].textContent('main')))
assert.deepEqual(wrong, [])
await browser.close()
server.close()
