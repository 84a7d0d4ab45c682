// What a receiver can do to the dispatcher, and where the dispatcher can be led. The receivers are real sockets.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Dial } from '@matte/dispatcher/guarded-connector'
import { createHttpClient, type HttpClient } from '@matte/dispatcher/http-client'
import type { RouteOptions } from '@matte/dispatcher/receiver-routes'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { type Receiver, startRawReceiver, startReceiver } from './receiver.ts'
import { receiverCertificate } from './receiver-certificate.ts'

const publicAddress = '93.184.215.14'
const opened: { close(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()))
})

const given = async <T extends { close(): Promise<void> }>(starting: T | Promise<T>): Promise<T> => {
  const started = await starting
  opened.push(started)
  return started
}

const client = (options: Partial<RouteOptions> = {}): Promise<HttpClient> =>
  given(createHttpClient({ deniedNetworks: [], timeoutMs: 30_000, ...options }))
const never = new AbortController().signal

const post = (http: HttpClient, url: string, options: { allowedTargets?: string[]; signal?: AbortSignal } = {}) =>
  http.post({
    url,
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
    allowedTargets: [],
    signal: never,
    ...options,
  })

const toLoopback = { allowedTargets: ['127.0.0.1:*'] }

/** The internet in small: whatever address is dialled, this receiver answers, and it seems to have that address. */
function internetOf(receiver: Receiver): { dial: Dial; dialled: string[] } {
  const dialled: string[] = []
  const dial: Dial = (options) => {
    const socket = connect({ host: '127.0.0.1', port: receiver.port })
    const address = String(options.host)
    dialled.push(`${address}:${options.port}`)
    Object.defineProperty(socket, 'remoteAddress', { get: () => address })
    return socket
  }
  return { dial, dialled }
}

const answering = (...answers: string[][]) => {
  const asked: string[] = []
  const resolve = async (host: string): Promise<string[]> => {
    asked.push(host)
    return answers[Math.min(asked.length, answers.length) - 1] ?? []
  }
  return { resolve, asked }
}

describe('an answer', () => {
  it.each([
    [200, null],
    [204, null],
    [299, null],
    [300, 'STATUS'],
    [400, 'STATUS'],
    [410, 'STATUS'],
    [500, 'STATUS'],
  ])('with status %i gives %s', async (status, error) => {
    const receiver = await given(startReceiver((response) => response.writeHead(status).end()))
    expect(await post(await client(), receiver.url, toLoopback)).toMatchObject({ statusCode: status, error })
    expect(receiver.received).toMatchObject([{ body: '{"a":1}', headers: { 'content-length': '7' } }])
  })

  it.each([301, 302, 303, 307, 308])(
    'that redirects with %i is a failure, and its target is never visited',
    async (status) => {
      const second = await given(startReceiver())
      const first = await given(startReceiver((response) => response.writeHead(status, { location: second.url }).end()))
      expect(await post(await client(), first.url, toLoopback)).toMatchObject({ statusCode: status, error: 'STATUS' })
      expect(second.received).toEqual([])
    },
  )

  it('leaves the connection open for later attempts to the same origin', async () => {
    const receiver = await given(startReceiver((response) => response.end('thanks')))
    const http = await client()
    for (let i = 0; i < 20; i++) await post(http, `${receiver.url}/${i}`, toLoopback)
    expect(receiver.received).toHaveLength(20)
    // A second one is made when the first still reads the end of an answer.
    expect(new Set(receiver.received.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2)
  })

  it('is kept as text, at most 16 KiB of it and without NUL', async () => {
    const receiver = await given(
      startReceiver((response, { path }) => response.end(path === '/long' ? 'é'.repeat(20_000) : 'a\0b')),
    )
    const http = await client({ dial: internetOf(receiver).dial })
    expect((await post(http, `http://${publicAddress}/`)).responseBody).toBe('a\uFFFDb')
    expect((await post(http, `http://${publicAddress}/long`)).responseBody).toBe('é'.repeat(8_192))
  })

  it('is not kept from a target that only the operator lets through', async () => {
    const receiver = await given(startReceiver((response) => response.end('secret of the cluster')))
    const result = await post(await client(), receiver.url, toLoopback)
    expect(result).toMatchObject({ statusCode: 200, error: null, responseBody: null })
  })

  it('is kept from an allowed target that is public all the same', async () => {
    const receiver = await given(startReceiver((response) => response.end('hello')))
    const http = await client({ ...internetOf(receiver), resolve: answering([publicAddress]).resolve })
    const result = await post(http, 'http://receiver.example/', { allowedTargets: ['receiver.example:80'] })
    expect(result).toMatchObject({ error: null, responseBody: 'hello' })
  })
})

describe('a receiver that misbehaves', () => {
  const misbehaving: Record<string, (socket: Socket) => void> = {
    'accepts and never answers': () => undefined,
    'sends its headers byte by byte': (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nX-Slow: ', 'a'),
    'sends its body byte by byte': (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n', 'a'),
    'sends chunks of one byte forever': (socket) =>
      drip(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\na\r\n'),
    'sends early hints forever': (socket) => drip(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
    'sends a status and no more': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'),
  }

  for (const [what, behave] of Object.entries(misbehaving)) {
    it(`and ${what} ends at the deadline, and so does its connection`, async () => {
      const receiver = await given(startRawReceiver((socket) => void socket.once('data', () => behave(socket))))
      const result = await post(await client({ timeoutMs: 400 }), receiver.url, toLoopback)
      expect(result).toMatchObject({ error: 'TIMEOUT', responseBody: null })
      await until('the connection is closed', () => receiver.connections.size === 0)
    })
  }

  it('and never completes the TLS handshake ends at the deadline', async () => {
    const receiver = await given(startRawReceiver(() => undefined))
    const result = await post(await client({ timeoutMs: 400 }), receiver.url.replace('http:', 'https:'), toLoopback)
    expect(result).toMatchObject({ error: 'TIMEOUT', statusCode: null })
    await until('the connection is closed', () => receiver.connections.size === 0)
  })

  it('and sends a body without end is cut off after 16 KiB', async () => {
    let written = 0
    const receiver = await given(
      startReceiver((response) => {
        const block = Buffer.alloc(65_536, 'x')
        const write = (): void => {
          written += block.length
          if (response.write(block)) setImmediate(write)
          else response.once('drain', write)
        }
        write()
      }),
    )
    const http = await client({ dial: internetOf(receiver).dial })
    const result = await post(http, `http://${publicAddress}/`)
    expect(result).toMatchObject({ error: null, statusCode: 200, responseBody: 'x'.repeat(16_384) })
    await until('the connection is closed', () => receiver.connections.size === 0)
    expect(written).toBeLessThan(64 * 1_048_576)
  })

  it('and sends a gzip bomb has it kept as it came, never inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1_048_576))
    const receiver = await given(
      startReceiver((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)),
    )
    const result = await post(await client({ dial: internetOf(receiver).dial }), `http://${publicAddress}/`)
    expect(result.error).toBeNull()
    expect(result.responseBody?.length).toBeLessThanOrEqual(16_384)
    expect(result.responseBody).toBe(bomb.subarray(0, 16_384).toString('utf8').replaceAll('\0', '\uFFFD'))
  })

  const broken: Record<string, [string, (socket: Socket) => void]> = {
    'sends 1 MB of headers': [
      'PROTOCOL_ERROR',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(1_000)}\r\n`.repeat(1_000)}\r\n`),
    ],
    'does not speak HTTP': ['PROTOCOL_ERROR', (socket) => socket.write('220 mail.example ESMTP\r\n')],
    'closes without an answer': ['CONNECTION_LOST', (socket) => socket.end()],
    'resets in the middle of the body': [
      'CONNECTION_LOST',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', () => socket.resetAndDestroy()),
    ],
    'closes in the middle of the body': [
      'CONNECTION_LOST',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
    ],
  }

  for (const [what, [error, behave]] of Object.entries(broken)) {
    it(`and ${what} gives ${error}`, async () => {
      const receiver = await given(startRawReceiver((socket) => void socket.once('data', () => behave(socket))))
      expect(await post(await client(), receiver.url, toLoopback)).toMatchObject({ error })
    })
  }

  it('and has nobody listening gives CONNECT_FAILED', async () => {
    const receiver = await startReceiver()
    await receiver.close()
    expect(await post(await client(), receiver.url, toLoopback)).toMatchObject({ error: 'CONNECT_FAILED' })
  })

  it('delays no other on the same client', async () => {
    const hanging = await given(startReceiver(() => undefined))
    const quick = await given(startReceiver())
    const http = await client()
    const stop = new AbortController()
    const hung = Promise.allSettled(
      Array.from({ length: 20 }, () => post(http, hanging.url, { ...toLoopback, signal: stop.signal })),
    )
    await until('all hang', () => hanging.received.length === 20)
    expect(await post(http, quick.url, toLoopback)).toMatchObject({ error: null })
    stop.abort()
    expect((await hung).map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
  })
})

describe('the guard', () => {
  const refused = { error: 'TARGET_REFUSED', statusCode: null, responseBody: null }

  it.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[64:ff9b::127.0.0.1]:PORT/',
    'http://localhost:PORT/',
    'http://a.localhost:PORT/',
    'http://user:word@example.com:PORT/',
    'ftp://127.0.0.1:PORT/',
    'no URL',
    'http://169.254.169.254/latest/meta-data/',
    'http://example.com:6379/',
  ])('refuses %s without a connection', async (url) => {
    const receiver = await given(startReceiver())
    const internet = internetOf(receiver)
    const http = await client({ ...internet, resolve: answering([publicAddress]).resolve })
    expect(await post(http, url.replace('PORT', String(receiver.port)))).toMatchObject(refused)
    expect(internet.dialled).toEqual([])
    expect(receiver.connections.size).toBe(0)
  })

  const many = Array.from({ length: 2_000 }, (_, i) => `93.184.${i >> 8}.${i & 255}`)

  it.each([
    ['loopback', ['127.0.0.1']],
    ['private', ['10.1.2.3']],
    ['IPv6 loopback', ['::1']],
    ['mapped', ['::ffff:93.184.215.14']],
    ['public and loopback', [publicAddress, '127.0.0.1']],
    ['public and IPv6 loopback', [publicAddress, '::1']],
    ['public and unique local', ['2606:4700:4700::1111', 'fd00::1']],
    ['two thousand public ones and a private one', [...many, '192.168.0.1']],
  ])('refuses a name whole when its answer is %s', async (_what, answers) => {
    const receiver = await given(startReceiver())
    const internet = internetOf(receiver)
    const http = await client({ ...internet, resolve: answering(answers).resolve })
    expect(await post(http, 'http://receiver.example/')).toMatchObject(refused)
    expect(internet.dialled).toEqual([])
  })

  it('asks once and dials what it judged, though the name would change its answer', async () => {
    const receiver = await given(startReceiver())
    const internet = internetOf(receiver)
    const { resolve, asked } = answering([publicAddress], ['127.0.0.1'])
    const http = await client({ ...internet, resolve })
    expect(await post(http, `http://receiver.example:${receiver.port}/`)).toMatchObject({ error: null })
    expect(asked).toEqual(['receiver.example'])
    expect(internet.dialled).toEqual([`${publicAddress}:${receiver.port}`])
  })

  it('judges a name again for every new connection', async () => {
    const receiver = await given(startReceiver((response) => response.writeHead(200, { connection: 'close' }).end()))
    const http = await client({ ...internetOf(receiver), ...answering([publicAddress], ['127.0.0.1']) })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: null })
    await until('the connection is closed', () => receiver.connections.size === 0)
    expect(await post(http, 'http://receiver.example/')).toMatchObject(refused)
    expect(receiver.received).toHaveLength(1)
  })

  it('judges the peer of the connected socket once more', async () => {
    const receiver = await given(startReceiver())
    const dial: Dial = () => connect({ host: '127.0.0.1', port: receiver.port })
    const http = await client({ dial, resolve: answering([publicAddress]).resolve })
    expect(await post(http, 'http://receiver.example/')).toMatchObject(refused)
    expect(receiver.received).toEqual([])
  })

  it("refuses the operator's denied networks, as address and as answer", async () => {
    const receiver = await given(startReceiver())
    const internet = internetOf(receiver)
    const http = await client({ ...internet, ...answering([publicAddress]), deniedNetworks: ['93.184.0.0/16'] })
    expect(await post(http, `http://${publicAddress}/`)).toMatchObject(refused)
    expect(await post(http, 'http://receiver.example/')).toMatchObject(refused)
    expect(internet.dialled).toEqual([])
  })

  it('discloses nothing of the resolver or of addresses in what is recorded', async () => {
    const resolve = () => Promise.reject(new Error('queryA ESERVFAIL receiver.example at 10.96.0.10'))
    const { cause: _log, ...recorded } = await post(await client({ resolve }), 'http://receiver.example/')
    expect(recorded).toEqual({
      error: 'DNS_FAILED',
      statusCode: null,
      responseBody: null,
      durationMs: expect.any(Number),
    })
  })

  it('ends a resolver that hangs at the deadline', async () => {
    const http = await client({ timeoutMs: 300, resolve: () => new Promise(() => undefined) })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: 'TIMEOUT' })
  })

  it('forgets an allowed target at once, kept connections included', async () => {
    const receiver = await given(startReceiver((response) => response.end('ok')))
    const http = await client()
    expect(await post(http, receiver.url, toLoopback)).toMatchObject({ error: null })
    expect(await post(http, receiver.url, { allowedTargets: [] })).toMatchObject(refused)
    expect(receiver.received).toHaveLength(1)
  })

  it('reads no proxy variables', async () => {
    const proxy = await given(startReceiver())
    const receiver = await given(startReceiver())
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'] as const
    for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : proxy.url
    try {
      expect(await post(await client(), receiver.url, toLoopback)).toMatchObject({ error: null })
      expect(proxy.received).toEqual([])
    } finally {
      for (const name of names) delete process.env[name]
    }
  })
})

describe('TLS', () => {
  it('asks for the name of the URL while an address is dialled, and trusts the certificate for that name', async () => {
    const receiver = await given(startReceiver(undefined, { tls: true }))
    const internet = internetOf(receiver)
    const resolve = answering([publicAddress]).resolve
    const http = await client({ ...internet, resolve, ca: receiverCertificate.cert })
    expect(await post(http, 'https://receiver.example/')).toMatchObject({ error: null })
    expect(internet.dialled).toEqual([`${publicAddress}:443`])
    expect(receiver.received).toMatchObject([{ servername: 'receiver.example', headers: { host: 'receiver.example' } }])
  })

  it.each([
    ['an unknown authority', 'https://receiver.example/', undefined],
    ['another name', 'https://other.example/', receiverCertificate.cert],
    ['an address in place of the name', `https://${publicAddress}/`, receiverCertificate.cert],
  ])('refuses a certificate of %s', async (_what, url, ca) => {
    const receiver = await given(startReceiver(undefined, { tls: true }))
    const resolve = answering([publicAddress]).resolve
    const http = await client({ ...internetOf(receiver), resolve, ...(ca !== undefined && { ca }) })
    expect(await post(http, url)).toMatchObject({ error: 'TLS_FAILED', statusCode: null })
    expect(receiver.received).toEqual([])
  })
})

it('gives up at once when it is aborted', async () => {
  const receiver = await given(startReceiver(() => undefined))
  const stop = new AbortController()
  const posting = post(await client(), receiver.url, { ...toLoopback, signal: stop.signal })
  await until('the request is there', () => receiver.received.length === 1)
  stop.abort(new Error('stop'))
  await expect(posting).rejects.toThrow('stop')
})

function drip(socket: Socket, head: string, piece: string): void {
  socket.write(head)
  const timer = setInterval(() => socket.write(piece), 20)
  once(socket, 'close').then(
    () => clearInterval(timer),
    () => clearInterval(timer),
  )
}
