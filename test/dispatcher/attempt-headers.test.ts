// Headers of attempts: the owner's own are sent and never stored or logged; those of the response are stored within
// bounds, for public targets.

import { parseMasterKeys } from '@matte/core/runtime/seal'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { changeEndpoint, createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import type { HeaderChanges } from '@matte/core/webhook/endpoint/own-headers'
import { createHttpClient } from '@matte/dispatcher/egress/http-client'
import { afterEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { createDispatcher, type DispatcherOptions, masterKeys } from './in-process.ts'
import { startReceiver } from './receiver.ts'
import { internetOf, publicAddress } from './small-internet.ts'

const database = useDatabase()
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const secret = 'a-secret-token-1234'

async function given(url: string, headers: HeaderChanges = {}, keys = masterKeys) {
  const { db } = database
  const { id: workspaceId } = await givenWorkspace(db)
  const endpoint = { workspaceId, targetUrl: url, url: new URL(url), eventTypes: [], description: null, headers }
  const { id } = await createEndpoint(db, keys, endpoint)
  await createEventDeliveries(db, { workspaceId, event: 'welcome', body: '{}', callbackUrl: null, of: { key: id } })
  return { id, workspaceId }
}

async function attempted(id: string, options: DispatcherOptions = {}) {
  const dispatcher = createDispatcher(database.db, options)
  ends.push(() => dispatcher.stop())
  await dispatcher.due.start()
  const [attempt] = await until('the attempt is recorded', async () => {
    const rows = await database.db
      .selectFrom('delivery_attempt as a')
      .innerJoin('delivery as d', 'd.id', 'a.delivery_id')
      .selectAll('a')
      .where('d.endpoint_id', '=', id)
      .execute()
    return rows.length > 0 && rows
  })
  if (attempt === undefined) throw new Error('unreachable')
  return { attempt, lines: JSON.stringify(dispatcher.lines) }
}

const receiving = async (...answer: Parameters<typeof startReceiver>) => {
  const receiver = await startReceiver(...answer)
  ends.push(() => receiver.close())
  return receiver
}
/** A receiver with a public address. */
const onInternet = (receiver: Awaited<ReturnType<typeof receiving>>): DispatcherOptions => ({
  http: createHttpClient({ deniedNetworks: [], timeoutMs: 30_000, dial: internetOf(receiver).dial }),
  allowedTargets: () => [],
})
const publicUrl = `http://${publicAddress}/`

describe('headers of the owner', () => {
  it('are sent beside those of the service, and their values are neither stored nor logged', async () => {
    const receiver = await receiving()
    const { id } = await given(receiver.url, { 'X-Token': secret, Authorization: 'Bearer abc' })
    const { attempt, lines } = await attempted(id)
    expect(receiver.received[0]?.headers).toMatchObject({
      ...{ 'x-token': secret, authorization: 'Bearer abc', 'content-type': 'application/json' },
      'webhook-id': attempt.delivery_id,
    })
    expect(attempt.request_headers).toMatchObject({
      ...{ 'X-Token': '••••1234', Authorization: '••••', 'webhook-id': attempt.delivery_id },
      'X-Service-Signature': expect.stringMatching(/^t=\d+,v1=/),
    })
    for (const text of [JSON.stringify(attempt), lines]) {
      expect(text).not.toContain('a-secret')
      expect(text).not.toContain('Bearer abc')
    }
  })

  it('are those of the endpoint at the attempt', async () => {
    const receiver = await receiving()
    const { id, workspaceId } = await given(receiver.url, { 'X-Old': 'old', 'X-Token': 'first' })
    const changes = { 'X-Old': null, 'X-Token': 'second' }
    await changeEndpoint(database.db, { workspaceId, id }, { headers: { keys: masterKeys, changes } })
    await attempted(id)
    expect(receiver.received[0]?.headers).toMatchObject({ 'x-token': 'second' })
    expect(receiver.received[0]?.headers).not.toHaveProperty('x-old')
  })

  it('that a receiver repeats are masked in the stored response', async () => {
    const receiver = await receiving((response, { headers }) =>
      response.setHeader('x-echo', String(headers['x-token'])).end(JSON.stringify(headers)),
    )
    const { id } = await given(publicUrl, { 'X-Token': secret })
    const { attempt } = await attempted(id, onInternet(receiver))
    expect(receiver.received[0]?.headers).toMatchObject({ 'x-token': secret })
    expect(attempt.response_body).toContain('"x-token":"••••"')
    expect(attempt.response_headers).toMatchObject({ 'x-echo': '••••' })
    expect(JSON.stringify(attempt)).not.toContain('a-secret')
  })

  it('that a receiver repeats in base64 or a URL are masked in the stored response', async () => {
    const token = `Bearer ${secret}+/="x y"`
    const receiver = await receiving((response, { headers }) => {
      const echo = String(headers.authorization)
      const texts = ['', 'a', 'ab'].map((before) => `${before}${echo} and more`)
      response
        .setHeader('x-echo', encodeURIComponent(echo))
        .end(
          JSON.stringify([
            ...texts.flatMap((text) =>
              (['base64', 'base64url'] as const).map((code) => Buffer.from(text).toString(code)),
            ),
            encodeURIComponent(echo),
            new URLSearchParams({ echo }).toString(),
          ]),
        )
    })
    const { id } = await given(publicUrl, { Authorization: token })
    const { attempt } = await attempted(id, onInternet(receiver))
    expect(attempt.response_headers).toMatchObject({ 'x-echo': '••••' })
    const echoes = JSON.parse(String(attempt.response_body)) as string[]
    expect(echoes).toHaveLength(8)
    for (const echo of echoes) {
      expect(echo).toContain('••••')
      const texts = [echo, decodeURIComponent(echo), ...echo.split('••••').map((part) => Buffer.from(part, 'base64'))]
      for (const text of texts) expect(text.toString()).not.toMatch(/Bearer|secret|token|1234|x y/)
    }
  })

  it('that cannot be opened are a failed attempt, and nothing is sent', async () => {
    const receiver = await receiving()
    const { id } = await given(receiver.url)
    const other = parseMasterKeys(`other:${Buffer.alloc(32, 9).toString('base64')}`)
    const { workspaceId } = await database.db
      .selectFrom('webhook_endpoint')
      .select('workspace_id as workspaceId')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    await changeEndpoint(database.db, { workspaceId, id }, { headers: { keys: other, changes: { 'X-Token': secret } } })
    const { attempt } = await attempted(id)
    expect(attempt).toMatchObject({ error: 'SECRET_UNREADABLE', request_headers: null })
    expect(receiver.received).toEqual([])
  })
})

describe('headers of the response', () => {
  const answering = () =>
    receiving((response) =>
      response
        .writeHead(503, {
          'Retry-After': '30',
          'Set-Cookie': ['sid=abcdef; Path=/', 'b=c'],
          'X-Big': 'x'.repeat(5_000),
        })
        .end(),
    )

  it('are stored within their bounds and without the values of cookies', async () => {
    const { id } = await given(publicUrl)
    const { attempt } = await attempted(id, onInternet(await answering()))
    expect(attempt).toMatchObject({ error: 'STATUS', status_code: 503 })
    expect(attempt.response_headers).toMatchObject({ 'retry-after': '30', 'set-cookie': 'sid=••••; Path=/, b=••••' })
    expect(attempt.response_headers).not.toHaveProperty('x-big')
  })

  it('are not stored if only the operator allows the target', async () => {
    const { url } = await answering()
    const { id } = await given(url)
    const { attempt } = await attempted(id)
    expect(attempt).toMatchObject({ status_code: 503, response_headers: null, response_body: null })
    expect(attempt.request_headers).toHaveProperty('webhook-id')
  })
})
