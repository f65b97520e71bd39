'use strict'
// The page of `ralph web`. Text of agents only ever becomes text: every element is made here, by name, and filled by
// textContent; the server's policy (Trusted Types) refuses anything else.

// ---- text ----

// Controls, and what changes the direction, hides, or is drawn over other lines, are shown as marks. An emoji may have its variation.
const MARKS = /(?![\t\n]|(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|\p{M}{9,}/gu
const plain = text => String(text ?? '').replace(MARKS, c => {
  const n = c.codePointAt(0)
  if ([...c].length > 1) return `\u27e8${[...c].length} combining marks\u27e9`
  return n < 0x20 ? String.fromCodePoint(0x2400 + n) : n === 0x7f ? '\u2421' : `\u27e8U+${n.toString(16).toUpperCase().padStart(4, '0')}\u27e9`
})
const usd = micro => '$' + (micro / 1e6).toFixed(micro && micro < 1e6 ? 3 : 2)
const count = n => n >= 1e6 ? (n / 1e6).toFixed(1) + ' M' : n >= 1e4 ? Math.round(n / 1e3) + ' k' : String(n)
const span = s => s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`
const when = ms => ms ? new Date(ms).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' }) : ''

// el('p.soft', {title: 'x'}, child…): strings become text, null is left out.
const el = (name, attrs, ...children) => {
  const [tag, ...classes] = name.split('.')
  const e = document.createElement(tag)
  if (classes.length) e.className = classes.join(' ')
  for (const [k, v] of Object.entries(attrs ?? {})) if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v)
  for (const c of children.flat(3)) if (c !== null && c !== undefined && c !== false) e.append(typeof c === 'object' ? c : plain(c))
  return e
}
const agent = (text, name = 'bdi.agent') => el(name, null, text)

// ---- the server ----

const store = { get key() { return localStorage.getItem('ralph-key') }, set key(v) { v ? localStorage.setItem('ralph-key', v) : localStorage.removeItem('ralph-key') } }
let level = 'look'
const LEVELS = ['look', 'steer', 'grant']
const may = want => LEVELS.indexOf(level) >= LEVELS.indexOf(want)

const post = (path, body) => fetch(path, {
  method: 'POST', headers: { 'content-type': 'application/json', 'x-ralph-key': store.key ?? '' }, body: JSON.stringify(body), redirect: 'error',
})

// Reading may be tried again: desk is replaced now and then, and a line is cut. A refusal is the server's word.
class Refused extends Error {}
const get = async path => {
  for (let i = 0; ; i++) {
    const r = await fetch(path, { headers: { 'x-ralph-key': store.key ?? '' }, redirect: 'error' }).catch(() => null)
    if (r && r.status !== 503 && r.status !== 429) {
      if (r.status === 401) logged_out()
      const j = await r.json()
      if (!r.ok) throw new Refused(j.error ?? `status ${r.status}`)
      return j
    }
    if (i === 8) throw new Error('The server does not answer.')
    await new Promise(done => setTimeout(done, 250))
  }
}

// The link's key is in the fragment, which no server log has; it leaves the history at once.
const login = async () => {
  const m = /^#k=([0-9a-f]{32})$/.exec(location.hash)
  if (!m) return Boolean(store.key)
  history.replaceState(null, '', '#/')
  const r = await post('/login', { key: m[1] }).catch(() => null), j = await r?.json()
  if (!r?.ok) {
    say_login(j?.error ?? 'The server does not answer. If this link is refused when you open it again, make another.')
    return false
  }
  store.key = j.key
  return true
}

const main = document.getElementById('main')
let ended = false

const say_login = why => {
  ended = true
  set_line('off', 'not logged in')
  show(el('h1', null, 'Log in'), el('div.card', null, el('p', null, why ?? 'This page needs a link that works once.'),
    el('p', null, 'On the machine where ralph runs, type '), el('pre', { tabindex: 0, 'aria-label': 'command' }, 'ralph web link')))
}
const logged_out = () => {
  store.key = null
  say_login('This session has ended.')
}

// ---- drawing: a new tree is compared with the old one, so that focus and place stay ----

const sync = (old, fresh) => {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh)
    return
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data
    return
  }
  for (const a of [...old.attributes]) if (!fresh.hasAttribute(a.name)) old.removeAttribute(a.name)
  for (const a of fresh.attributes) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value)
  old.act = fresh.act
  old.go = fresh.go
  if (fresh.hasAttribute('data-keep')) return
  const before = [...old.childNodes], after = [...fresh.childNodes]
  after.forEach((n, i) => before[i] ? sync(before[i], n) : old.append(n))
  before.slice(after.length).forEach(n => n.remove())
}
const show = (...children) => {
  const fresh = el('main', { id: 'main', tabindex: -1 }, children)
  sync(main, fresh)
}

const set_line = (kind, text) => {
  const line = document.getElementById('line')
  if (line.className !== kind) line.className = kind
  const t = document.getElementById('line-text')
  if (t.textContent !== text) t.textContent = text
}

// ---- acts: each shows its command, and is sent once ----

const NAMES = {
  answer: 'Answer', note: 'Note', reopen: 'Reopen', pause: 'Pause after this iteration', stop: 'Stop', resume: 'Resume', deny: 'Deny',
  'allow-once': 'Allow until it stops', 'allow-sandbox': 'Allow for this sandbox', 'allow-project': 'Allow for this project',
  'ask-answer': 'Answer', 'ask-deny': 'Deny', 'ask-once': 'Allow for 10 minutes', 'ask-sandbox': 'Allow for this sandbox',
  'ask-loop': 'Allow for this loop', 'ask-project': 'Allow for this project',
  drop: 'Remove for good', release: 'Put back', revoke: 'End session',
}
const button = (act, about, main_one) => {
  if (!may(act.level)) return null
  const b = el(main_one ? 'button.main' : 'button', { type: 'button', 'aria-label': `${NAMES[act.verb]}: ${plain(about)}` }, NAMES[act.verb])
  b.act = { ...act, about }
  return b
}
const buttons = (acts, about, pick) => (acts ?? []).filter(a => !pick || pick.includes(a.verb)).map(a => button(a, about))

const ask = document.getElementById('ask')
const part = name => document.getElementById('ask-' + name)
let open_act = null
const BLANK = "'\u2026'"
const takes_text = act => ['answer', 'note', 'ask-answer', 'ask-deny'].includes(act.verb)

const open_ask = act => {
  open_act = act
  part('title').textContent = NAMES[act.verb]
  part('why').textContent = plain(act.about)
  part('text').value = ''
  part('text').hidden = part('label').hidden = !takes_text(act)
  part('cmd').textContent = plain(act.cmd)
  part('said').textContent = ''
  part('no').textContent = 'Cancel'
  part('yes').hidden = false
  part('yes').textContent = NAMES[act.verb]
  // A tap that was meant for what stood here before does nothing.
  part('yes').disabled = true
  setTimeout(() => { part('yes').disabled = false }, 700)
  ask.showModal()
}
const run_act = async () => {
  const act = open_act, text = part('text').value.trim()
  if (!act || (takes_text(act) && !text)) {
    part('said').textContent = 'Type something first.'
    part('text').focus()
    return
  }
  part('yes').disabled = true
  part('said').textContent = 'running …'
  const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, '0')).join('')
  try {
    const r = await post('/api/act', { verb: act.verb, id: act.id, seen: act.seen, nonce, ...(takes_text(act) ? { text } : {}) })
    const j = await r.json()
    if (r.status === 401) logged_out()
    part('said').textContent = r.ok ? (j.code ? `failed with ${j.code}: ` : '') + plain(j.said) : `not done: ${plain(j.error)}`
  } catch {
    part('said').textContent = 'The answer was lost. Look whether it was done before you try again.'
  }
  part('yes').hidden = true
  part('no').textContent = 'Close'
  part('no').focus()
  load()
}
part('no').addEventListener('click', () => ask.close())
part('yes').addEventListener('click', run_act)
// The text is the last word of its command. A task may have the sign of its place in its name.
part('text').addEventListener('input', () => {
  const text = part('text').value.trim(), at = open_act?.cmd.lastIndexOf(BLANK) ?? -1
  if (at >= 0) part('cmd').textContent = plain(open_act.cmd.slice(0, at) + (text ? `'${text.replaceAll("'", "'\\''")}'` : BLANK))
})
document.addEventListener('click', e => {
  const b = e.target.closest('button')
  if (b?.act) open_ask(b.act)
  else if (b?.go) b.go()
})

// ---- the pages ----

const TONES = { __proto__: null, whole: 'good', broken: 'bad', running: 'good', iterating: 'good', verifying: 'good', starting: 'good', done: 'good', waiting: 'warn', paused: 'warn', question: 'warn',
  blocked: 'warn', stuck: 'warn', asks: 'warn', limit: 'warn', provider: 'warn', login: 'warn', crashed: 'bad', failed: 'bad', killed: 'bad' }
const tag = state => el('span.tag' + (TONES[state] ? '.' + TONES[state] : ''), null, state)
const cell = (name, ...c) => el('td', { 'data-name': name }, c)
const num = (name, ...c) => el('td.num', { 'data-name': name }, c)
const table = (names, rows, empty) => rows.length
  ? el('div.scroll', null, el('table.stack', null, el('thead', null, el('tr', null, names.map(n => el(n[0] === '#' ? 'th.num' : 'th', { scope: 'col' }, n.replace('#', ''))))),
    el('tbody', null, rows)))
  : el('p.soft', null, empty)

// What an agent asks for. Its words are marked as such: nobody has checked them.
const ASKS = { __proto__: null, host: ' asks for a host', file: ' asks for a change of a protected file', decide: ' asks you to decide' }
const ask_card = (a, title, whole) => {
  const about = a.what || plain(a.why), open = a.state === 'open'
  return el(open ? 'li.card.need' : 'li.card', null, title, a.what ? el('p.big', null, agent(a.what)) : null, el('p', null, el('span.soft', null, 'the agent says: '), agent(a.why)),
    a.choices?.length ? el('ul', null, a.choices.map(c => el('li', null, agent(c)))) : null,
    open ? el('div.row.apart', null, el('div', null, buttons(a.acts, about, ['ask-deny'])),
      el('div.row.right', null, whole ? buttons(a.acts, about, ['ask-answer', 'ask-once', 'ask-sandbox', 'ask-loop', 'ask-project']) : el('a.button', { href: `#/ask/${a.id}` }, 'Decide')))
      : el('p', null, tag(a.state), a.scope ? ` (${plain(a.scope)}) ` : ' ', agent(a.answer)),
    el('p.soft', null, plain(a.sandbox), `, ${when(a.at_ms)}`, a.times > 1 ? `, asked ${a.times} times` : ''))
}

const need_card = n => {
  if (n.kind === 'question') {
    return el('li.card.need', null, el('h2', null, agent(n.project, 'bdi'), ' asks', n.task ? ` about ${plain(n.task)}` : ''), el('p.big', null, agent(n.text)),
      el('p', null, el('a.button', { href: `#/loop/${n.key}` }, 'Answer')))
  }
  if (n.kind === 'ask') return ask_card(n, el('h2', null, agent(n.project, 'bdi'), ASKS[n.of] ?? ' asks'))
  if (n.kind === 'refused') {
    const about = `${n.host}:${n.port} for ${n.sandbox}`
    return el('li.card.need', null, el('h2', null, agent(n.project, 'bdi'), ` was refused ${n.count}\u00d7`), el('p.big', null, agent(`${n.host}:${n.port}`)),
      el('div.row.apart', null, buttons(n.acts, about, ['deny']), el('a.button', { href: `#/net/${n.sandbox}` }, 'Decide')))
  }
  return el('li.card.need', null, el('h2', null, agent(n.project, 'bdi'), ' ', n.state), el('p.big', null, agent(n.text)),
    n.next ? el('p.soft', null, 'next: ', agent(n.next)) : null, el('p', null, el('a.button', { href: `#/loop/${n.key}` }, 'Look')))
}

const loop_row = l => el('tr', null,
  cell('', el('a', { href: `#/loop/${l.key}` }, agent(l.project, 'bdi'))), cell('', tag(l.state)),
  cell('', agent(l.task ? `${l.task.id} ${l.task.title}` : '')), num('iteration', l.max ? `${l.iteration} of ${l.max}` : String(l.iteration)),
  num('done', l.total ? `${l.done} of ${l.total}` : '\u2013'), num('spent', usd(l.micro_usd)), cell('', agent(l.tool)),
  cell('', el('div.row', null, buttons(l.acts, l.project))))

const box_row = b => el('tr', null,
  cell('', agent(b.name, 'bdi')), cell('', tag(b.state)), cell('', agent(b.doing)), num('spent', usd(b.micro_usd)), num('tokens', count(b.tokens)),
  num('refused', el('a', { href: `#/net/${b.name}`, 'aria-label': `${b.refused} refused, network of ${b.name}` }, String(b.refused))),
  cell('', el('a', { href: `#/events/${b.name}`, 'aria-label': `events of ${b.name}` }, 'events'), ' ', el('a', { href: `#/audit/${b.name}`, 'aria-label': `audit of ${b.name}` }, 'audit')))

// How much needs a person: in the title of every page, to those who listen, and where it was allowed as a notification, without any text of agents.
const needs_in = d => d.needs.length + (d.quarantine ? 1 : 0)
let waiting = 0, title = ''
const titled = text => {
  title = text
  document.title = [waiting ? `(${waiting})` : '', text ? `${text} \u2013 ralph` : 'ralph'].join(' ').trim()
}
const tell = n => {
  if (n === waiting) return
  const text = n ? `${n} need${n === 1 ? 's' : ''} you` : 'nothing needs you'
  document.getElementById('told').textContent = text
  if (n > waiting && leads && document.hidden && window.Notification?.permission === 'granted') new Notification('ralph', { body: text, tag: 'ralph' })
  waiting = n
  titled(title)
}
const notify_button = () => window.Notification?.permission === 'default' ? el('p', null, step('Notify me when something needs me', async () => {
  await Notification.requestPermission()
  load()
})) : null
const overview = {
  path: () => '/api/overview', topic: () => 'overview',
  draw (d) {
    const n = needs_in(d)
    tell(n)
    titled('')
    show(el('h1', null, n ? `${n} thing${n === 1 ? '' : 's'} need${n === 1 ? 's' : ''} you` : 'Nothing needs you'),
      n ? el('ul.grid', { role: 'list', class: 'grid bare' }, d.needs.map(need_card), d.quarantine
        ? el('li.card.need', null, el('h2', null, 'Quarantine'), el('p.big', null, `${d.quarantine} file${d.quarantine === 1 ? '' : 's'} taken out of workspaces`),
          el('p', null, el('a.button', { href: '#/quarantine' }, 'Look'))) : null) : el('p.soft', null, 'No question is open, and nothing was refused that you could allow.'), notify_button(),
      el('h2', null, 'Loops'), table(['project', 'state', 'task', '#iteration', '#done', '#spent', 'doing', 'actions'], d.loops.map(loop_row), 'No loop yet. Start one with: ralph build'),
      el('h2', null, 'Sandboxes'), table(['name', 'state', 'doing', '#spent', '#tokens', '#refused', 'log'], d.sandboxes.map(box_row), 'No sandbox yet.'))
  },
}

const COLUMNS = [['ready', ['ready', 'held']], ['busy', ['busy']], ['asks', ['asks', 'blocked', 'decide']], ['done', ['done']], ['stuck', ['stuck']]]
const task_card = t => el('div.task', null, el('strong', null, agent(t.id, 'bdi')), ' ', agent(t.title, 'bdi'),
  t.question ? el('p.big', null, agent(t.question)) : null, t.why && t.why !== t.question && t.state !== 'done' ? el('p.soft', null, agent(t.why)) : null,
  t.commit ? el('p.soft', null, el('code', null, t.commit.slice(0, 10))) : null, t.attempts ? el('p.soft', null, `${t.attempts} attempt${t.attempts === 1 ? '' : 's'}`) : null,
  el('div.row', null, (t.acts ?? []).map(a => button(a, t.question ?? `${t.id} ${t.title}`, a.verb === 'answer'))))
const record_row = (d, r) => el('tr', null, cell('', el('a', { href: `#/loop/${d.key}/${r.iteration}` }, `iteration ${r.iteration}`)),
  cell('', tag(r.verdict)), cell('', agent(r.task ?? '')), cell('', agent(r.why ?? '')), cell('', r.commit ? el('a', { href: `#/commit/${d.key}/${r.iteration}`, 'aria-label': `commit of iteration ${r.iteration}` }, el('code', null, r.commit.slice(0, 10))) : null),
  num('', span(r.ms / 1000)), num('', usd(r.micro_usd)))

const loop = {
  path: p => `/api/loop/${p[1]}`, topic: p => `loop/${p[1]}`,
  draw (d, p) {
    const iteration = p[2] ? Number(p[2]) : d.iteration
    titled(`${plain(d.project)}`)
    show(el('p', null, el('a', { href: '#/' }, '\u2039 Overview')), el('h1', null, agent(d.project, 'bdi'), ' ', tag(d.state)),
      el('div.row', null, el('span.num', null, d.max_iterations ? `iteration ${d.iteration} of ${d.max_iterations}` : `iteration ${d.iteration}`),
        el('span.num', null, d.max_micro_usd ? `${usd(d.micro_usd)} of ${usd(d.max_micro_usd)}` : usd(d.micro_usd)), d.max_micro_usd ? bar('spent', d.micro_usd, d.max_micro_usd) : null,
        d.started ? el('span.soft', null, `started ${when(d.started * 1000)}`) : null, el('span.soft', null, agent(d.workspace, 'bdi')), el('span.row', null, buttons(d.acts, d.project))),
      d.tasks_total ? null : d.reason && !d.running ? el('p', null, agent(d.reason)) : null,
      el('h2', null, 'Tasks'), el('div.board', null, COLUMNS.map(([name, states]) => {
        const tasks = d.tasks.filter(t => states.includes(t.state))
        return el('section', { 'aria-label': name }, el('h3', null, el('span', null, name), el('span.num' + (tasks.length ? '' : '.none'), null, String(tasks.length))), tasks.map(task_card))
      })),
      d.running && d.workers?.length ? [el('h2', null, 'On other machines'), table(['task', 'node', 'job', 'sandbox'], d.workers.map(w => el('tr', null,
        cell('', agent(w.task)), cell('', agent(w.node)), cell('', agent(w.job ?? '')), cell('', w.sandbox ? el('a', { href: `#/events/${w.sandbox}` }, agent(w.sandbox)) : null))), '')] : null,
      el('h2', null, iteration ? `Iteration ${iteration}` : 'Live'),
      el('div.card', { id: 'log', 'data-keep': true, role: 'log', tabindex: 0, 'aria-label': `What the agent did in iteration ${iteration}` }),
      el('div.row', null, step('Older lines', older_log), step(end_name(), follow_log, { id: 'log-end' })),
      el('div', { id: 'checks', 'data-keep': true }),
      el('h2', null, 'Iterations'), table(['iteration', 'verdict', 'task', 'why', 'commit', '#time', '#spent'], d.records.map(r => record_row(d, r)), 'No iteration has ended yet.'))
    if (iteration) start_log(d.key, iteration)
    if (iteration) draw_checks(d, iteration)
  },
}
// What verified the iteration, with the end of what each command said.
let checked = ''
const draw_checks = async (d, n) => {
  const box = document.getElementById('checks'), now = `${d.key}/${n}/${d.state}/${d.records.length}`
  if (!box || (checked === now && box.childElementCount)) return
  checked = now
  const { rows } = await get(`/api/loop/${d.key}/iter/${n}/verify`)
  if (checked !== now) return
  box.replaceChildren(...rows.length ? [el('h2', null, 'Verification')] : [], ...rows.map(check_card))
}
const step = (name, go, attrs) => {
  const b = el('button', { type: 'button', ...attrs }, name)
  b.go = go
  return b
}

// The log is a window on a file of any size: at most this many lines are in the page.
const LINES_MAX = 600
let log = null
const end_name = () => log?.unseen ? `${log.unseen} new \u2193` : 'To the end'
const count_unseen = n => {
  if (!log) return
  log.unseen = n
  const b = document.getElementById('log-end')
  if (b) b.textContent = end_name()
}
const log_line = i => {
  const e = el(`div.${['words', 'call', 'failed', 'notice', 'output'].includes(i.kind) ? i.kind : 'output'}`, null, i.text, i.more ? ` \u2026 ${i.more} bytes more` : '')
  e.at = i.at
  return e
}
const start_log = async (key, n) => {
  if (log?.key === key && log.n === n) return
  log = { key, n, next: 0, first: 0, follows: true, topic: `log/${key}/${n}` }
  await follow_log()
}
const log_path = q => `/api/loop/${log.key}/iter/${log.n}/log?${q}`
const follow_log = async () => {
  const own = log, box = document.getElementById('log')
  if (!own || !box) return
  try {
    const d = await get(log_path('at=end'))
    if (own !== log) return
    box.replaceChildren(...d.items.map(log_line))
    own.first = d.first
    own.next = d.next
    own.follows = true
    box.scrollTop = box.scrollHeight
    count_unseen(0)
  } catch (e) {
    if (own !== log) return
    own.lost = !(e instanceof Refused)
    if (own.lost) return
    // It may begin just now: the stream tells.
    own.missing = true
    box.replaceChildren(el('div.output', null, 'There is no log of this iteration.'))
  }
  own.ready = true
  topics_changed()
}
const older_log = async () => {
  const own = log, box = document.getElementById('log')
  if (!own || !box || own.first === 0) return
  let d = { items: [] }
  // A stretch may be the inside of one line.
  while (!d.items.length && own.first > 0) {
    d = await get(log_path(`before=${own.first}`))
    if (own !== log) return
    own.first = d.first
  }
  const height = box.scrollHeight - box.scrollTop
  box.prepend(...d.items.map(log_line))
  own.follows = false
  while (box.childElementCount > LINES_MAX) box.lastElementChild.remove()
  box.scrollTop = box.scrollHeight - height
}
const add_log = (topic, d) => {
  const box = document.getElementById('log')
  if (!log || !box || topic !== log.topic || !log.follows || d.next <= log.next) return
  if (log.missing) box.replaceChildren()
  log.missing = false
  const at_end = box.scrollHeight - box.scrollTop - box.clientHeight < 60, news = d.items.filter(i => i.at >= log.next)
  box.append(...news.map(log_line))
  count_unseen(at_end ? 0 : (log.unseen ?? 0) + news.length)
  log.next = d.next
  while (box.childElementCount > LINES_MAX) {
    box.firstElementChild.remove()
    log.first = box.firstElementChild.at
  }
  if (at_end) box.scrollTop = box.scrollHeight
}

// The pages of one sandbox.
const box_head = (name, own) => el('p', null, el('a', { href: '#/' }, '\u2039 Overview'), ['net', 'events', 'audit'].filter(n => n !== own).map(n => [' ', el('a', { href: `#/${n}/${name}` }, n === 'net' ? 'Network' : n === 'events' ? 'Events' : 'Audit')]))

const net = {
  lives: true,
  path: p => `/api/net/${p[1]}`,
  draw (d) {
    titled(`Network of ${plain(d.sandbox)}`)
    show(box_head(d.sandbox, 'net'), el('h1', null, 'Network of ', agent(d.sandbox, 'bdi'), ' ', tag(d.state)),
      el('p', null, `${d.refused} refused. Wildcards, addresses, private ranges and rules for all your sandboxes are for the command line: ralph net.`),
      el('ul.grid', { role: 'list', class: 'grid bare' }, d.hosts.map(h => el('li.card', null, el('h2', null, `${h.count}\u00d7, last ${when(h.last_ms)}`), el('p.big', null, agent(`${h.host}:${h.port}`)),
        el('p.soft', null, agent(h.reason)), el('div.row.apart', null, el('div', null, buttons(h.acts, `${h.host}:${h.port}`, ['deny'])),
          el('div.row', null, buttons(h.acts, `${h.host}:${h.port}`, ['allow-once', 'allow-sandbox', 'allow-project'])))))))
  },
}

const events = {
  path: p => `/api/events/${p[1]}`,
  async draw (d, p) {
    titled(`Events of ${plain(d.sandbox)}`)
    const rows = d.rows.slice().reverse()
    const draw = proof => show(box_head(d.sandbox, 'events'), el('h1', null, 'Events of ', agent(d.sandbox, 'bdi')),
      el('p', null, proof ? [tag(proof.whole ? 'whole' : 'broken'), proof.whole ? ` ${proof.records} records, ${proof.first} to ${proof.last}` : ` ${plain(proof.how)} ${plain(proof.where)}`] : 'checking the log …'),
      table(['#seq', 'time', 'type', 'what'], rows.map(r => el('tr', null, num('', String(r.seq)), cell('', when(r.at)),
        cell('', r.tone ? el(`span.tag.${r.tone === 'bad' ? 'bad' : 'warn'}`, null, r.type) : r.type), cell('', agent(r.text)))), 'Nothing yet.'))
    draw(null)
    seen_events = { topic: `events/${d.sandbox}`, seq: d.rows.at(-1)?.seq ?? 0 }
    topics_changed()
    try { draw(await get(`/api/events/${d.sandbox}/verify`)) } catch { /* a saved state has no file to check */ }
  },
}
let seen_events = null

const chart = days => {
  const NS = 'http://www.w3.org/2000/svg'
  const make = (name, attrs, text) => {
    const e = document.createElementNS(NS, name)
    for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v)
    if (text) e.textContent = text
    return e
  }
  const last = Object.entries(days).sort().slice(-30), most = Math.max(1, ...last.map(d => d[1].micro_usd))
  const s = make('svg', { viewBox: '0 0 720 170', class: 'chart', role: 'img', 'aria-label': 'Cost per day: ' + last.map(([d, v]) => `${d} ${usd(v.micro_usd)}`).join(', ') })
  last.forEach(([, v], i) => {
    const h = Math.max(1, v.micro_usd / most * 130)
    s.append(make('rect', { x: 4 + i * 24, y: 140 - h, width: 18, height: h, rx: 3 }))
  })
  if (last.length) s.append(make('text', { x: 4, y: 160 }, last[0][0]), make('text', { x: 4 + (last.length - 1) * 24, y: 160, 'text-anchor': last.length > 4 ? 'end' : 'start' }, last.length > 1 ? last.at(-1)[0] : ''))
  return s
}
const sums = (name, rows) => table([name, '#spent', '#input', '#output', '#cache', '#requests'], Object.entries(rows).sort((a, b) => b[1].micro_usd - a[1].micro_usd)
  .map(([k, v]) => el('tr', null, cell('', agent(k)), num('spent', usd(v.micro_usd)), ...['input', 'output', 'cache', 'requests'].map(c => num(c, count(v[c]))))), 'Nothing yet.')
// How much of what may be used is used, in words too.
const bar = (of, used, most) => el('progress.bar', { value: String(Math.min(used, most)), max: String(most), 'aria-label': `${plain(of)}: ${Math.round(used / most * 100)} %` })
const share = (of, used, most, words) => el('li.card', null, el('p', null, agent(of, 'bdi')), el('p.num', null, words), bar(of, used, most))
const budget_cards = rows => rows.flatMap(b => [
  b.max_micro_usd ? share(`${b.of} ${b.name}`, b.micro_usd, b.max_micro_usd, `${usd(b.micro_usd)} of ${usd(b.max_micro_usd)}`) : null,
  b.max_tokens ? share(`${b.of} ${b.name}`, b.tokens, b.max_tokens, `${count(b.tokens)} of ${count(b.max_tokens)} tokens`) : null])
// Of what providers tell, a share is drawn; the rest are their own words.
const percent_of = (k, v) => /-utilization$/.test(k) ? Number(v) * 100 : /-used-percent$/.test(k) ? Number(v) : NaN
const limit_cards = rows => rows.flatMap(r => Object.entries(r.values).map(([k, v]) => [k, percent_of(k, v)]).filter(([, n]) => n >= 0)
  .map(([k, n]) => share(`${r.sandbox}, ${k}`, n, 100, `${Math.round(n)} %`)))
const limit_rows = rows => rows.flatMap(r => Object.entries(r.values).map(([k, v]) => el('tr', null, cell('', agent(r.sandbox)), cell('', agent(k)), cell('', agent(v)), cell('', when(r.at_ms)))))
const cards = list => el('ul', { role: 'list', class: 'grid bare' }, list)
const last_spent = days => Object.keys(days).length ? [el('div.card', null, chart(days))] : []
const usage = {
  path: () => '/api/usage',
  draw (d) {
    const all = Object.values(d.days).reduce((n, v) => n + v.micro_usd, 0), today = d.days[new Date().toISOString().slice(0, 10)]?.micro_usd ?? 0
    titled('Usage')
    show(el('h1', null, 'Usage'), el('p.big.num', null, `${usd(today)} today, ${usd(all)} in all`), ...last_spent(d.days),
      el('h2', null, 'Budgets'), d.budgets.length ? cards(budget_cards(d.budgets)) : el('p.soft', null, 'No loop and no sandbox has one; see: loop.max_cost, budget.usd and budget.tokens in ralph-config(5).'),
      d.limits.length ? [el('h2', null, 'Limits of providers'), cards(limit_cards(d.limits)),
        el('details.card', null, el('summary', null, 'as the providers tell them'), table(['sandbox', 'name', 'value', 'told'], limit_rows(d.limits), ''))] : null,
      el('h2', null, 'By model'), sums('model', d.models), el('h2', null, 'By sandbox'), sums('sandbox', d.sandboxes))
  },
}

const quarantine = {
  lives: true,
  path: p => p[1] ? `/api/quarantine/${p[1]}` : '/api/quarantine',
  draw (d, p) {
    titled('Quarantine')
    if (p[1]) {
      show(el('p', null, el('a', { href: '#/quarantine' }, '\u2039 Quarantine')), el('h1', null, agent(d.path, 'bdi')), el('p', null, agent(d.why)),
        el('p.soft', null, `${plain(d.sandbox)}, ${when(d.time * 1000)}`), d.kind === 'text' || d.kind === 'link'
          ? el('pre', { tabindex: 0, 'aria-label': 'content' }, (d.kind === 'link' ? 'link to ' : '') + d.text) : el('p', null, `It is a ${d.kind}, which is not shown here; see: ralph quarantine show ${d.id}`),
        el('div.row.apart', null, buttons(d.acts, d.path)))
      return
    }
    show(el('h1', null, 'Quarantine'), el('p', null, 'Files that ralph moved out of workspaces, because a program of the host would have run them.'),
      table(['id', 'when', 'sandbox', 'path', 'why'], d.rows.map(r => el('tr', null, cell('', el('a', { href: `#/quarantine/${r.id}` }, r.id)), cell('', when((r.time ?? 0) * 1000)),
        cell('', agent(r.sandbox)), cell('', agent(r.path)), cell('', agent(r.why)))), 'It is empty.'))
  },
}

// One decision, where notifications lead; without an id all of them.
const asks = {
  lives: true,
  path: p => p[1] ? `/api/ask/${p[1]}` : '/api/asks',
  draw (d, p) {
    titled('Asks')
    const card = whole => a => ask_card(a, el('h2', null, agent(a.project, 'bdi'), ASKS[a.kind] ?? ' asks'), whole)
    if (p[1]) return show(el('p', null, el('a', { href: '#/' }, '\u2039 Overview')), el('h1', null, 'Ask'), cards(card(true)(d)))
    show(el('h1', null, 'Asks'), d.open.length ? cards(d.open.map(card(false))) : el('p.soft', null, 'No agent asks for anything.'),
      d.answered.length ? [el('h2', null, 'Answered'), cards(d.answered.slice(-20).reverse().map(card(true)))] : null)
  },
}

const sessions = {
  path: () => '/api/sessions',
  draw (d) {
    level = d.level
    titled('Sessions')
    show(el('h1', null, 'Sessions'), table(['id', 'level', 'since', 'idle', 'actions'], d.sessions.map(s => el('tr', null, cell('', el('code', null, s.id), s.own ? ' this one' : ''), cell('', tag(s.level)),
      cell('', when(s.since * 1000)), cell('idle', span(s.idle)), cell('', s.own || may('grant')
        ? button({ verb: 'revoke', id: s.id, seen: '', level: 'look', cmd: `ralph web revoke ${s.id}` }, `session ${s.id}`) : null))), ''),
    el('h2', null, 'Last acts'), table(['when', 'session', 'command'], d.acts.slice().reverse().map(a => el('tr', null, cell('', when(a.at * 1000)), cell('', el('code', null, a.session)),
      cell('', el('code', null, a.command)))), 'Nothing was done from this page yet.'))
  },
}

// ---- where we are ----

const PAGES = { __proto__: null, '': overview, loop, commit, talk, audit, net, events, usage, quarantine, sessions, ask: asks, asks }
let page = overview, parts = [''], shown = false, lost = false

// What is shown stays while the server is not there; the next line that stands draws it anew.
const load = async () => {
  if (ended) return
  const own = page, at = parts
  try {
    const d = await get(own.path(at))
    if (own !== page || at !== parts) return
    await own.draw(d, at)
    shown = true
    lost = false
  } catch (e) {
    if (ended || own !== page) return
    lost = !(e instanceof Refused)
    if (!lost || !shown) show(el('h1', null, 'Not there'), el('p', null, e.message), el('p', null, el('a', { href: '#/' }, '\u2039 Overview')))
  }
}
const route = () => {
  parts = location.hash.replace(/^#\/?/, '').split('/').map(s => s.replace(/[^A-Za-z0-9-]/g, ''))
  page = PAGES[parts[0]] ?? overview
  log = null
  seen_events = null
  shown = false
  for (const a of document.querySelectorAll('nav a')) a.getAttribute('href') === `#/${parts[0]}` ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current')
  topics_changed()
  return load()
}
window.addEventListener('hashchange', async () => {
  await route()
  window.scrollTo(0, 0)
  main.focus({ preventScroll: true })
})

// ---- the stream: one tab reads it for all of them ----

const tab = Math.random().toString(36).slice(2)
const bus = new BroadcastChannel('ralph')
const tabs = new Map() // of the leader: topics of every tab
const last = new Map() // of the leader: the last state of each topic
let leads = false, cut = null, streamed = '', heard = 0, up = false

const own_topics = () => ({ overview: 0, ...(page.topic && page !== overview ? { [page.topic(parts)]: 0 } : {}),
  ...(log?.follows && log.ready ? { [log.topic]: log.next } : {}), ...(seen_events ? { [seen_events.topic]: seen_events.seq } : {}) })
const topics_changed = () => {
  const m = { kind: 'topics', tab, topics: own_topics() }
  leads ? on_topics(m) : bus.postMessage(m)
}
const on_topics = m => {
  tabs.set(m.tab, { topics: m.topics, at: Date.now() })
  if (m.tab !== tab) bus.postMessage({ kind: 'line', up, heard })
  if (m.tab !== tab) for (const t of Object.keys(m.topics)) if (last.has(t)) bus.postMessage({ kind: 'news', news: last.get(t) })
  if (names(wanted()) !== streamed) cut?.abort()
}
const names = topics => Object.keys(topics).sort().join(' ')
const wanted = () => {
  const all = {}
  for (const [id, t] of tabs) {
    if (id !== tab && Date.now() - t.at > 20000) tabs.delete(id)
    else for (const [k, v] of Object.entries(id === tab ? own_topics() : t.topics)) all[k] = k in all ? Math.min(all[k], v) : v
  }
  return Object.fromEntries(Object.entries(all).slice(0, 8))
}
const on_news = n => {
  heard = Date.now()
  if (n.topic === 'overview') {
    tell(needs_in(n.data))
    if (page === overview) overview.draw(n.data)
    if (page.lives) load()
  } else if (page.topic && n.topic === page.topic(parts)) page.draw(n.data, parts)
  else if (n.topic.startsWith('log/')) add_log(n.topic, n.data)
  else if (n.topic === seen_events?.topic && n.cursor > seen_events.seq) load()
}
bus.onmessage = ({ data: m }) => {
  if (m.kind === 'topics' && leads) on_topics(m)
  if (m.kind === 'news') on_news(m.news)
  if (m.kind === 'beat') heard = Date.now()
  if (m.kind === 'line') line_is(m.up, m.heard)
  if (m.kind === 'who') topics_changed()
}

// Up: the answer of a stream has begun, and has not ended.
const line_is = (now, at) => {
  up = now
  heard = Math.max(heard, at)
  if (up && lost) load()
  if (up && log?.lost) follow_log()
}
const say_line = now => {
  line_is(now, now ? Date.now() : heard)
  bus.postMessage({ kind: 'line', up, heard })
}

const read_stream = async () => {
  cut = new AbortController()
  const topics = wanted()
  streamed = names(topics)
  const r = await fetch('/api/stream', { method: 'POST', headers: { 'content-type': 'application/json', 'x-ralph-key': store.key ?? '' },
    body: JSON.stringify({ topics }), signal: cut.signal, redirect: 'error' })
  if (r.status === 401) logged_out()
  if (!r.ok) throw new Error(`status ${r.status}`)
  say_line(true)
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let rest = ''; ;) {
    const { done, value } = await reader.read()
    if (done) return
    heard = Date.now()
    bus.postMessage({ kind: 'beat' })
    const records = (rest + value).split('\n\n')
    rest = records.pop()
    for (const rec of records) {
      if (!rec.startsWith('data: ')) continue
      const news = JSON.parse(rec.slice(6))
      if (!news.topic.startsWith('log/') && !news.topic.startsWith('events/')) last.set(news.topic, news)
      on_news(news)
      bus.postMessage({ kind: 'news', news })
    }
  }
}
const lead = async () => {
  leads = true
  tabs.set(tab, { topics: own_topics(), at: Infinity })
  bus.postMessage({ kind: 'who' })
  for (let wait = 250; !ended;) {
    const begun = Date.now()
    try { await read_stream() } catch { /* cut off, or told to begin anew: the cursors say where */ }
    if (!cut.signal.aborted) say_line(false)
    wait = Date.now() - begun > 5000 || cut.signal.aborted ? 250 : Math.min(wait * 2, 10000)
    if (!cut.signal.aborted) await new Promise(done => { wake = done; setTimeout(done, wait) })
  }
}
let wake = () => {}
for (const name of ['visibilitychange', 'online', 'pageshow']) window.addEventListener(name, () => { if (!document.hidden) wake() })
document.addEventListener('visibilitychange', () => { if (!document.hidden) wake() })
setInterval(() => {
  if (ended) return
  const s = (Date.now() - heard) / 1000
  if (up && s < 17) set_line('live', 'live')
  else if (heard && s < 60) set_line('late', `${Math.round(s)} s behind`)
  else set_line('off', 'offline')
  if (!leads) topics_changed()
}, 1000)

const start = async () => {
  if (!await login()) {
    if (!ended) say_login()
    return
  }
  for (let known = false; !known;) {
    try {
      level = (await get('/api/sessions')).level
      known = true
    } catch {
      if (ended) return
      set_line('off', 'offline')
    }
  }
  await route()
  navigator.locks.request('ralph-stream', lead)
}
start()
