import { assert, open, until } from './page.mjs'
import fs from 'node:fs'

const { browser, page, wrong } = await open()
await until('the stream lives', async () => (await page.textContent('#line')) === 'live')
fs.writeFileSync(process.argv[3], '')
await page.waitForSelector('a[href^="#/loop/"]', { timeout: 60000 })
await page.click('a[href^="#/loop/"]')
await page.waitForSelector('.board')
await until('both tasks are done', async () => (await page.$$('section[aria-label=done] .task')).length === 2, 60000)
await until('the lines of the last iteration', async () => /write US-2/.test(await page.textContent('#log')))
await until('the records', async () => (await page.$$('table.stack tbody tr')).length === 2)
await until('what verified it', async () => /passed test -f US-2/.test(await page.textContent('#checks')))
await until('the loop is done', async () => /done/.test(await page.textContent('h1')))
assert.deepEqual(wrong, [])
await browser.close()
