import { describe, expect, it } from 'vitest'
import { smallImage, useApi } from './given.ts'

// Nothing answers on port 1: what needs NATS would show.
const world = useApi({ NATS_URL: 'nats://127.0.0.1:1' })

describe('health', () => {
  it('is answered on both ports, outside the envelope, without a credential and without NATS', async () => {
    for (const origin of [world.api.url, world.api.healthUrl]) {
      const alive = await fetch(`${origin}/healthz`)
      expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }])
      const ready = await fetch(`${origin}/readyz`)
      expect([ready.status, await ready.json()]).toEqual([
        200,
        { ready: true, checks: { database: 'ok', clock: 'ok', http: 'ok' } },
      ])
    }
  })

  it('has metrics on its own port alone', async () => {
    const { client } = await world.caller()
    await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    await fetch(`${world.api.url}/no/such/path`)
    const text = await (await fetch(`${world.api.healthUrl}/metrics`)).text()
    const created = { model_version: 'service-v2', plan: 'pro' }
    expect(readSample(text, 'matte_tasks_created_total', created)).toBe(1)
    const post = { method: 'POST', route: '/api/v1/open/developer/tasks', status: '201' }
    expect(readSample(text, 'matte_http_request_duration_seconds_count', post)).toBe(1)
    const unknown = { route: 'none', status: '404' }
    expect(readSample(text, 'matte_http_request_duration_seconds_count', unknown)).toBe(1)
    expect((await fetch(`${world.api.url}/metrics`)).status).toBe(404)
  })
})

/** The value of the one line of this name that has these labels among its own. */
function readSample(text: string, name: string, labels: Record<string, string>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && wanted.every((part) => line.includes(part)))
  return lines.length === 1 ? Number(lines[0]?.split(' ').at(-1)) : Number.NaN
}
