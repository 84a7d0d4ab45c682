import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createObjectClient, type ObjectClient } from './object-client.ts'

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const store = { bucket: 'matte', region: 'eu-central-1', ...keys }

describe('createObjectClient', () => {
  let server: Server | undefined
  let client: ObjectClient | undefined
  afterEach(() => {
    client?.close()
    server?.closeAllConnections()
    server?.close()
  })

  async function ask(answers: RequestListener[]): Promise<{ client: ObjectClient; asked: () => number }> {
    let asked = 0
    const own = createServer((request, response) => {
      const answer = answers[Math.min(asked++, answers.length - 1)]
      answer?.(request, response)
    })
    server = own
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve))
    const endpoint = `http://127.0.0.1:${(own.address() as AddressInfo).port}`
    client = createObjectClient({ ...store, endpoint })
    return { client, asked: () => asked }
  }
  const status =
    (code: number, text = ''): RequestListener =>
    (_request, response) =>
      void response.writeHead(code, { 'content-length': text.length }).end(text)
  const get = { method: 'GET', key: 'a', maxBytes: 100 } as const

  it('returns headers and the whole body', async () => {
    const { client } = await ask([(_request, response) => void response.setHeader('etag', '"e"').end('hello')])
    const { headers, bytes } = await client.send(get)
    expect([headers.etag, bytes.toString()]).toEqual(['"e"', 'hello'])
  })

  it('sends the bytes of a PUT', async () => {
    const received: Buffer[] = []
    const { client } = await ask([
      (request, response) => void request.on('data', (part) => received.push(part)).on('end', () => response.end()),
    ])
    const body = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251)
    await client.send({ ...get, method: 'PUT', body, headers: { 'content-type': 'image/png' } })
    expect(Buffer.concat(received)).toEqual(Buffer.from(body))
  })

  it.each([
    ['503', status(503)],
    ['a connection that breaks', (request) => void request.socket.destroy()],
    [
      'a body that breaks off',
      (request, response) => {
        response.writeHead(200, { 'content-length': 10 }).write('he')
        setImmediate(() => request.socket.destroy())
      },
    ],
  ] as [string, RequestListener][])('tries a second time after %s', async (_name, failure) => {
    const { client, asked } = await ask([failure, status(200, 'hello')])
    expect((await client.send(get)).bytes.toString()).toBe('hello')
    expect(asked()).toBe(2)
  })

  it("follows the store's clock if it differs", async () => {
    const times: unknown[] = []
    const theirNow = new Date('2031-05-06T07:08:09Z')
    const skewed: RequestListener = (request, response) => {
      times.push(request.headers['x-amz-date'])
      response.writeHead(403, { date: theirNow.toUTCString() }).end('<Code>RequestTimeTooSkewed</Code>')
    }
    const right: RequestListener = (request, response) => {
      times.push(request.headers['x-amz-date'])
      response.end('hello')
    }
    const { client } = await ask([skewed, right])
    expect((await client.send(get)).bytes.toString()).toBe('hello')
    await client.send(get)
    expect(times[0]).not.toMatch(/^2031/)
    for (const time of times.slice(1)) expect(time).toMatch(/^20310506T0708/)
  })

  it('retries once', async () => {
    const { client, asked } = await ask([status(503, '<Code>SlowDown</Code>')])
    await expect(client.send(get)).rejects.toMatchObject({ kind: 'unavailable', cause: '<Code>SlowDown</Code>' })
    expect(asked()).toBe(2)
  })

  it.each([
    [404, '<Code>NoSuchKey</Code>', 'missing'],
    [412, '<Code>PreconditionFailed</Code>', 'changed'],
    [416, '<Code>InvalidRange</Code>', 'range'],
  ])('classifies a GET response %d with %s: %s', async (code, words, kind) => {
    const { client, asked } = await ask([status(code, words)])
    await expect(client.send(get)).rejects.toMatchObject({ name: 'StorageError', kind })
    expect(asked()).toBe(1)
  })

  it.each([
    ['GET', 404, '<Code>NoSuchBucket</Code>'],
    ['GET', 404, 'default backend - 404'],
    ['PUT', 404, '<Code>NoSuchBucket</Code>'],
    ['PUT', 404, '<Code>NoSuchKey</Code>'],
    ['PUT', 412, '<Code>PreconditionFailed</Code>'],
    ['PUT', 416, ''],
  ] as const)('takes the answer to a %s of %d with %s for an outage', async (method, code, words) => {
    const { client, asked } = await ask([status(code, words)])
    await expect(client.send({ ...get, method })).rejects.toMatchObject({ kind: 'unavailable' })
    expect(asked()).toBe(2)
  })

  it.each([
    ['by its length', status(200, 'x'.repeat(101))],
    ['by its bytes', (_request, response) => void response.writeHead(200).end('x'.repeat(101))],
  ] as [string, RequestListener][])('rejects a body longer than maxBytes, %s', async (_name, answer) => {
    const { client, asked } = await ask([answer])
    await expect(client.send(get)).rejects.toMatchObject({ kind: 'changed' })
    expect(asked()).toBe(1)
  })

  it('aborts while it waits for a connection', async () => {
    // An address reserved for documentation, which never responds.
    client = createObjectClient({ ...store, endpoint: 'http://192.0.2.1:9' })
    const stop = new AbortController()
    const asking = client.send({ ...get, signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(asking).rejects.toMatchObject({ kind: 'unavailable', cause: { message: 'enough' } })
  })

  it('aborts without a retry', async () => {
    const stop = new AbortController()
    const { client, asked } = await ask([() => stop.abort()])
    await expect(client.send({ ...get, signal: stop.signal })).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(client.send({ ...get, signal: stop.signal })).rejects.toMatchObject({ kind: 'unavailable' })
    expect(asked()).toBe(1)
  })
})
