// Every address of the console, with rows that fill its page.
import { recordPool } from '@matte/core/pool/record-pool'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import type { Page, Request } from 'playwright-core'
import { expect } from 'vitest'
import type { Person } from '../../support/app/people.ts'
import { createClient } from '../../support/client.ts'
import { photo, truncatedPng } from '../../support/photos.ts'
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

export type Filled = {
  readonly person: Person
  readonly addresses: Addresses
  /** Another batch of the person's workspace; returns its id. */
  createBatch(): Promise<string>
}

/** A person with a task, a batch, an endpoint with a delivery, and a pool with a decision. */
export async function fillPages(console: Console): Promise<Filled> {
  const { db } = console.stack
  const person = await console.person({ email: 'ada@example.com' })
  const { workspaceId } = person
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId, name: 'shop backend', scopes, expiresAt: null })
  const client = createClient(console.url, key.key)
  const upload = (name: string) => client.upload(photo(name), { fileName: name })
  // One after the other, so every run of the tests has the same lists.
  const isOver = async () => {
    const open = await db.selectFrom('delivery').select('id').where('status', '=', 'pending').execute()
    const tasks = await db.selectFrom('task').select('status').execute()
    return open.length === 0 && tasks.every(({ status }) => ['succeeded', 'failed'].includes(status))
  }
  const untilOver = () => until('tasks and deliveries are over', isOver)
  const { id: failedId } = await client.createTask({ imageUrl: await client.upload(truncatedPng()) })
  await untilOver()
  const { id: taskId } = await client.createTask({ imageUrl: await upload('coffee.png') })
  await untilOver()
  const imageUrls = [await upload('chelsea.png')]
  const createBatch = async (): Promise<string> =>
    (await client.call<{ id: string }>('POST', '/batch-tasks', { body: { imageUrls } })).data.id
  const batchId = await createBatch()
  await untilOver()
  const endpoint = await client.call<{ id: string }>('POST', '/webhooks', {
    body: { targetUrl: 'http://127.0.0.1:9/hook', description: 'The shop' },
  })
  await client.call('POST', `/webhooks/${endpoint.data.id}/test`)
  await recordPool(db, poolRecordOf({ decidedFrom: 1 }), 0)
  await checkInvariants(console.url)
  await untilOver()
  expect((await client.getTask(failedId)).status).toBe('failed')
  const member = ['/', '/gallery', `/tasks/${taskId}`, '/batches', `/batches/${batchId}`, '/webhooks']
  const more = ['/keys', '/usage', '/credits', '/billing', '/team', '/account', '/notifications', '/nothing-here']
  return {
    person,
    createBatch,
    addresses: {
      visitor: ['/', '/sign-in', '/sign-up', '/forgot-password', '/reset-password', '/verify-email', '/confirm-email'],
      member: [...member, `/webhooks/${endpoint.data.id}`, ...more],
      operator: ['/operator', '/operator/pools', '/operator/load', '/operator/health'],
    },
  }
}

/** The overview shows the result of the last check. */
async function checkInvariants(url: string): Promise<void> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${url}/api/v1/operator/invariants`, { headers })
  expect(response.status).toBe(200)
}

/** Opens the operators' pages of this tab with the token. */
async function signInAsOperator(page: Page): Promise<void> {
  await page.goto('/operator')
  await page.getByLabel(/^(Operator token|Betreiber-Token)$/).fill(operatorToken)
  await page.getByRole('button', { name: /^(Open the operators’ pages|Betreiberseiten öffnen)$/ }).click()
  await page.getByRole('heading', { level: 1, name: /^(Overview|Überblick)$/ }).waitFor()
}

export type OpenedPage = {
  readonly path: string
  /** For people and files: who opens the page, and its address without ids. */
  readonly name: string
}

type Round = {
  readonly filled: Filled
  readonly options: PageOptions
  /** Language that the person chose in this browser. */
  readonly language?: 'en' | 'de'
}

/** Opens every page, signed in as the one who sees it, and hands it to `visit` once it has loaded. */
export async function onEachPage(
  console: Console,
  { filled: { person, addresses }, options, language = 'en' }: Round,
  visit: (page: Page, opened: OpenedPage) => Promise<void>,
): Promise<void> {
  const nameOf = (who: string, path: string): string =>
    [who, ...path.split('/').map((part) => (/^[0-9a-f-]{36}$/.test(part) ? 'one' : part))].filter(Boolean).join('-')
  const openEach = async (page: Page, who: 'visitor' | 'member'): Promise<void> => {
    await page.addInitScript(`localStorage.setItem('matte-locale', '${language}')`)
    const open = watchRequests(page)
    for (const path of addresses[who]) {
      await page.goto(path)
      // The page resumes the session first, and draws itself again.
      if (who === 'member') await page.getByRole('button', { name: /^(Account of|Konto von) / }).waitFor()
      await settle(page, open)
      await visit(page, { path, name: nameOf(who, path) })
    }
  }
  await openEach(await console.open(options), 'visitor')
  await openEach(await console.openSignedIn({ ...options, person }), 'member')
  // A report older than a minute is shown as stale.
  await recordPool(console.stack.db, poolRecordOf({ isSample: false }), 0)
  const operator = await console.open(options)
  await operator.addInitScript(`localStorage.setItem('matte-locale', '${language}')`)
  const open = watchRequests(operator)
  await signInAsOperator(operator)
  for (const path of addresses.operator) {
    // The token is in memory, so an operator moves by links.
    await operator.evaluate(`document.querySelector('nav a[href="${path}"]').click()`)
    await operator.waitForURL((url) => url.pathname === path)
    await settle(operator, open)
    await visit(operator, { path, name: nameOf('operators', path.replace('operator', '')) })
  }
}

/** Requests of the page that have no answer yet, streams left out. */
function watchRequests(page: Page): ReadonlySet<Request> {
  const open = new Set<Request>()
  page.on('request', (request) => request.url().endsWith('/stream') || open.add(request))
  page.on('requestfinished', (request) => open.delete(request))
  page.on('requestfailed', (request) => open.delete(request))
  return open
}

/** Waits for the heading, and until nothing loads. */
async function settle(page: Page, open: ReadonlySet<Request>): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  const isLoading = `document.querySelector('[aria-busy="true"], [role="status"] [aria-hidden="true"]') !== null`
  await until('the page has loaded', async () => {
    if (open.size > 0) return false
    // Twice: an answer that has just come may lead to the next request.
    return !(await page.evaluate(isLoading)) && open.size === 0 && !(await page.evaluate(isLoading))
  })
}
