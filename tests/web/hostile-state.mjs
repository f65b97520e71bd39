// Prints a saved state (`ralph web --from`) in which every text of an agent is the corpus.
import fs from 'node:fs'
import { all } from './corpus.mjs'

const OWN = new Set(['type', 'time', 'verdict', 'verb', 'what', 'phase', 'name', 'sandbox', 'state', 'version', 'now'])
const spoil = v => typeof v === 'string' ? all : Array.isArray(v) ? v.map(spoil)
  : v && typeof v === 'object' ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, OWN.has(k) && typeof x === 'string' ? x : spoil(x)])) : v

const state = JSON.parse(fs.readFileSync(process.argv[2]))
const ask = (id, kind, more) => ({ id, kind, what: all, why: all, state: 'open', at: 1769832000, times: 2, ...more })
state.sandboxes = state.sandboxes.map((s, i) => ({ ...spoil(s), name: `box-${i}`, workspace: '/home/you/' + all.replaceAll('/', ' ') }))
state.sandboxes[0].events.push({ seq: 9000, time: '2026-01-31T04:00:26.000Z', type: 'net', verdict: 'deny', host: 'docs.example.test', port: 443, reason: 'docs.example.test:443 is refused: no rule allows it', count: 1 },
  { seq: 9001, time: '2026-01-31T04:00:27.000Z', type: 'limits', limits: { [all]: all, 'x-utilization': '0.61', ['evil <b>-utilization']: '0.5' } })
state.sandboxes[0].budget_micro_usd = 5000000
state.sandboxes[0].budget_tokens = 1000
state.sandboxes[0].asks = [ask('00000001', 'host', { what: 'docs.example.test:443' }), ask('00000002', 'file'), ask('00000003', 'decide', { choices: [all, all] }),
  ask('00000004', 'decide', { state: 'denied', answer: all, answered: 1769832010 })]
state.loops = ['question', 'iterating'].map((phase, i) => ({ version: 1, workspace: `/home/you/${i}/` + all.replaceAll('/', ' '), pid: 1, start: 1, running: i > 0, sandbox: `box-${i}`,
  agent: all, phase, iteration: 3, max_iterations: 10, tasks: { total: 6, done: 2 }, micro_usd: 210000, max_micro_usd: 9000000, started: 1769832000, tool: all,
  task: { id: all, title: all }, reason: all, next: all, asks: i ? [] : [{ task: all, question: all }] }))
console.log(JSON.stringify(state))
