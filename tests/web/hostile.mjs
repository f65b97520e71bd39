import { assert, base, open, until } from './page.mjs'

const { browser, page, wrong } = await open()
await page.waitForSelector('.need')
const look = async where => {
  const found = await page.evaluate(() => ({
    bad: document.querySelectorAll('main img, main script, main iframe, main a[href^="javascript:"], main a[href^="http"]').length,
    raw: /[\u001b\u202e\u200b]/.test(document.body.textContent),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }))
  assert.deepEqual(found, { bad: 0, raw: false, wide: 0 }, where)
}
for (const width of [390, 1440]) {
  await page.setViewportSize({ width, height: 844 })
  await page.goto(base + '#/')
  await page.waitForSelector('.need')
  await look('overview')
  assert.match(await page.textContent('.need'), /<img src=x onerror=alert\(1\)>/)
  await page.goto(base + await page.getAttribute('a[href^="#/loop/"]', 'href'))
  await until('the log', async () => /onerror/.test(await page.textContent('#log')))
  await look('loop')
  await page.click('button.main')
  await look('dialog')
  await page.click('#ask-no')
}
assert.deepEqual(wrong, [])
await browser.close()
