'use strict'
// Pages that are mostly text of others: what a commit changed, what was said, what a sandbox has. Loaded before app.js, whose
// words these functions use when they are called.

// ---- a commit ----

const FOLDED_LINES = 2000
const LOCK_FILES = /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$/
const LINES_AT_ONCE = 200

// A line of a file always has a sign in front, so a line that begins with "diff --git" is none of the agent's.
const files_of = patch => {
  const files = []
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('diff --git ')) files.push({ head: [], lines: [], more: 0, less: 0, body: false })
    const f = files.at(-1)
    if (!f) continue
    if (line.startsWith('@@')) f.body = true
    if (!f.body) f.head.push(line)
    else {
      f.lines.push(line)
      if (line[0] === '+') f.more++
      if (line[0] === '-') f.less++
    }
  }
  for (const f of files) {
    const named = f.head.map(l => /^(?:\+\+\+ b|--- a)\/(.*)$/.exec(l)?.[1]).filter(Boolean)
    f.path = named.at(-1) ?? f.head[0].replace(/^diff --git a\//, '').replace(/ b\/.*$/, '')
  }
  return files
}
const KINDS = { '+': 'added', '-': 'gone', '@': 'at', '\\': 'at' }
const diff_line = l => el(`div.${KINDS[l[0]] ?? 'same'}`, null, l || ' ')
const diff_file = f => {
  const lock = LOCK_FILES.test(f.path), box = el('div.diff', { tabindex: 0, role: 'region', 'aria-label': `changes of ${plain(f.path)}` })
  let shown = 0
  const more = el('button', { type: 'button' })
  const show_more = () => {
    box.append(...f.lines.slice(shown, shown += LINES_AT_ONCE).map(diff_line))
    more.textContent = `${Math.max(0, f.lines.length - shown)} more lines`
    more.hidden = shown >= f.lines.length
  }
  more.go = show_more
  show_more()
  return el('details.card', { open: !lock && f.lines.length <= FOLDED_LINES }, el('summary', null, el('bdi', null, f.path),
    el('span.num.plus', null, ` +${f.more}`), el('span.num.minus', null, ` \u2212${f.less}`), lock ? ' lock file' : '', f.body ? '' : ' no text'), f.body ? box : null, f.body ? more : null)
}
const check_card = r => el('details.card', { open: r.code !== 0 }, el('summary', null, el(`span.tag.${r.code ? 'bad' : 'good'}`, null, r.code ? `failed with ${r.code}` : 'passed'), ' ',
  el('code', null, r.command), ` ${span(r.ms / 1000)}`), el('pre', { tabindex: 0, 'aria-label': 'output' }, r.output || '(no output)'))

const commit = {
  path: p => `/api/loop/${p[1]}/iter/${p[2]}/diff`,
  async draw (d, p) {
    const files = files_of(d.patch ?? ''), { rows } = await get(`/api/loop/${p[1]}/iter/${p[2]}/verify`)
    titled(`${plain(d.task ?? 'commit')} ${(d.commit ?? '').slice(0, 8)}`)
    show(el('p', null, el('a', { href: `#/loop/${p[1]}/${p[2]}` }, '\u2039 Loop')),
      el('h1', null, el('code', null, (d.commit ?? '').slice(0, 10)), ' ', agent([d.task, d.title].filter(Boolean).join(' '), 'bdi'), ' ', tag(d.verdict)),
      el('p', null, `iteration ${d.iteration} by ${plain(d.agent)}, ${span(d.ms / 1000)}, ${usd(d.micro_usd)}`, d.why ? [': ', agent(d.why)] : null),
      el('div.beside', null,
        el('section', { 'aria-label': 'changes' }, el('h2', null, `${files.length} file${files.length === 1 ? '' : 's'} changed`), el('div', { id: 'files', 'data-keep': true })),
        el('section', { 'aria-label': 'verification' }, el('h2', null, rows.length ? `Verification: ${rows.filter(r => !r.code).length} of ${rows.length} passed` : 'Verification'),
          rows.length ? rows.map(check_card) : el('p.soft', null, 'No command proved this iteration.'))))
    document.getElementById('files').replaceChildren(...files.map(diff_file))
  },
}

// ---- conversations ----

const turns_of = text => text.split(/^(?=## )/m)
const turn = (text, first) => {
  const [head, ...rest] = text.split('\n')
  return head.startsWith('## ') ? el('details.card', { open: true }, el('summary', null, agent(head.slice(3), 'bdi')), el('div.agent', null, rest.join('\n').trim()))
    : el(first ? 'details.card' : 'div.card', null, first ? el('summary', null, 'about this conversation') : null, el('div.agent', null, text.trim()))
}
const talk = {
  path: p => p[1] ? `/api/talk/${p[1]}${/^[1-9][0-9]{0,14}$/.test(p[2] ?? '') ? `?at=${p[2]}` : ''}` : '/api/talks',
  draw (d, p) {
    titled('Conversations')
    if (!p[1]) {
      show(el('h1', null, 'Conversations'), el('p', null, 'What was said in sandboxes, as ralph export writes it: known secrets are taken out, and what an agent wrote is its word alone.'),
        table(['conversation', 'saved', '#size'], d.rows.map(r => el('tr', null, cell('', el('a', { href: `#/talk/${r.id}` }, agent(r.path.replace(/\.md$/, ''), 'bdi'))), cell('', when(r.time * 1000)),
          num('', `${count(Math.ceil(r.bytes / 1024))} KiB`))), 'No conversation was saved yet.'),
        d.all > d.rows.length ? el('p.soft', null, `${d.all - d.rows.length} older ones: ralph export`) : null)
      return
    }
    show(el('p', null, el('a', { href: '#/talk' }, '\u2039 Conversations')), el('h1', null, agent(d.path.replace(/\.md$/, ''), 'bdi')),
      el('p.soft', null, `${count(d.at)} to ${count(d.next)} of ${count(d.size)} bytes`),
      el('div', { id: 'talk' }, turns_of(d.text).map((t, i) => turn(t, i === 0 && d.at === 0))),
      d.next < d.size ? el('p', null, el('a.button', { href: `#/talk/${p[1]}/${d.next}` }, 'Next part')) : null)
  },
}

// ---- what a sandbox has ----

const ENGINES = { __proto__: null, native: 'your kernel', docker: 'your kernel', podman: 'your kernel', direct: 'no wall at all' }
const MODES = { __proto__: null, bind: 'rw', rw: 'rw', ro: 'ro' }
const limit = (name, n, text) => el('tr', null, cell('', name), cell('', n ? text : 'no limit'))
const gib = n => n >= 1073741824 ? `${(n / 1073741824).toFixed(1)} GiB` : `${Math.round(n / 1048576)} MiB`
const audit = {
  path: p => `/api/audit/${p[1]}`,
  draw (d) {
    const env = d.env ?? [], mounts = d.mounts ?? [], net = d.network ?? {}, limits = d.limits ?? {}, creds = d.credentials ?? []
    const writable = mounts.filter(m => MODES[m.kind] === 'rw')
    titled(`Audit of ${plain(d.name)}`)
    show(box_head(d.name, 'audit'), el('h1', null, 'What ', agent(d.name, 'bdi'), ' has ', tag(d.state)),
      el('p', null, `engine ${plain(d.engine)}`, ENGINES[d.engine] ? ` (${ENGINES[d.engine]})` : '', `, agent ${plain(d.agent)}, workspace `, agent(d.workspace, 'bdi')),
      el('h2', null, 'Can be written'), table(['path', 'reason'], writable.map(m => el('tr', null, cell('', agent(m.target)), cell('', agent(m.reason)))), 'Nothing of the host.'),
      el('h2', null, 'Network'), el('p', null, `tier ${plain(net.tier)}`), table(['verdict', 'pattern', 'from'], (net.rules ?? []).map(r => el('tr', null, cell('', tag(r.verdict)),
        cell('', agent([r.method, r.pattern, r.path].filter(Boolean).join(' '))), cell('', agent(r.source)))), 'No host is allowed by a rule.'),
      el('h2', null, 'Credentials'), table(['name', 'provider', 'way', 'goes to'], creds.map(c => el('tr', null, cell('', agent(c.name)), cell('', agent(c.provider)), cell('', agent(c.way ?? '')),
        cell('', agent([].concat(c.origins ?? c.origin ?? []).join(' '))))), 'None.'),
      el('h2', null, 'Limits'), table(['what', 'at most'], [limit('memory', limits.memory, gib(limits.memory)), limit('processes', limits.pids, String(limits.pids)),
        limit('/tmp', limits.tmp, gib(limits.tmp)), limit('time', limits.timeout_ms, span(limits.timeout_ms / 1000))], ''), el('p.soft', null, agent(limits.method ?? '')),
      el('details.card', null, el('summary', null, `Environment: ${env.length} variables`), table(['variable', 'value', 'from'], env.map(e => el('tr', null, cell('', agent(e.name)), cell('', agent(e.value)), cell('', agent(e.source)))), '')),
      el('details.card', null, el('summary', null, `Mounts: ${mounts.length}`), table(['kind', 'path', 'reason'], mounts.map(m => el('tr', null, cell('', m.kind), cell('', agent(m.target)), cell('', agent(m.reason)))), '')))
  },
}
