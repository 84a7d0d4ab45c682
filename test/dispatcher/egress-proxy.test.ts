// Webhooks through the operator's proxy (D67): requests to the proxy, direct connections, and attribution of failures.

import { connect, Socket } from 'node:net'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { connectByProxy } from '@matte/dispatcher/egress/connect-by-proxy'
import { createHttpClient, type HttpClient } from '@matte/dispatcher/egress/http-client'
import type { RouteOptions } from '@matte/dispatcher/egress/receiver-routes'
import { afterEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'
import { spawnDispatcher } from './dispatcher-process.ts'
import { startEgressProxy } from './egress-proxy.ts'
import { givenDelivery, makeDue, readAttempts, readDelivery } from './given.ts'
import { type Receiver, startRawReceiver, startReceiver } from './receiver.ts'
import { receiverCertificate } from './receiver-certificate.ts'

const [first, second] = ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c']
const never = new AbortController().signal
const opened: { close(): Promise<unknown> }[] = []

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const given = async <T extends { close(): Promise<unknown> }>(starting: T | Promise<T>): Promise<T> => {
  const started = await starting
  opened.push(started)
  return started
}

const client = (
  proxy: Partial<RouteOptions['proxy'] & object>,
  options: Partial<RouteOptions> = {},
): Promise<HttpClient> =>
  given(
    createHttpClient({
      deniedNetworks: [],
      timeoutMs: 30_000,
      proxy: { host: '127.0.0.1', port: 0, authorization: undefined, ...proxy },
      resolve: async () => [first],
      ...options,
    }),
  )

const post = (http: HttpClient, url: string, allowedTargets: string[] = []) =>
  http.post({ url, headers: {}, body: '{"a":1}', allowedTargets, signal: never })

/** A small internet: every address that the proxy connects to is this receiver. */
const proxyTo = (receiver: Receiver) => given(startEgressProxy(() => ({ port: receiver.port })))

describe('with an egress proxy', () => {
  it('sends CONNECT for the vetted address and keeps the connection', async () => {
    const receiver = await given(startReceiver())
    const proxy = await proxyTo(receiver)
    const http = await client(proxy)
    for (const path of ['one', 'two', 'three']) {
      expect(await post(http, `http://receiver.example/${path}`)).toMatchObject({ error: null, statusCode: 204 })
    }
    expect(receiver.received.map(({ path }) => path)).toEqual(['/one', '/two', '/three'])
    expect(receiver.received[0]?.headers.host).toBe('receiver.example')
    for (const asked of proxy.asked) expect(asked).toEqual({ authority: `${first}:80`, authorization: undefined })
    // A connection is free only a moment after its response, so the second request may open another.
    expect(receiver.received[2]?.connection).toBe(1)
    expect(proxy.asked.length).toBeLessThan(3)
    expect(receiver.received[0]?.headers).not.toHaveProperty('proxy-authorization')
  })

  it('speaks TLS through the tunnel, for the host name of the URL', async () => {
    const receiver = await given(startReceiver(undefined, { tls: true }))
    const proxy = await proxyTo(receiver)
    const http = await client(
      { ...proxy, authorization: 'Basic bWF0dGU6c2VjcmV0' },
      {
        ca: receiverCertificate.cert,
        resolve: async () => [second],
      },
    )
    expect(await post(http, 'https://receiver.example/hook')).toMatchObject({ error: null, statusCode: 204 })
    expect(receiver.received).toMatchObject([{ path: '/hook', servername: 'receiver.example' }])
    expect(proxy.asked).toEqual([{ authority: `[${second}]:443`, authorization: 'Basic bWF0dGU6c2VjcmV0' }])
    const other = await client(proxy, { resolve: async () => [first] })
    expect(await post(other, 'https://receiver.example/hook')).toMatchObject({ error: 'TLS_FAILED' })
  })

  it.each([
    ['a name with a private address', 'http://receiver.example/', [first, '10.0.0.7'], 'DNS_FAILED'],
    ['a private address', 'http://169.254.169.254/latest', [first], 'TARGET_REFUSED'],
    ['a name in a denied network', 'http://receiver.example/', ['198.41.0.4'], 'DNS_FAILED'],
    ['a denied port', 'http://receiver.example:25/', [first], 'TARGET_REFUSED'],
  ])('never sends CONNECT for %s', async (_what, url, addresses, error) => {
    const proxy = await given(startEgressProxy(() => 'silence'))
    const http = await client(proxy, { resolve: async () => addresses, deniedNetworks: ['198.41.0.0/24'] })
    expect(await post(http, url)).toMatchObject({ error, statusCode: null })
    expect(proxy.asked).toEqual([])
  })

  it('sends CONNECT for public addresses on a port that the operator allows', async () => {
    const receiver = await given(startReceiver())
    const proxy = await proxyTo(receiver)
    const http = await client(proxy, { resolve: () => Promise.reject(new Error('SERVFAIL')) })
    const allowed = `${first}:6379`
    expect(await post(http, `http://${allowed}/hook`, [allowed])).toMatchObject({ error: null, statusCode: 204 })
    expect(proxy.asked).toEqual([{ authority: allowed, authorization: undefined }])
  })

  it('connects directly to targets that only the operator allows', async () => {
    const receiver = await given(startReceiver())
    const proxy = await given(startEgressProxy(() => 'silence'))
    expect(await post(await client(proxy), receiver.url, ['127.0.0.1:*'])).toMatchObject({ error: null })
    expect(proxy.asked).toEqual([])
  })

  it.each([
    ['is refused', { status: 502 }],
    ['hangs', 'silence'],
  ] as const)('goes on to the next address where one %s', async (_how, verdict) => {
    const receiver = await given(startReceiver())
    const proxy = await given(
      startEgressProxy((authority) => (authority.startsWith('[') ? verdict : { port: receiver.port })),
    )
    const http = await client(proxy, { resolve: async () => [second, first] })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: null, statusCode: 204 })
    expect(proxy.asked.map(({ authority }) => authority)).toEqual([`[${second}]:80`, `${first}:80`])
  })

  it.each([
    [502, 'CONNECT_FAILED'],
    [503, 'CONNECT_FAILED'],
    [403, 'TARGET_REFUSED'],
    [407, 'INTERNAL'],
    [404, 'INTERNAL'],
    [302, 'INTERNAL'],
    [100, 'INTERNAL'],
  ])('answering %i ends the attempt as %s', async (status, error) => {
    const proxy = await given(startEgressProxy(() => ({ status })))
    const result = await post(await client(proxy), 'http://receiver.example/')
    expect(result).toMatchObject({ error, statusCode: null, responseBody: null })
    expect(String((result.cause as Error).cause)).toContain(`the egress proxy answered ${status}`)
  })

  it('that is unreachable or no proxy counts as our own failure, not the receiver’s', async () => {
    const [port = 0] = await freePorts(1)
    expect(await post(await client({ port }), 'http://receiver.example/')).toMatchObject({ error: 'INTERNAL' })
    const raw = await given(startRawReceiver((socket) => socket.end('220 smtp.example ready\r\n')))
    expect(await post(await client(raw), 'http://receiver.example/')).toMatchObject({ error: 'INTERNAL' })
  })

  it('on a dead or filtered host counts as our own failure too', async () => {
    const sockets: Socket[] = []
    const dial = (): Socket => {
      const socket = new Socket()
      sockets.push(socket)
      return socket
    }
    const http = await client({}, { dial, timeoutMs: 1_000, resolve: async () => [first, second] })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: 'INTERNAL' })
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true])
  })

  it('that hangs ends the attempt at its deadline and closes the connection', async () => {
    const proxy = await given(startRawReceiver(() => undefined))
    const http = await client({ port: proxy.port }, { timeoutMs: 300 })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: 'TIMEOUT' })
    await until('the connection is closed', () => proxy.connections.size === 0)
  })

  it('that refuses and keeps the connection open is disconnected', async () => {
    const refusal = 'HTTP/1.1 502 No\r\n\r\n'
    const proxy = await given(startRawReceiver((socket) => socket.once('data', () => socket.write(refusal))))
    const http = await client({ port: proxy.port })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: 'CONNECT_FAILED' })
    await until('the connection is closed', () => proxy.connections.size === 0)
  })
})

describe('the time limit of one address', () => {
  /**
   * Responds at port 1 immediately, never at 2, and at 3 after a caller has moved on from 2 to 4, which is past the
   * limit.
   */
  async function givenWay() {
    const held: Socket[] = []
    const grant = (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const proxy = await given(
      startRawReceiver((socket) =>
        socket.once('data', (bytes) => {
          const port = /^CONNECT \S+:(\d) /.exec(bytes.toString())?.[1]
          if (port === '3') held.push(socket)
          if (port === '1' || port === '4') grant(socket)
          if (port === '4') held.forEach(grant)
        }),
      ),
    )
    const egress = { host: '127.0.0.1', port: proxy.port, authorization: undefined }
    const way = { proxy: egress, dial: connect, proxyTimeoutMs: 10_000, addressTimeoutMs: 50 }
    const open = async (addresses: readonly string[], port: number) => {
      const socket = await connectByProxy(way, { addresses, port }, never)
      return given({ socket, close: async () => void socket.destroy() })
    }
    /** Resolves when the time limit of an address that was tried later has passed. */
    const untilItHasPassed = async () => {
      await expect(
        connectByProxy(way, { addresses: [first, first], port: 2 }, AbortSignal.timeout(500)),
      ).rejects.toThrow()
      await open([first], 4)
    }
    return { open, untilItHasPassed }
  }

  it('does not end an established tunnel', async () => {
    const { open, untilItHasPassed } = await givenWay()
    const { socket } = await open([first, second], 1)
    await untilItHasPassed()
    expect(socket.destroyed).toBe(false)
  })

  it('does not apply to the last address', async () => {
    const { open, untilItHasPassed } = await givenWay()
    const opening = open([first], 3)
    await untilItHasPassed()
    expect((await opening).socket.destroyed).toBe(false)
  })
})

describe('a dispatcher with WEBHOOK_EGRESS_PROXY', () => {
  const database = useDatabase()
  const givenDispatcher = async (env: Record<string, string>) => {
    const dispatcher = await spawnDispatcher({ DATABASE_URL: database.url, ...env })
    const close = () => {
      dispatcher.kill('SIGKILL')
      return dispatcher.exited
    }
    return given({ ...dispatcher, close })
  }

  it('delivers through the proxy and logs no password', async () => {
    await writeSetting(database.db, 'webhooks.allowedTargets', [])
    const receiver = await given(startReceiver())
    const proxy = await proxyTo(receiver)
    const { taskId } = await givenDelivery(database.db, `http://${first}/hook`)
    const dispatcher = await givenDispatcher({ WEBHOOK_EGRESS_PROXY: `http://matte:s%40crEt@127.0.0.1:${proxy.port}` })
    await until('it is delivered', async () => (await readDelivery(database.db, taskId)).status === 'delivered')
    const authorization = `Basic ${Buffer.from('matte:s@crEt').toString('base64')}`
    expect(proxy.asked).toEqual([{ authority: `${first}:80`, authorization }])
    expect(receiver.received).toMatchObject([{ path: '/hook' }])
    const said = JSON.stringify(dispatcher.lines)
    expect(said).toContain('egressProxy')
    for (const secret of ['crEt', 'bWF0dGU6']) expect(said).not.toContain(secret)
  })

  it('records our own error and retries while the proxy is down', async () => {
    const [port = 0] = await freePorts(1)
    const { taskId } = await givenDelivery(database.db, `http://${first}/hook`)
    await givenDispatcher({ WEBHOOK_EGRESS_PROXY: `http://127.0.0.1:${port}` })
    const attempts = await until('two attempts are recorded', async () => {
      const recorded = await readAttempts(database.db, taskId)
      if (recorded.length === 1) await makeDue(database.db)
      return recorded.length >= 2 && recorded
    })
    expect(attempts.slice(0, 2)).toMatchObject([{ error: 'INTERNAL' }, { error: 'INTERNAL' }])
    expect((await readDelivery(database.db, taskId)).status).toBe('pending')
  })
})
