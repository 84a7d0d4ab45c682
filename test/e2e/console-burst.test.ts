// An operator watches a burst in the console: the queue fills, the pool grows, and a sentence says why.
import type { Locator } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, useBrowser } from '../browser/support/browser.ts'
import { buildConsole } from '../browser/support/build-console.ts'
import { operatorToken } from '../browser/support/console.ts'
import { admin } from '../support/admin.ts'
import { freePorts } from '../support/free-ports.ts'
import { greyPng } from '../support/photos.ts'
import { until } from '../support/until.ts'
import { untilNoneOpen } from './support/load.ts'
import { useOperator } from './support/operator.ts'
import { print } from './support/scenario.ts'
import { withEnvironment } from './support/small-pool.ts'

const name = 'grows'
/** One at a time, 0.5 s each: far more than a pod can do within the objective. */
const requests = 200
const atOnce = 20

describe.skipIf(!hasBrowser('console-burst.test.ts'))('an operator who watches the pools', () => {
  const operator = useOperator(['dispatcher'])
  let url = ''
  const tabs = useBrowser(() => url)
  beforeAll(async () => {
    const [port] = await freePorts(1)
    url = `http://127.0.0.1:${port}`
    await buildConsole()
    const podPatch = withEnvironment(await operator.applyPool(name), { FAKE_SERVICE_MS: '500' })
    const scaling = { minReplicas: 1, maxReplicas: 4, stabilizationWindowSeconds: 5 }
    await operator.applyPool(name, { podPatch, slotsPerPod: 1, scaling })
    const env = { PORT: String(port), PUBLIC_URL: url, APP_URL: url, OPERATOR_TOKEN: operatorToken }
    await Promise.all([operator.stack.start('api', env), operator.startController()])
    await operator.untilPool(name, 'has one ready pod', ({ status }) => status?.readyReplicas === 1)
  })

  it('sees a burst come, the pool grow and why, without a reload', async () => {
    const { stack } = operator
    const page = await tabs.open()
    await page.goto(String((await admin(['console-link'], { ...stack.env('api'), PUBLIC_URL: url })).url))
    await page.getByRole('button', { name: 'Open the operators’ pages' }).click()
    await page.getByRole('link', { name: 'Pools' }).first().click()
    const heading = page.getByRole('heading', { name: `${operator.namespace}/${name}` })
    const card = page.locator('section').filter({ has: heading })
    await card.waitFor()
    await until('the page shows one ready pod', async () => (await factOf(card, 'Ready')) === 1)

    const imageUrl = await stack.client.upload(greyPng(64, 64))
    const begun = performance.now()
    const since = (): string => `${((performance.now() - begun) / 1_000).toFixed(1)} s`
    const send = () => Promise.all(Array.from({ length: atOnce }, () => stack.client.createTask({ imageUrl })))
    for (let sent = 0; sent < requests; sent += atOnce) await send()
    const queue = await until('the page shows the queue', async () => (await factOf(card, 'Queue')) || undefined)
    print(`${since()}: a queue of ${queue}`)
    const wanted = await until('the page shows more wanted pods', async () => {
      const now = await factOf(card, 'Wanted')
      return now > 1 ? now : undefined
    })
    print(`${since()}: ${wanted} pods wanted`)
    const decision = page.getByRole('listitem').filter({ hasText: '1 →' }).first()
    await decision.waitFor()
    const sentence = await wordsOf(decision)
    print(`${since()}: ${sentence}`)
    expect(sentence).toMatch(/\d+ pods.* requests\/s/)
    const ready = await until('the page shows more ready pods', async () => {
      const now = await factOf(card, 'Ready')
      return now > 1 ? now : undefined
    })
    print(`${since()}: ${ready} pods ready`)
    await untilNoneOpen(stack.db)
    await until('the page shows an empty queue', async () => (await factOf(card, 'Queue')) === 0)
    const shrinks = page
      .getByRole('listitem')
      .filter({ hasText: /[234] → 1/ })
      .first()
    await shrinks.waitFor({ timeout: 120_000 })
    print(`${since()}: ${await wordsOf(shrinks)}`)
  })
})

/** The number that the card shows beside this word; NaN without one. */
async function factOf(card: Locator, word: string): Promise<number> {
  const value = card.locator('dt', { hasText: new RegExp(`^${word}$`) }).locator('xpath=following-sibling::dd[1]')
  return Number.parseInt((await value.first().textContent()) ?? '', 10)
}

const wordsOf = async (item: Locator): Promise<string> => (await item.locator('p').allTextContents()).join(' ')
