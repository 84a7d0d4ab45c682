// Webhook targets by name: no answer tells a name that does not exist from one with a private address, because the name
// server may know names of the operator's network.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDispatcher } from '../dispatcher/in-process.ts'
import { type NameServer, startNameServer } from '../dispatcher/name-server.ts'
import { until } from '../support/until.ts'
import { smallImage, useApi } from './given.ts'
import type { Delivery, DeliveryPage } from './webhook-parts.ts'

const names = { private: 'http://inside.example/hook', missing: 'http://nowhere.example/hook' } as const
const publicTarget = 'http://93.184.216.34/hook'

let server: NameServer
beforeAll(async () => {
  server = await startNameServer({ 'inside.example': '10.0.0.1' })
})
afterAll(() => server.close())
const world = useApi()

/** Status and body of a request, with the texts of ids, times and URLs that differ by chance replaced. */
async function shownFor(url: string, ask: (url: string) => Promise<unknown>): Promise<string> {
  const shown = await ask(url).catch((error: { status: number; code: string; details: object; message: string }) => ({
    ...{ status: error.status, code: error.code, details: error.details, message: error.message },
  }))
  return JSON.stringify(shown)
    .replaceAll(url, 'URL')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}|whsec_[^"]+|\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'x')
}

describe('a target whose name is private and one whose name does not exist', () => {
  it('are answered alike when a webhook is created or changed, and at a callback', async () => {
    const { client } = await world.caller({ plan: 'business' })
    const imageUrl = await client.upload(await smallImage())
    const { data } = await client.call<{ id: string }>('POST', '/webhooks', { body: { targetUrl: publicTarget } })
    const requests: ((url: string) => Promise<unknown>)[] = [
      async (targetUrl) => (await client.call('POST', '/webhooks', { body: { targetUrl } })).data,
      async (targetUrl) => (await client.call('PATCH', `/webhooks/${data.id}`, { body: { targetUrl } })).data,
      async (callbackUrl) => (await client.call('POST', '/tasks', { body: { imageUrl, callbackUrl } })).data,
      async (callbackUrl) =>
        (await client.call('POST', '/batch-tasks', { body: { imageUrls: [imageUrl], callbackUrl } })).data,
    ]
    const asked = server.asked.length
    for (const request of requests) {
      const shown = [await shownFor(names.private, request), await shownFor(names.missing, request)]
      expect(shown[0]).toBe(shown[1])
      expect(shown[0]).toContain('URL')
    }
    // Time tells nothing either.
    expect(server.asked.length).toBe(asked)
  })

  it('are answered alike by a test delivery, its record and the retries', async () => {
    const { masterKeys } = world.api.config
    const dispatcher = createDispatcher(world.db, { masterKeys, allowedTargets: () => [] })
    await dispatcher.due.start()
    const shown: Record<string, unknown> = {}
    for (const [kind, targetUrl] of Object.entries(names)) {
      const { client } = await world.caller()
      const { data } = await client.call<{ id: string }>('POST', '/webhooks', { body: { targetUrl } })
      await client.call('POST', `/webhooks/${data.id}/test`, { headers: { prefer: 'wait=0' } })
      const { items } = await until('the attempt is recorded', async () => {
        const page = await client.call<DeliveryPage>('GET', `/webhooks/${data.id}/deliveries`)
        return (page.data.items[0]?.attempts.length ?? 0) > 0 && page.data
      })
      const [{ attempts, status }] = items as unknown as [Delivery]
      shown[kind] = { status, attempts: attempts.map(({ durationMs, endedAt, ...rest }) => rest) }
    }
    await dispatcher.stop()
    expect(shown.private).toEqual(shown.missing)
    expect(shown.private).toMatchObject({ attempts: [{ error: 'DNS_FAILED', statusCode: null }] })
    expect(server.asked).toEqual(expect.arrayContaining(['inside.example', 'nowhere.example']))
    // The operator reads the difference in the log.
    expect(JSON.stringify(dispatcher.lines)).toContain('inside.example is 10.0.0.1')
  })
})
