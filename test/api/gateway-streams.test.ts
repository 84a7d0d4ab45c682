// Streaming of the gateway in both directions, observed at a store that the test controls.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { uploadLinkSigner } from '@matte/core/storage/upload-link'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { freePorts } from '../support/free-ports.ts'
import { smallImage } from './given.ts'

type Play = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const database = useDatabase()
let store: Server
let play: Play | undefined
let api: TestApi

beforeAll(async () => {
  store = await listen(0)
  api = await startApi({
    DATABASE_URL: database.url,
    S3_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
  })
})
afterAll(async () => {
  await api.stop()
  await close(store)
})
beforeEach(() => {
  play = undefined
})

/** Passes all requests but probes of the bucket to the test's handler. */
function listen(port: number): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    if (play && incoming.url !== '/matte/' && incoming.url !== '/matte') return play(incoming, outgoing)
    outgoing.writeHead(200).end()
  })
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)))
}

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

describe('a request', () => {
  it('reaches the store with path, query and Host byte for byte', async () => {
    const seen: { url: string; host: string }[] = []
    play = ({ url = '', headers: { host = '' } }, outgoing) => {
      seen.push({ url, host })
      outgoing.end()
    }
    const path = "/matte/a//b/../c%2Fd%20e+f'()*!~;,:@/%E6%BC%A2?X-Amz-Date=1&a=%2F&&b=+&c"
    await send(path, { host: 'matte.example.com' })
    expect(seen).toEqual([{ url: path, host: 'matte.example.com' }])
  })

  it('carries only the headers that matter to the store', async () => {
    let seen: IncomingMessage['headers'] = {}
    play = ({ headers }, outgoing) => {
      seen = headers
      outgoing.end()
    }
    const passed = { range: 'bytes=0-1', 'if-match': '"a"', 'content-type': 'image/png' }
    const kept = {
      'x-api-key': 'k',
      authorization: 'Bearer t',
      cookie: 'c=1',
      'x-amz-copy-source': '/a/b',
      'x-forwarded-host': 'evil',
      te: 'trailers',
    }
    await send('/matte/a', { ...passed, ...kept })
    expect(seen).toMatchObject(passed)
    for (const name of Object.keys(kept)) expect(seen).not.toHaveProperty(name)
  })

  it('of an upload link reaches the store under the store’s own name, with its own signature', async () => {
    let seen: IncomingMessage | undefined
    play = (incoming, outgoing) => {
      seen = incoming
      incoming.resume().on('end', () => outgoing.end())
    }
    const answer = await fetch(uploadLink(api), { method: 'PUT', headers: { 'content-type': 'image/png' }, body: 'a' })
    expect(answer.status).toBe(200)
    expect(seen?.headers.host).toBe(new URL(api.config.s3Endpoint).host)
    const { pathname, searchParams } = new URL(seen?.url ?? '', api.config.s3Endpoint)
    expect(pathname).toBe('/matte/private-uploads/a.png')
    expect([searchParams.has('X-Amz-Signature'), searchParams.has('maxBytes')]).toEqual([true, false])
  })

  it('streams: the store receives the beginning before the client has sent the end', async () => {
    const { promise: began, resolve } = Promise.withResolvers<void>()
    play = (incoming, outgoing) => {
      incoming.once('data', () => resolve())
      incoming.on('end', () => outgoing.end())
    }
    const sending = request(`${api.url}/matte/a`, { method: 'PUT', headers: { 'content-length': 2 } })
    const answered = new Promise<IncomingMessage>((done) => sending.once('response', done))
    sending.write('a')
    await began
    sending.end('b')
    expect((await answered).resume().statusCode).toBe(200)
  })

  it('is aborted at the store when the client disconnects', async () => {
    const { promise: cut, resolve } = Promise.withResolvers<void>()
    const { promise: began, resolve: begin } = Promise.withResolvers<void>()
    play = (incoming) => {
      incoming.once('data', () => begin())
      incoming.once('error', () => resolve())
      incoming.once('close', () => resolve())
    }
    const sending = request(`${api.url}/matte/a`, { method: 'PUT', headers: { 'content-length': 1_000 } })
    sending.on('error', () => undefined)
    sending.write('a')
    await began
    sending.destroy()
    await cut
  })
})

describe('a response', () => {
  it('streams: the client receives the beginning before the store has sent the end', async () => {
    let finish: (() => void) | undefined
    play = (_incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-length': 2 }).write('a')
      finish = () => outgoing.end('b')
    }
    const response = await send('/matte/a')
    const first = await new Promise<Buffer>((resolve) => response.once('data', resolve))
    expect(first.toString()).toBe('a')
    finish?.()
    const rest = await new Promise<Buffer>((resolve) => response.once('data', resolve))
    expect(rest.toString()).toBe('b')
  })

  it('to HEAD and with 304 keeps its length and has no body', async () => {
    play = (_incoming, outgoing) => outgoing.writeHead(200, { 'content-length': 1_234 }).end()
    const head = await send('/matte/a', {}, 'HEAD')
    expect([head.statusCode, head.headers['content-length'], await textOf(head)]).toEqual([200, '1234', ''])
    play = (_incoming, outgoing) => outgoing.writeHead(304, { etag: '"a"' }).end()
    const unchanged = await send('/matte/a')
    expect([unchanged.statusCode, unchanged.headers.etag, await textOf(unchanged)]).toEqual([304, '"a"', ''])
  })

  it('has our security headers, and from the store only those that an object needs', async () => {
    const needed = {
      'accept-ranges': 'bytes',
      'cache-control': 'private',
      'content-disposition': 'attachment; filename="a.png"',
      'content-range': 'bytes 0-1/9',
      'content-type': 'image/png',
      etag: '"a"',
      'last-modified': 'Sat, 21 Nov 2026 07:16:00 GMT',
      'x-amz-request-id': '17',
    }
    const hostile = {
      'access-control-allow-origin': '*',
      'alt-svc': 'h3=":443"',
      'clear-site-data': '"*"',
      'content-security-policy-report-only': 'default-src *',
      link: '<https://evil.example/x.css>; rel=stylesheet',
      location: 'https://evil.example/',
      nel: '{}',
      refresh: '0; url=https://evil.example/',
      server: 'store',
      'service-worker-allowed': '/',
      'set-cookie': 'session=evil',
      'strict-transport-security': 'max-age=0',
      'www-authenticate': 'Basic',
    }
    const ours = {
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'x-request-id': 'mine',
    }
    const fromStore = { 'content-security-policy': 'default-src *', 'x-content-type-options': 'sniff' }
    for (const status of [200, 206, 304, 403, 501]) {
      play = (_incoming, outgoing) =>
        outgoing.writeHead(status, { ...needed, ...hostile, ...fromStore, 'x-request-id': 'theirs' }).end()
      const { headers } = await send('/matte/a', { 'x-request-id': 'mine' })
      expect(headers).toMatchObject({ ...needed, ...ours })
      expect(Object.keys(headers).filter((name) => name in hostile)).toEqual([])
    }
  })

  it('is aborted at the store when the client disconnects', async () => {
    const { promise: cut, resolve } = Promise.withResolvers<void>()
    play = (_incoming, outgoing) => {
      outgoing.writeHead(200).write('a')
      outgoing.once('close', () => resolve())
    }
    const response = await send('/matte/a')
    response.on('error', () => undefined)
    response.destroy()
    await cut
  })

  it('that breaks off at the store breaks off at the client, and never ends cleanly', async () => {
    play = (_incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-length': 100 }).write('a')
      setImmediate(() => outgoing.destroy())
    }
    const broken = await send('/matte/a')
      .then(textOf)
      .then(
        () => false,
        () => true,
      )
    expect(broken).toBe(true)
  })

  it('to a large body reaches the client early', async () => {
    play = (_incoming, outgoing) => outgoing.writeHead(403).end('no')
    const response = await fetch(`${api.url}/matte/a`, { method: 'PUT', body: Buffer.alloc(8_000_000) })
    expect([response.status, await response.text()]).toEqual([403, 'no'])
  })

  it.each([500, 502, 503, 504])('of a store that fails with %i becomes 503 with Retry-After', async (status) => {
    play = (_incoming, outgoing) => outgoing.writeHead(status).end('<Error><Code>InternalError</Code></Error>')
    for (const init of [{}, { method: 'PUT', body: Buffer.from(await smallImage()) }]) {
      const response = await fetch(`${api.url}/matte/a`, init)
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
      expect(await response.text()).toContain('<Code>ServiceUnavailable</Code>')
    }
  })

  it('of a store that cannot do the operation reaches the client unchanged', async () => {
    play = (_incoming, outgoing) => outgoing.writeHead(501).end('no')
    const response = await fetch(`${api.url}/matte/a`)
    expect([response.status, await response.text()]).toEqual([501, 'no'])
  })

  it('is requested again on a new connection if the store had closed the old one', async () => {
    let calls = 0
    play = (incoming, outgoing) => {
      calls += 1
      if (calls === 1) incoming.socket.destroy()
      else outgoing.end('here')
    }
    expect(await textOf(await send('/matte/a'))).toBe('here')
  })
})

describe('without a store', () => {
  let lonely: TestApi
  let port = 0
  beforeAll(async () => {
    ;[port = 0] = await freePorts(1)
    lonely = await startApi({ DATABASE_URL: database.url, S3_ENDPOINT: `http://127.0.0.1:${port}` })
  })
  afterAll(() => lonely.stop())

  it('the gateway returns 503 in the format of the store', async () => {
    const body = Buffer.from(await smallImage())
    const url = `${lonely.url}/matte/a`
    for (const [target, init] of [
      [url, {}],
      [url, { method: 'PUT', body }],
      [uploadLink(lonely), { method: 'PUT', body, headers: { 'content-type': 'image/png' } }],
    ] as const) {
      const response = await fetch(target, init)
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('5')
      expect(await response.text()).toContain('<Code>ServiceUnavailable</Code>')
    }
  })

  it('the API is ready anyway', async () => {
    expect((await fetch(`${lonely.url}/readyz`)).status).toBe(200)
  })
})

/** Signed here, because presigning would first notice that the store is down. */
function uploadLink({ url, config }: TestApi): string {
  const link = { objectKey: 'private-uploads/a.png', contentType: 'image/png', maxBytes: 1_000_000 }
  return `${url}/files/${uploadLinkSigner(config.masterKeys).sign(link, Math.floor(Date.now() / 1_000) + 900)}`
}

function send(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<IncomingMessage> {
  const { port } = new URL(api.url)
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, headers }, resolve).on('error', reject).end()
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}
