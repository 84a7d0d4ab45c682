// Misbehaving receivers against the HTTP client of the dispatcher. The receivers are real sockets.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { client, closeAfterEach, given, post, toLoopback } from './given-client.ts'
import { startRawReceiver, startReceiver } from './receiver.ts'
import { answering, internetOf, publicAddress } from './small-internet.ts'

closeAfterEach()

const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'

describe('a response', () => {
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
    'redirecting with %i is a failure, and the client does not follow it',
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
    // The client opens a second connection while it still reads the end of a response on the first.
    expect(new Set(receiver.received.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2)
  })

  it('is stored as text, at most 16 KiB and without NUL', async () => {
    const receiver = await given(
      startReceiver((response, { path }) => response.end(path === '/long' ? 'é'.repeat(20_000) : 'a\0b')),
    )
    const http = await client({ dial: internetOf(receiver).dial })
    expect((await post(http, `http://${publicAddress}/`)).responseBody).toBe('a\uFFFDb')
    expect((await post(http, `http://${publicAddress}/long`)).responseBody).toBe('é'.repeat(8_192))
  })

  it('counts after a few informational ones', async () => {
    const receiver = await given(
      startRawReceiver((socket) =>
        socket.once('data', () => socket.end(`${hints.repeat(3)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`)),
      ),
    )
    const http = await client({ dial: internetOf(receiver).dial })
    expect(await post(http, `http://${publicAddress}/`)).toMatchObject({ error: null, responseBody: 'ok' })
  })

  it('is not stored if only the operator allows the target', async () => {
    const receiver = await given(startReceiver((response) => response.end('secret of the cluster')))
    const result = await post(await client(), receiver.url, toLoopback)
    expect(result).toMatchObject({ statusCode: 200, error: null, responseBody: null })
  })

  it('is stored from an allowed target that is public as well', async () => {
    const receiver = await given(startReceiver((response) => response.end('hello')))
    const http = await client({ ...internetOf(receiver), resolve: answering([publicAddress]).resolve })
    const result = await post(http, 'http://receiver.example/', { allowedTargets: ['receiver.example:80'] })
    expect(result).toMatchObject({ error: null, responseBody: 'hello' })
  })
})

describe('a misbehaving receiver', () => {
  const misbehaving: Record<string, (socket: Socket) => void> = {
    'accepts and never answers': () => undefined,
    'sends its headers byte by byte': (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nX-Slow: ', 'a'),
    'sends its body byte by byte': (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n', 'a'),
    'sends chunks of one byte forever': (socket) =>
      drip(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\na\r\n'),
    'sends a status and no more': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'),
  }

  for (const [what, behave] of Object.entries(misbehaving)) {
    it(`that ${what} hits the deadline, and its connection closes`, async () => {
      const receiver = await given(startRawReceiver((socket) => void socket.once('data', () => behave(socket))))
      const result = await post(await client({ timeoutMs: 400 }), receiver.url, toLoopback)
      expect(result).toMatchObject({ error: 'TIMEOUT', responseBody: null })
      await until('the connection is closed', () => receiver.connections.size === 0)
    })
  }

  it('that never completes the TLS handshake hits the deadline', async () => {
    const receiver = await given(startRawReceiver(() => undefined))
    const result = await post(await client({ timeoutMs: 400 }), receiver.url.replace('http:', 'https:'), toLoopback)
    expect(result).toMatchObject({ error: 'TIMEOUT', statusCode: null })
    await until('the connection is closed', () => receiver.connections.size === 0)
  })

  it('that sends an endless body is cut off after 16 KiB', async () => {
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

  it('that sends a gzip bomb has it stored as received, never decompressed', async () => {
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
    'sends early hints forever': ['PROTOCOL_ERROR', (socket) => drip(socket, '', hints)],
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
    it(`that ${what} gives ${error}`, async () => {
      const receiver = await given(startRawReceiver((socket) => void socket.once('data', () => behave(socket))))
      expect(await post(await client(), receiver.url, toLoopback)).toMatchObject({ error })
    })
  }

  it('that is not listening gives CONNECT_FAILED', async () => {
    const receiver = await startReceiver()
    await receiver.close()
    expect(await post(await client(), receiver.url, toLoopback)).toMatchObject({ error: 'CONNECT_FAILED' })
  })

  it('delays no other receiver of the same client', async () => {
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

it('is left at once when the attempt is aborted', async () => {
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
