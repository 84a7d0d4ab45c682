// The guard against requests to private addresses (SSRF), and TLS verification. The receivers are real sockets.
import { connect } from 'node:net'
import type { Dial } from '@matte/dispatcher/egress/connect-by-proxy'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { client, closeAfterEach, given, post, toLoopback } from './given-client.ts'
import { startReceiver } from './receiver.ts'
import { receiverCertificate } from './receiver-certificate.ts'
import { answering, internetOf, publicAddress } from './small-internet.ts'

closeAfterEach()

describe('the guard', () => {
  const refused = { error: 'TARGET_REFUSED', statusCode: null, responseBody: null }
  /** As for a name that does not exist. */
  const nameRefused = { ...refused, error: 'DNS_FAILED' }

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
  ])('refuses a name if any address in the answer is forbidden: %s', async (_what, answers) => {
    const receiver = await given(startReceiver())
    const internet = internetOf(receiver)
    const http = await client({ ...internet, resolve: answering(answers).resolve })
    expect(await post(http, 'http://receiver.example/')).toMatchObject(nameRefused)
    expect(internet.dialled).toEqual([])
  })

  it('resolves once and connects to the vetted address, even if the name changes its answer', async () => {
    const receiver = await given(startReceiver())
    const internet = internetOf(receiver)
    const { resolve, asked } = answering([publicAddress], ['127.0.0.1'])
    const http = await client({ ...internet, resolve })
    expect(await post(http, `http://receiver.example:${receiver.port}/`)).toMatchObject({ error: null })
    expect(asked).toEqual(['receiver.example'])
    expect(internet.dialled).toEqual([`${publicAddress}:${receiver.port}`])
  })

  it('resolves and vets a name again for every new connection', async () => {
    const receiver = await given(startReceiver((response) => response.writeHead(200, { connection: 'close' }).end()))
    const http = await client({ ...internetOf(receiver), ...answering([publicAddress], ['127.0.0.1']) })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: null })
    await until('the connection is closed', () => receiver.connections.size === 0)
    expect(await post(http, 'http://receiver.example/')).toMatchObject(nameRefused)
    expect(receiver.received).toHaveLength(1)
  })

  it('checks the peer address of the connected socket again', async () => {
    const receiver = await given(startReceiver())
    const dial: Dial = () => connect({ host: '127.0.0.1', port: receiver.port })
    const http = await client({ dial, resolve: answering([publicAddress]).resolve })
    expect(await post(http, 'http://receiver.example/')).toMatchObject(refused)
    expect(receiver.received).toEqual([])
  })

  it('refuses networks that the operator denies, as literal address and as DNS answer', async () => {
    const receiver = await given(startReceiver())
    const internet = internetOf(receiver)
    const http = await client({ ...internet, ...answering([publicAddress]), deniedNetworks: ['93.184.0.0/16'] })
    expect(await post(http, `http://${publicAddress}/`)).toMatchObject(refused)
    expect(await post(http, 'http://receiver.example/')).toMatchObject(nameRefused)
    expect(internet.dialled).toEqual([])
  })

  it('records no details of the resolver or of addresses', async () => {
    const resolve = () => Promise.reject(new Error('queryA ESERVFAIL receiver.example at 10.96.0.10'))
    const { cause: _log, ...recorded } = await post(await client({ resolve }), 'http://receiver.example/')
    expect(recorded).toEqual({
      error: 'DNS_FAILED',
      statusCode: null,
      responseBody: null,
      durationMs: expect.any(Number),
    })
  })

  it('ends a hanging DNS query at the deadline', async () => {
    const http = await client({ timeoutMs: 300, resolve: () => new Promise(() => undefined) })
    expect(await post(http, 'http://receiver.example/')).toMatchObject({ error: 'TIMEOUT' })
  })

  it('drops an allowed target immediately, including its idle connections', async () => {
    const receiver = await given(startReceiver((response) => response.end('ok')))
    const http = await client()
    expect(await post(http, receiver.url, toLoopback)).toMatchObject({ error: null })
    expect(await post(http, receiver.url, { allowedTargets: [] })).toMatchObject(refused)
    expect(receiver.received).toHaveLength(1)
  })

  it('ignores proxy variables', async () => {
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
  it('uses the host name of the URL for SNI and certificate checks', async () => {
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
