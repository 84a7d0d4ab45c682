// Text of users stays text, and secrets stay out of reach of scripts.

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { smallImage } from '../api/given.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { hasBrowser } from './support/browser.ts'
import { useConsole } from './support/console.ts'

// A request for `x` or a dialog also fails the test, as an error of the page.
const payloads = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '"><svg onload=alert(1)>',
  '{{constructor.constructor("alert(1)")()}}',
  'javascript:alert(1)//',
] as const
const [markup] = payloads
const allOfThem = payloads.join(' ')

describe.skipIf(!hasBrowser('security.test.ts'))('the console', () => {
  const console = useConsole()
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  /** Waits until the page shows the text, then looks for elements that only the text could have made. */
  const expectText = async (page: Page, text: string): Promise<void> => {
    await page.getByText(text).first().waitFor()
    expect(
      await page.locator('[onerror], [onload], img[src="x"], script:not([src]), [href^="javascript:"]').count(),
    ).toBe(0)
  }

  it('shows markup in the name of a file as text', async () => {
    const page = await console.openSignedIn()
    const buffer = await smallImage('png')
    await page.getByLabel('Choose a photo').setInputFiles({ name: `${markup}.png`, mimeType: 'image/png', buffer })
    await page
      .getByText(/^Done in |found no subject/)
      .first()
      .waitFor()
    await page.getByRole('link', { name: 'Gallery' }).click()
    await page.getByRole('img', { name: /^Cut-out of / }).waitFor()
    expect(await page.locator('[onerror], img[src="x"]').count()).toBe(0)
  })

  it('shows markup in a note, and in the answer of a receiver, as text', async () => {
    const page = await console.openSignedIn()
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    const create = page.getByRole('dialog', { name: 'Create endpoint' })
    await create.getByLabel('Address').fill(receiver.url)
    await create.getByLabel('Note').fill(allOfThem)
    await create.getByRole('button', { name: 'Create endpoint' }).click()
    await expectText(page, allOfThem)
    await page.getByRole('button', { name: 'Open the endpoint' }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    const details = page.getByRole('button', { name: 'Details' })
    await details.waitFor()
    // The service keeps no answers of private addresses, such as the receiver's.
    await console.stack.db.updateTable('delivery_attempt').set({ response_body: allOfThem }).execute()
    await details.click()
    const answer = page.getByRole('region', { name: 'Body of the answer' })
    expect(await answer.locator('code').textContent()).toBe(allOfThem)
    await expectText(page, allOfThem)
  })

  it('shows markup in the name of a key and of a team as text', async () => {
    const page = await console.openSignedIn()
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).click()
    const create = page.getByRole('dialog', { name: 'Create key' })
    await create.getByLabel('Name').fill(markup)
    await create.getByRole('button', { name: 'Create key' }).click()
    await expectText(page, markup)
    await page.getByRole('button', { name: `Actions for ${markup}` }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await expectText(page, `Revoke “${markup}”?`)
  })

  it('keeps tokens and keys out of the address, the storage and cookies that scripts read', async () => {
    const page = await console.openSignedIn()
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).click()
    const create = page.getByRole('dialog', { name: 'Create key' })
    await create.getByLabel('Name').fill('kept in memory')
    await create.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('heading', { name: 'Your new key' }).waitFor()
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, name])',
    )
    expect(kept).not.toMatch(/eyJ|refresh_|matte_|operator_|sk_/i)
    const [cookie, ...more] = await page.context().cookies()
    expect([cookie?.name, cookie?.httpOnly, cookie?.sameSite, more]).toEqual(['matte-session', true, 'Strict', []])
  })

  it('runs under a policy that a script of another place cannot pass', async () => {
    const page = await console.open({ tolerates: [/content security policy/i] })
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.wasRun = true' }))",
    )
    expect(await page.evaluate('window.wasRun')).toBe(undefined)
  })
})
