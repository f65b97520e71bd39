// What all scripts of this folder start from: a browser that has opened the link, and a list of what went wrong in it.
import { createRequire } from 'node:module'
import assert from 'node:assert/strict'

const modules = process.env.RALPH_AGENTS + '/lib/node_modules/'
const require = createRequire(modules)
const { chromium } = require(modules + 'playwright-core')

export { assert }
export const axePath = modules + 'axe-core/axe.min.js'
export const link = process.argv[2]
export const base = link.split('#')[0]

export const open = async (options = {}) => {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--no-first-run'] })
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  const wrong = []
  const watch = page => {
    page.on('pageerror', e => wrong.push('error: ' + e.message))
    page.on('dialog', d => { wrong.push('dialog: ' + d.message()); d.dismiss() })
    page.on('console', m => { if (/Content Security Policy|Trusted/i.test(m.text())) wrong.push('policy: ' + m.text()) })
  }
  context.on('page', watch)
  const page = await context.newPage()
  await page.goto(link)
  await page.waitForSelector('h1')
  return { browser, context, page, wrong }
}

export const until = async (what, fn, ms = 30000) => {
  for (const end = Date.now() + ms; ;) {
    if (await fn()) return
    if (Date.now() > end) throw new Error('still not: ' + what)
    await new Promise(done => setTimeout(done, 50))
  }
}
