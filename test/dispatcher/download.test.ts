// Images by URL against hostile and ordinary servers. The servers are real sockets behind a small internet.
import { createDownloader, type Downloader } from '@matte/dispatcher/egress/download'
import type { RouteOptions } from '@matte/dispatcher/egress/receiver-routes'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { closeAfterEach, given } from './given-client.ts'
import { type Receiver, startRawReceiver, startReceiver } from './receiver.ts'
import { answering, internetOf, publicAddress } from './small-internet.ts'

closeAfterEach()

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(2_000, 1)])
const never = new AbortController().signal

const downloader = (receiver: Receiver, options: Partial<RouteOptions> = {}): Promise<Downloader> =>
  given(
    createDownloader({
      deniedNetworks: [],
      timeoutMs: 30_000,
      ...internetOf(receiver),
      resolve: answering([publicAddress]).resolve,
      ...options,
    }),
  )

const download = (from: Downloader, url = 'http://images.example/cat.png', maxBytes = 10_000) =>
  from.download({ url, maxBytes, signal: never })

describe('an image', () => {
  it.each([
    ['image/png', png],
    ['image/jpeg', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(100)])],
    ['image/webp', Buffer.concat([Buffer.from('RIFF0000WEBPVP8 '), Buffer.alloc(100)])],
  ])('of type %s is downloaded whole, whatever type is announced', async (contentType, bytes) => {
    const receiver = await given(
      startReceiver((response) => response.writeHead(200, { 'content-type': 'text/html' }).end(bytes)),
    )
    const image = await download(await downloader(receiver))
    expect(image).toMatchObject({ contentType, sizeBytes: bytes.length })
    expect('chunks' in image && Buffer.concat(image.chunks).equals(bytes)).toBe(true)
  })

  it('is asked for without cookies, credentials or compression', async () => {
    const receiver = await given(startReceiver((response) => response.end(png)))
    await download(await downloader(receiver), 'http://images.example/a/cat.png?x=1')
    const [{ path, headers } = { path: '', headers: {} }] = receiver.received
    expect(path).toBe('/a/cat.png?x=1')
    expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
    expect(headers['accept-encoding']).toBe('identity')
  })

  it('may be exactly as large as allowed', async () => {
    const receiver = await given(startReceiver((response) => response.end(png)))
    expect(await download(await downloader(receiver), undefined, png.length)).toMatchObject({ sizeBytes: png.length })
  })
})

describe('the guard', () => {
  it.each([
    ...['http://127.0.0.1/', 'http://10.0.0.8/', 'http://192.168.1.1/', 'http://169.254.169.254/latest/meta-data/'],
    ...['http://[::1]/', 'http://[fd00::1]/', 'http://[::ffff:127.0.0.1]/', 'http://2130706433/', 'http://0x7f.1/'],
    ...['http://localhost/', 'http://example.com:6379/', 'http://user:word@example.com/', 'ftp://example.com/'],
    ...['file:///etc/passwd', 'data:image/png;base64,AAAA', 'no URL'],
  ])('refuses %s without a connection', async (url) => {
    const receiver = await given(startReceiver((response) => response.end(png)))
    const internet = internetOf(receiver)
    expect(await download(await downloader(receiver, internet), url)).toMatchObject({ failure: 'UNREACHABLE' })
    expect(internet.dialled).toEqual([])
  })

  it.each([[['127.0.0.1']], [['10.1.2.3']], [['::1']], [[publicAddress, '192.168.0.1']]])(
    'refuses a name with the addresses %j',
    async (addresses) => {
      const receiver = await given(startReceiver((response) => response.end(png)))
      const internet = internetOf(receiver)
      const { resolve } = answering(addresses)
      expect(await download(await downloader(receiver, { ...internet, resolve }))).toMatchObject({
        failure: 'UNREACHABLE',
      })
      expect(internet.dialled).toEqual([])
    },
  )

  it('refuses the networks of the operator', async () => {
    const receiver = await given(startReceiver((response) => response.end(png)))
    const from = await downloader(receiver, { deniedNetworks: [`${publicAddress}/32`] })
    expect(await download(from)).toMatchObject({ failure: 'UNREACHABLE' })
    expect(receiver.received).toEqual([])
  })

  it.each([
    'http://127.0.0.1/secret',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://localhost/',
    '//10.0.0.1/',
    'http://inside.example/',
    'file:///etc/passwd',
    'http://user:word@images.example/',
  ])('refuses a redirect to %s', async (location) => {
    const receiver = await given(
      startReceiver((response, { path }) =>
        path === '/cat.png' ? response.writeHead(302, { location }).end() : response.end(png),
      ),
    )
    const internet = internetOf(receiver)
    const resolve = async (host: string) => [host === 'inside.example' ? '10.0.0.1' : publicAddress]
    expect(await download(await downloader(receiver, { ...internet, resolve }))).toMatchObject({
      failure: 'UNREACHABLE',
    })
    expect(internet.dialled).toEqual([`${publicAddress}:80`])
    expect(receiver.received).toHaveLength(1)
  })

  it('refuses a name that changes its answer between two hops', async () => {
    const receiver = await given(
      startReceiver((response) => response.writeHead(302, { location: '/again', connection: 'close' }).end()),
    )
    const { resolve } = answering([publicAddress], ['127.0.0.1'])
    expect(await download(await downloader(receiver, { resolve }))).toMatchObject({ failure: 'UNREACHABLE' })
    expect(receiver.received).toHaveLength(1)
  })
})

describe('redirects', () => {
  const chain = (length: number) =>
    given(
      startReceiver((response, { path }) => {
        const hop = Number(path.slice(1)) || 0
        if (hop < length) response.writeHead(307, { location: `/${hop + 1}` }).end()
        else response.end(png)
      }),
    )

  it('are followed three times, each by its own address', async () => {
    const receiver = await chain(3)
    expect(await download(await downloader(receiver))).toMatchObject({ contentType: 'image/png' })
    expect(receiver.received.map(({ path }) => path)).toEqual(['/cat.png', '/1', '/2', '/3'])
  })

  it('end after three, also in a circle', async () => {
    const receiver = await chain(Infinity)
    expect(await download(await downloader(receiver))).toMatchObject({ failure: 'UNREACHABLE' })
    expect(receiver.received).toHaveLength(4)
  })

  it('without a usable place are a status like any other', async () => {
    const receiver = await given(startReceiver((response) => response.writeHead(302).end()))
    expect(await download(await downloader(receiver))).toMatchObject({ failure: 'STATUS', statusCode: 302 })
  })
})

describe('a server', () => {
  it.each([204, 206, 304, 401, 404, 500])('with status %i gives STATUS', async (status) => {
    const receiver = await given(startReceiver((response) => response.writeHead(status).end()))
    expect(await download(await downloader(receiver))).toMatchObject({ failure: 'STATUS', statusCode: status })
  })

  it.each([
    ['a page', Buffer.from('<!doctype html><html></html>')],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['nothing', Buffer.alloc(0)],
    ['the start of a signature', png.subarray(0, 8)],
  ])('that sends %s gives NO_IMAGE', async (_what, bytes) => {
    const receiver = await given(
      startReceiver((response) => response.writeHead(200, { 'content-type': 'image/png' }).end(bytes)),
    )
    expect(await download(await downloader(receiver))).toEqual({ failure: 'NO_IMAGE' })
  })

  it('that announces too much is cut off before its body', async () => {
    const receiver = await given(
      startReceiver((response) => void response.writeHead(200, { 'content-length': '99999999' }).write(png)),
    )
    expect(await download(await downloader(receiver))).toEqual({ failure: 'TOO_LARGE' })
    await until('the connection is closed', () => receiver.connections.size === 0)
  })

  it('that sends an endless image is cut off at the limit', async () => {
    let written = 0
    const receiver = await given(
      startReceiver((response) => {
        response.write(png)
        const block = Buffer.alloc(65_536, 'x')
        const write = (): void => {
          written += block.length
          if (response.write(block)) setImmediate(write)
          else response.once('drain', write)
        }
        write()
      }),
    )
    expect(await download(await downloader(receiver))).toEqual({ failure: 'TOO_LARGE' })
    await until('the connection is closed', () => receiver.connections.size === 0)
    expect(written).toBeLessThan(64 * 1_048_576)
  })

  it.each([
    ['never answers', () => ''],
    ['sends its headers byte by byte', () => 'HTTP/1.1 200 OK\r\nX-Slow: '],
    [
      'sends its image byte by byte',
      () => `HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n${png.toString('latin1', 0, 16)}`,
    ],
  ])('that %s hits the total deadline', async (_what, first) => {
    const receiver = await given(
      startRawReceiver((socket) => {
        socket.once('data', () => {
          socket.write(first(), 'latin1')
          const timer = setInterval(() => first() !== '' && socket.write('a'), 20)
          socket.once('close', () => clearInterval(timer))
        })
      }),
    )
    const from = await downloader(receiver, { timeoutMs: 400 })
    expect(await download(from)).toMatchObject({ failure: 'TIMEOUT' })
    await until('the connection is closed', () => receiver.connections.size === 0)
  })

  it('that breaks off gives UNREACHABLE', async () => {
    const receiver = await given(
      startRawReceiver((socket) =>
        socket.once('data', () =>
          socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n${png.toString('latin1')}`, 'latin1'),
        ),
      ),
    )
    expect(await download(await downloader(receiver))).toMatchObject({ failure: 'UNREACHABLE' })
  })
})
