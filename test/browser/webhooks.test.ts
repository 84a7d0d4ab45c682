// Webhooks: a receiver that fails, is mended, and gets the missed events.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

describe.skipIf(!hasBrowser('webhooks.test.ts'))('an endpoint', () => {
  const console = useConsole()
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  it('shows why its receiver fails, and recovers what it missed', async () => {
    const page = await console.openSignedIn()
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    const create = page.getByRole('dialog', { name: 'Create endpoint' })
    await create.getByLabel('Address').fill(receiver.url)
    await create.getByText('task.succeeded', { exact: true }).click()
    await create.getByRole('button', { name: 'Create endpoint' }).click()
    await page.getByRole('button', { name: 'Open the endpoint' }).click()

    receiver.answerWith(500)
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('Not delivered: the receiver answered 500.').waitFor()
    // The log follows the retry by itself.
    await page
      .getByRole('row', { name: /test\.webhook/ })
      .getByText('Delivered')
      .waitFor()

    // The first attempt, and the only retry of this dispatcher.
    receiver.answerWith(503, 503)
    const endpoint = new URL(page.url()).pathname
    await page.getByRole('link', { name: 'Playground' }).click()
    await page.getByRole('button', { name: 'Cup of coffee' }).click()
    await page.getByText(/^Done in /).waitFor()
    await receiver.until(4)

    await page.goto(endpoint)
    const row = page.getByRole('row', { name: /task\.succeeded/ })
    await row.getByText('Given up').waitFor()
    await page.getByRole('button', { name: 'Recover' }).click()
    const recover = page.getByRole('dialog', { name: 'Recover' })
    await recover.getByRole('button', { name: 'Count' }).click()
    await recover.getByText('Deliveries to send again: 1').waitFor()
    await recover.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('Deliveries on their way: 1.').waitFor()
    const arrived = (await receiver.until(5)).at(-1)
    await row.getByText('Delivered').waitFor()

    await row.getByRole('button', { name: 'Details' }).click()
    const details = page.getByRole('dialog', { name: 'Delivery' })
    await details.getByRole('region', { name: 'Headers of the request' }).first().waitFor()
    const body = await details.getByRole('region', { name: 'Body', exact: true }).textContent()
    expect(JSON.parse(body ?? '')).toEqual(JSON.parse(String(arrived?.bytes)))
    const headers = await details.getByRole('region', { name: 'Headers of the request' }).first().textContent()
    expect(headers).toMatch(/^webhook-id: \S+$|^x-webhook-[a-z-]+: \S+$/im)
    expect(await details.getByText('The receiver answered 200').count()).toBe(1)
  })
})
