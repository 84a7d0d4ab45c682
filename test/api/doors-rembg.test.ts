import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { givenWorkspace } from '../support/factories.ts'
import { formOf, untilTask } from './doors.ts'
import { claim, smallImage, useApi } from './given.ts'

const world = useApi()

type Options = { readonly networks?: string; readonly credits?: number; readonly env?: Record<string, string> }

/** An API whose door acts for a new workspace; without a worker, tasks stay queued. */
async function withDoor(
  { networks = '127.0.0.0/8', credits = 5, env = {} }: Options,
  test: (api: TestApi, workspaceId: string) => Promise<void>,
): Promise<void> {
  const { id } = await givenWorkspace(world.db, { plan: 'pro', credits })
  const door = { DOORS_REMBG: 'true', DOORS_REMBG_NETWORKS: networks, DOORS_REMBG_WORKSPACE: id }
  const api = await startApi({ DATABASE_URL: world.databaseUrl, TASKS_MAX_WAIT: '1', ...door, ...env })
  try {
    await test(api, id)
  } finally {
    await api.stop()
  }
}

const remove = (api: TestApi, fields: Record<string, string>, bytes?: Uint8Array, query = '') =>
  fetch(`${api.url}/api/remove${query}`, {
    method: 'POST',
    body: formOf(fields, bytes && { name: 'file', bytes }),
  })

type Detail = { readonly detail: { readonly type: string; readonly loc: readonly string[] }[] }

const located = async (response: Response): Promise<unknown> =>
  ((await response.json()) as Detail).detail.map(({ type, loc }) => [type, loc.join('.')])

describe('/api/remove', () => {
  it('is unknown unless the setting turns it on', async () => {
    expect((await fetch(`${world.api.url}/api/remove`)).status).toBe(404)
    expect((await remove(world.api, {}, await smallImage())).status).toBe(404)
  })

  it('refuses clients outside the networks', async () => {
    await withDoor({ networks: '192.0.2.0/24 2001:db8::/32' }, async (api, workspaceId) => {
      const response = await remove(api, {}, await smallImage())
      expect([response.status, await response.json()]).toEqual([403, { detail: expect.any(String) }])
      expect(await world.db.selectFrom('task').select('id').where('workspace_id', '=', workspaceId).execute()).toEqual(
        [],
      )
    })
  })

  it('takes the client from X-Forwarded-For only behind trusted proxies', async () => {
    const asClient = (api: TestApi) =>
      fetch(`${api.url}/api/remove`, { headers: { 'x-forwarded-for': '192.0.2.7' } }).then(({ status }) => status)
    await withDoor({ networks: '192.0.2.0/24' }, async (api) => expect(await asClient(api)).toBe(403))
    const env = { TRUSTED_PROXY_HOPS: '1' }
    await withDoor({ networks: '192.0.2.0/24', env }, async (api) => expect(await asClient(api)).toBe(422))
  })

  it('refuses clients behind a proxy that is not counted, whose address is the proxy', async () => {
    const from = (api: TestApi, addresses: string) =>
      fetch(`${api.url}/api/remove`, { headers: { 'x-forwarded-for': addresses } }).then(({ status }) => status)
    await withDoor({}, async (api) => expect(await from(api, '203.0.113.9')).toBe(403))
    const behindOne = { networks: '10.0.0.0/8', env: { TRUSTED_PROXY_HOPS: '1' } }
    await withDoor(behindOne, async (api) => {
      expect(await from(api, '203.0.113.9, 10.0.0.7')).toBe(403)
      expect(await from(api, '10.0.0.7')).toBe(422)
    })
  })

  it('refuses web pages, except those of allowed origins', async () => {
    const origin = 'https://pages.example.com'
    const send = async (api: TestApi) =>
      (await fetch(`${api.url}/api/remove`, { method: 'POST', headers: { origin }, body: formOf({}) })).status
    await withDoor({}, async (api) => expect(await send(api)).toBe(403))
    await withDoor({ env: { CORS_ALLOWED_ORIGINS: origin } }, async (api) => expect(await send(api)).toBe(422))
  })

  /** Status of a GET with these headers; fetch would not send them. */
  const statusFor = (api: TestApi, headers: Record<string, string>): Promise<[number, unknown]> =>
    new Promise((resolve, reject) => {
      const asking = request(`${api.url}/api/remove`, { headers }, async (answer) => {
        resolve([answer.statusCode ?? 0, JSON.parse(await text(answer))])
      })
      asking.on('error', reject).end()
    })
  const refused = (words: string) => [403, { detail: expect.stringContaining(words) }]
  const passed = [422, { detail: [expect.objectContaining({ loc: ['query', 'url'] })] }]

  it('refuses what a page of another site causes a browser to send, except pages of allowed origins', async () => {
    const origin = 'https://pages.example.com'
    await withDoor({ env: { CORS_ALLOWED_ORIGINS: origin } }, async (api) => {
      for (const site of ['cross-site', 'same-site', 'other'])
        expect(await statusFor(api, { 'sec-fetch-site': site })).toEqual(refused('other sites'))
      for (const site of ['none', 'same-origin'])
        expect(await statusFor(api, { 'sec-fetch-site': site })).toEqual(passed)
      expect(await statusFor(api, { 'sec-fetch-site': 'cross-site', origin })).toEqual(passed)
    })
    await withDoor({ env: { CORS_ALLOWED_ORIGINS: '*' } }, async (api) =>
      expect(await statusFor(api, { 'sec-fetch-site': 'cross-site' })).toEqual(passed),
    )
  })

  it('refuses a name that is not configured, which a page may have pointed at this address', async () => {
    const env = { PUBLIC_URL: 'https://matte.example.com', DOORS_REMBG_HOSTS: 'matte, Matte.svc' }
    await withDoor({ env }, async (api) => {
      for (const host of ['rebound.example.org', 'matte.example.com.example.org:8080', 'a.localhost', ' '])
        expect(await statusFor(api, { host })).toEqual(refused('DOORS_REMBG_HOSTS'))
      for (const host of ['Matte.Example.com', 'matte.example.com:8080', 'matte', 'matte.svc:80', 'localhost:8080'])
        expect(await statusFor(api, { host })).toEqual(passed)
      for (const host of ['127.0.0.1:1', '[::1]:8080', '10.1.2.3'])
        expect(await statusFor(api, { host })).toEqual(passed)
    })
  })

  it('answers 422 as FastAPI does for missing and invalid fields', async () => {
    await withDoor({}, async (api) => {
      const image = await smallImage()
      const missing = await remove(api, {})
      expect(missing.status).toBe(422)
      const error = { type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null }
      expect(await missing.json()).toEqual({ detail: [error] })
      const wrong = { model: 'u3net', a: 'perhaps', af: '256', ab: '-1', ae: 'x' }
      const invalid = await remove(api, wrong, image, '?bgc=1,2')
      expect(invalid.status).toBe(422)
      expect(await located(invalid)).toEqual([
        ['string_pattern_mismatch', 'body.model'],
        ['bool_parsing', 'body.a'],
        ['less_than_equal', 'body.af'],
        ['greater_than_equal', 'body.ab'],
        ['int_parsing', 'body.ae'],
        ['value_error', 'query.bgc'],
      ])
      const get = await fetch(`${api.url}/api/remove`)
      expect([get.status, await located(get)]).toEqual([422, [['missing', 'query.url']]])
    })
  })

  it('answers 400 for a URL and for a file that is no image', async () => {
    await withDoor({}, async (api) => {
      const url = await fetch(`${api.url}/api/remove?url=http://127.0.0.1/cat.png`)
      expect([url.status, await url.json()]).toEqual([400, { detail: expect.stringContaining('by URL') }])
      const text = await remove(api, {}, Buffer.from('no image'))
      expect([text.status, await text.json()]).toEqual([400, { detail: expect.stringContaining('image/png') }])
    })
  })

  it('counts against the credits of its workspace', async () => {
    await withDoor({ credits: 0 }, async (api) => {
      expect((await remove(api, {}, await smallImage())).status).toBe(402)
    })
  })

  it('answers 504 when the wait ends, and cancels the task', async () => {
    await withDoor({}, async (api, workspaceId) => {
      const response = await remove(api, {}, await smallImage())
      expect([response.status, await response.json()]).toEqual([504, { detail: expect.any(String) }])
      await untilTask(world, workspaceId, 'canceled')
    })
  })

  it('names a task in progress when the wait ends', async () => {
    await withDoor({}, async (api, workspaceId) => {
      const answering = remove(api, {}, await smallImage())
      const { id } = await untilTask(world, workspaceId, 'queued')
      await claim(world.db, id)
      const response = await answering
      expect([response.status, response.headers.get('x-task-id')]).toEqual([504, id])
      expect(await response.json()).toEqual({ detail: expect.stringContaining(id) })
    })
  })

  it('answers 500 in plain text, as rembg does, when its table names a model that is not installed', async () => {
    await withDoor({ env: { DOORS_REMBG_MODELS: '{"u2net":"gone"}' } }, async (api) => {
      const response = await remove(api, { model: 'u2net' }, await smallImage())
      expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error'])
    })
  })
})
