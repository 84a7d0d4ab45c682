// Bodies that a client without a credential can send: half of them, or in chunks of one byte (D94).
import { describe, expect, it } from 'vitest'
import { inChunks, lastChunk, openRequest } from '../support/raw-request.ts'
import { until } from '../support/until.ts'
import { useApi } from './given.ts'

const events = 'POST /api/v1/app/payments/providers/sandbox/events'
const signed = { 'Sandbox-Signature': 't=1,v1=none' }
/** Four addresses can fill every pool, because each may use a quarter. */
const strangers = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']

describe('half-sent bodies without a credential', () => {
  const world = useApi({ REQUESTS_IN_WORK_MAX: '16' })
  const send = (target: string, headers: Record<string, string> = {}, from?: string) => {
    const request = { url: world.api.url, target, headers: { 'Content-Length': '9', ...headers }, from }
    const exchange = openRequest(from === undefined ? { ...request, from: '127.0.0.1' } : { ...request, from })
    exchange.write('1')
    return exchange
  }

  it('from four addresses take no slot from callers, whether these read or send bodies', async () => {
    const caller = await world.caller()
    const half = strangers.flatMap((from) => Array.from({ length: 4 }, () => send(events, signed, from)))
    await until('half of them wait, and the others are refused', () => {
      const refused = half.filter(({ read }) => read().includes('HTTP/1.1 429 '))
      return refused.length === 8
    })
    await expect(caller.client.listTasks()).resolves.toMatchObject({ items: [] })
    await expect(caller.client.createTask({ imageUrl: 'unknown.png' })).rejects.toMatchObject({ status: 403 })
    const headers = { 'X-API-Key': caller.apiKey, 'Content-Type': 'application/json', 'Content-Length': '26' }
    const slow = openRequest({ url: world.api.url, target: 'POST /api/v1/open/developer/tasks', headers })
    slow.write('{"imageUrl":')
    await expect(caller.client.listTasks()).resolves.toMatchObject({ items: [] })
    slow.write('"unknown.png"}')
    await until('the slow body is answered', () => slow.read().includes('TASK_INPUT_FORBIDDEN'))
    // An event that arrives with its head needs no slot for its body.
    const whole = openRequest({ url: world.api.url, target: events, headers: { ...signed, 'Content-Length': '0' } })
    await until('an event is answered', () => whole.read().includes('HTTP/1.1 401 '))
    for (const { destroy } of [...half, slow, whole]) destroy()
  })

  it.each([
    ['an unknown provider', 'POST /api/v1/app/payments/providers/x/events', signed, 404, 'NOT_FOUND'],
    ['an event without a signature', events, {}, 401, 'AUTH_INVALID_TOKEN'],
    ['an unknown key', 'POST /api/v1/open/developer/tasks', { 'X-API-Key': 'x' }, 401, 'API_KEY_INVALID'],
    ['an unknown path', 'POST /nowhere', {}, 404, 'NOT_FOUND'],
  ])('of %s are refused before the rest arrives', async (_name, target, headers, status, code) => {
    const request = send(target, headers)
    await until('the response is there', () => request.read().includes(code))
    expect(request.read()).toContain(`HTTP/1.1 ${status} `)
    request.destroy()
  })
})

describe('a body that is refused by its type', () => {
  const world = useApi()

  it('is discarded, so the connection serves the next request', async () => {
    const { apiKey } = await world.caller()
    const bytes = 1_000_000
    const headers = { 'X-API-Key': apiKey, 'Content-Type': 'text/xml', 'Content-Length': String(bytes) }
    const request = openRequest({ url: world.api.url, target: 'POST /api/v1/open/developer/tasks', headers })
    await until('it is refused', () => request.read().includes('must be application/json'))
    request.write('x'.repeat(bytes))
    request.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
    await until('the next request is served', () => request.read().includes('HTTP/1.1 200 '))
    request.destroy()
  })
})

describe('a half-sent body that no handler reads', () => {
  const origin = 'https://app.example.com'
  const world = useApi({ CORS_ALLOWED_ORIGINS: origin })

  it.each([
    ['a path that is no URL', 'POST /%zz', {}],
    ['an unknown path', 'POST /nowhere', {}],
    ['a preflight', 'OPTIONS /nowhere', { Origin: origin, 'Access-Control-Request-Method': 'GET' }],
  ])('of %s leaves no connection open', async (_name, target, headers) => {
    const request = openRequest({ url: world.api.url, target, headers: { 'Content-Length': '9', ...headers } })
    request.write('1')
    expect(await request.closed).toMatch(/^HTTP/)
  })
})

describe('a body in chunks of one byte', () => {
  const world = useApi({ DOORS_REMOVEBG: 'true' })
  const json = { 'Content-Type': 'application/json' }
  const bucket = () => world.api.config.s3Bucket

  it.each([
    ['events of the payment provider', () => events, signed, 'too many small chunks'],
    ['a login', () => 'POST /api/v1/app/auth/login', json, 'too many small chunks'],
    ['a task', () => 'POST /api/v1/open/developer/tasks', json, 'too many small chunks'],
    [
      'a form of a page',
      () => 'POST /api/v1/app/pages/forgot-password',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      'text/html',
    ],
    ['the door, as JSON', () => 'POST /v1.0/removebg', json, '"errors"'],
    [
      'the door, as a form',
      () => 'POST /v1.0/removebg',
      { 'Content-Type': 'multipart/form-data; boundary=edge' },
      '"errors"',
    ],
    ['an upload', () => `PUT /${bucket()}/private-uploads/x`, {}, 'IncompleteBody'],
  ])('of %s is refused, and its connection closed', async (_name, target, headers, expected) => {
    const { apiKey } = await world.caller()
    const all = { 'X-API-Key': apiKey, 'Transfer-Encoding': 'chunked', ...headers }
    const request = openRequest({ url: world.api.url, target: target(), headers: all })
    request.write(inChunks('a'.repeat(5_000), 1))
    const text = await request.closed
    expect(text).toMatch(/^HTTP\/1.1 400 /)
    expect(text).toMatch(/^connection: close/im)
    expect(text).toContain(expected)
  })

  it.each([
    ['of an unknown path', 'POST /nowhere'],
    ['of a path without a body', 'GET /healthz'],
  ])('%s ends its connection, before one that only waits for the rest of its body', async (_name, target) => {
    const waiting = openRequest({ url: world.api.url, target, headers: { 'Content-Length': '9' } })
    await until('the first response is there', () => waiting.read() !== '')
    const request = openRequest({ url: world.api.url, target, headers: { 'Transfer-Encoding': 'chunked' } })
    await until('the response is there', () => request.read() !== '')
    request.write(inChunks('a'.repeat(5_000), 1))
    const first = await Promise.race([request.closed.then(() => 'chunks'), waiting.closed.then(() => 'waiting')])
    expect(first).toBe('chunks')
    waiting.destroy()
  })

  it('is read if it has at most 1,000, and one for each KiB', async () => {
    const { apiKey } = await world.caller()
    const lenient = { Prefer: 'handling=lenient' }
    const headers = { 'X-API-Key': apiKey, 'Transfer-Encoding': 'chunked', ...lenient, ...json }
    const small = JSON.stringify({ imageUrl: 'unknown.png', note: 'x'.repeat(900) })
    const large = JSON.stringify({ imageUrl: 'unknown.png', note: 'x'.repeat(1_000_000) })
    for (const [body, bytesPerChunk] of [
      [small, 1],
      [large, 600],
    ] as const) {
      const request = openRequest({ url: world.api.url, target: 'POST /api/v1/open/developer/tasks', headers })
      request.write(inChunks(body, bytesPerChunk) + lastChunk)
      await until('the response is there', () => request.read().includes('TASK_INPUT_FORBIDDEN'))
      request.destroy()
    }
  })
})

describe('half-sent uploads without a signature', () => {
  const world = useApi({ MAX_CONNECTIONS: '256' })
  const countUploads = async (): Promise<number> => {
    const text = await (await fetch(`${world.api.healthUrl}/metrics`)).text()
    return Number(/^matte_http_requests_waiting.*for="upload"\S* (\d+)/m.exec(text)?.[1])
  }

  it('from four addresses take no slot from signed uploads', async () => {
    const target = `PUT /${world.api.config.s3Bucket}/private-uploads/x?X-Amz-Signature=0`
    const headers = { 'Content-Length': '20000000', 'Content-Type': 'image/png' }
    const half = strangers.flatMap((from) =>
      Array.from({ length: 16 }, () => openRequest({ url: world.api.url, target, headers, from })),
    )
    for (const { write } of half) write('1')
    await until('only a few of them wait', () => half.filter(({ read }) => read().includes('SlowDown')).length >= 56)
    const { client } = await world.caller()
    const file = Buffer.from('x'.repeat(100))
    const grant = await client.presign({ fileName: 'a.png', contentType: 'image/png', fileSize: file.length })
    const { pathname, search } = new URL(grant.uploadUrl)
    const before = await countUploads()
    const upload = openRequest({
      url: world.api.url,
      target: `PUT ${pathname}${search}`,
      headers: { ...grant.headers, Host: new URL(grant.uploadUrl).host },
    })
    // The second half of the body is sent once the first one has a slot.
    upload.write(file.subarray(0, 50))
    await until('the upload has a slot or an answer', async () => upload.isOver() || (await countUploads()) > before)
    upload.write(file.subarray(50))
    await until('the upload is answered', () => upload.isOver())
    expect(upload.read()).toMatch(/^HTTP\/1\.1 200 /)
    for (const { destroy } of [...half, upload]) destroy()
  })
})

describe('connections of one address', () => {
  const world = useApi({ MAX_CONNECTIONS: '16' })
  const open = (from: string) => openRequest({ url: world.api.url, target: 'GET /healthz', from })

  it('are a quarter of all, and others are served', async () => {
    const own = Array.from({ length: 4 }, () => open('127.0.0.2'))
    await until('four are served', () => own.every(({ read }) => read().includes(' 200 ')))
    expect(await open('127.0.0.2').closed).toBe('')
    const other = open('127.0.0.3')
    await until('another address is served', () => other.read().includes(' 200 '))
    own[0]?.destroy()
    await until('a freed place is used', async () => {
      const next = open('127.0.0.2')
      return Promise.race([next.closed.then(() => false), until('answered', () => next.read().includes(' 200 '))])
    })
    for (const { destroy } of [...own, other]) destroy()
  })

  const behindProxy = useApi({ MAX_CONNECTIONS: '16', TRUSTED_PROXY_HOPS: '1' })

  it('are not limited when they come from a trusted proxy', async () => {
    const own = Array.from({ length: 10 }, () =>
      openRequest({ url: behindProxy.api.url, target: 'GET /healthz', from: '127.0.0.2' }),
    )
    await until('all are served', () => own.every(({ read }) => read().includes(' 200 ')))
    for (const { destroy } of own) destroy()
  })
})

describe('requests that do not wait for responses', () => {
  const world = useApi()
  const next = (target: string) => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`
  const open = (target: string) => openRequest({ url: world.api.url, target: `GET ${target}` })

  it('are answered one after another, in their order', async () => {
    const exchange = open('/healthz')
    exchange.write(next('/nowhere') + next('/healthz') + next('/nowhere'))
    const statuses = () => exchange.read().match(/(?<=HTTP\/1\.1 )\d+/g) ?? []
    await until('all are answered', () => statuses().length === 4)
    expect(statuses()).toEqual(['200', '404', '200', '404'])
    exchange.destroy()
  })

  it.each([
    ['a document', () => '/api/v1/openapi.json'],
    ['objects', () => `/${world.api.config.s3Bucket}/x`],
  ])('for %s close their connection if there are too many', async (_name, target) => {
    const exchange = open(target())
    exchange.write(next(target()).repeat(1_500))
    expect((await exchange.closed).split('HTTP/1.1 ').length).toBeLessThan(4)
  })
})
