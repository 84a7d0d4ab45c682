// Every address of the console, with rows that fill its page.
import { recordPool } from '@matte/core/pool/record-pool'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import type { Page } from 'playwright-core'
import { smallImage } from '../../api/given.ts'
import type { Person } from '../../support/app/people.ts'
import { createClient } from '../../support/client.ts'
import { poolRecordOf } from '../../support/pool-records.ts'
import { until } from '../../support/until.ts'
import type { PageOptions } from './browser.ts'
import { type Console, operatorToken } from './console.ts'

/** Addresses by who opens them. */
export type Addresses = {
  readonly visitor: readonly string[]
  readonly member: readonly string[]
  readonly operator: readonly string[]
}

export type Filled = { readonly person: Person; readonly addresses: Addresses }

/** A person with a task, a batch, an endpoint with a delivery, and a pool with a decision. */
export async function fillPages(console: Console): Promise<Filled> {
  const { db } = console.stack
  const person = await console.person()
  const { workspaceId } = person
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId, name: 'shop backend', scopes, expiresAt: null })
  const client = createClient(console.url, key.key)
  const objectKey = () => smallImage('png', 320, 240).then((bytes) => client.upload(bytes))
  const { id: taskId } = await client.createTask({ imageUrl: await objectKey() })
  const imageUrls = [await objectKey()]
  const batch = await client.call<{ id: string }>('POST', '/batch-tasks', { body: { imageUrls } })
  const endpoint = await client.call<{ id: string }>('POST', '/webhooks', {
    body: { targetUrl: 'http://127.0.0.1:9/hook', description: 'The shop' },
  })
  await client.call('POST', `/webhooks/${endpoint.data.id}/test`)
  await recordPool(db, poolRecordOf({ decidedFrom: 1 }), 0)
  await until('the task has succeeded', async () => (await client.getTask(taskId)).status === 'succeeded')
  const member = ['/', '/gallery', `/tasks/${taskId}`, '/batches', `/batches/${batch.data.id}`, '/webhooks']
  const more = ['/keys', '/usage', '/credits', '/billing', '/team', '/account', '/notifications', '/nothing-here']
  return {
    person,
    addresses: {
      visitor: ['/', '/sign-in', '/sign-up', '/forgot-password', '/reset-password', '/verify-email', '/confirm-email'],
      member: [...member, `/webhooks/${endpoint.data.id}`, ...more],
      operator: ['/operator', '/operator/pools', '/operator/load', '/operator/health'],
    },
  }
}

/** Opens the operators' pages of this tab with the token. */
async function signInAsOperator(page: Page): Promise<void> {
  await page.goto('/operator')
  await page.getByLabel('Operator token').fill(operatorToken)
  await page.getByRole('button', { name: 'Open the operators’ pages' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
}

export type OpenedPage = {
  readonly path: string
  /** For people and files: who opens the page, and its address without ids. */
  readonly name: string
}

type Round = { readonly filled: Filled; readonly options: PageOptions }

/** Opens every page, signed in as the one who sees it, and hands it to `visit` once it has loaded. */
export async function onEachPage(
  console: Console,
  { filled: { person, addresses }, options }: Round,
  visit: (page: Page, opened: OpenedPage) => Promise<void>,
): Promise<void> {
  const nameOf = (who: string, path: string): string =>
    [who, ...path.split('/').map((part) => (/^[0-9a-f-]{36}$/.test(part) ? 'one' : part))].filter(Boolean).join('-')
  const openEach = async (page: Page, who: 'visitor' | 'member'): Promise<void> => {
    for (const path of addresses[who]) {
      await page.goto(path)
      await settle(page)
      await visit(page, { path, name: nameOf(who, path) })
    }
  }
  await openEach(await console.open(options), 'visitor')
  await openEach(await console.openSignedIn({ ...options, person }), 'member')
  const operator = await console.open(options)
  await signInAsOperator(operator)
  for (const path of addresses.operator) {
    // The token is in memory, so an operator moves by links.
    await operator.evaluate(`document.querySelector('nav a[href="${path}"]').click()`)
    await operator.waitForURL((url) => url.pathname === path)
    await settle(operator)
    await visit(operator, { path, name: nameOf('operators', path.replace('operator', '')) })
  }
}

/** Waits for the heading, and until nothing loads. */
async function settle(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.getByText('Loading …').first().waitFor({ state: 'detached' })
  await page.locator('[aria-busy="true"], [role="status"] [aria-hidden="true"]').first().waitFor({ state: 'detached' })
}
