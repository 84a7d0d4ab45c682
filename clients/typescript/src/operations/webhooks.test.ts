import { expect, it } from 'vitest'
import { Matte } from '../matte.ts'
import type { RecoverRequest } from '../schema.ts'

type Sent = { readonly line: string; readonly body: unknown }

function given() {
  const sent: Sent[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const path = new URL(String(input)).pathname.replace('/api/v1/open/developer/webhooks', '')
    const body = init?.body === undefined || init.body === null ? undefined : JSON.parse(String(init.body))
    sent.push({ line: `${init?.method} ${path}`, body })
    return Response.json({ data: {} })
  }
  return { sent, webhooks: new Matte({ apiKey: 'key', baseUrl: 'http://matte.test/api/v1', fetch }).webhooks }
}

it('sends the request of each operation on deliveries and events', async () => {
  const { sent, webhooks } = given()
  await webhooks.sample('x', 'task.failed')
  await webhooks.trigger('task.failed')
  await webhooks.stats('x')
  await webhooks.delivery('x')
  await webhooks.event('x')
  await webhooks.egressAddresses()
  expect(sent).toEqual([
    { line: 'POST /x/samples', body: { event: 'task.failed' } },
    { line: 'POST /trigger', body: { event: 'task.failed' } },
    { line: 'GET /x/stats', body: undefined },
    { line: 'GET /deliveries/x', body: undefined },
    { line: 'GET /events/x', body: undefined },
    { line: 'GET /egress-addresses', body: undefined },
  ])
})

it('sends own headers of an endpoint, and what a recovery selects', async () => {
  const { sent, webhooks } = given()
  const selection: RecoverRequest = {
    since: '2026-11-21',
    until: '2026-11-22',
    eventTypes: ['task.*'],
    statuses: ['paused'],
  }
  await webhooks.create({ targetUrl: 'https://a.example', headers: { 'X-Shop': '1' } })
  await webhooks.update('x', { headers: { 'X-Shop': null } })
  await webhooks.recover('x', selection)
  expect(sent.map(({ body }) => body)).toEqual([
    { targetUrl: 'https://a.example', headers: { 'X-Shop': '1' } },
    { headers: { 'X-Shop': null } },
    selection,
  ])
})
