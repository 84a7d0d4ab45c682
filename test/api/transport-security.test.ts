// Strict-Transport-Security on every response of an API whose callers use HTTPS, whichever part writes it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useApi } from './given.ts'

const name = 'strict-transport-security'

/** An object store that sends the header too, or fails. */
const store = createServer((incoming, outgoing) => {
  outgoing.writeHead(incoming.url?.endsWith('/failing') ? 503 : 200, { [name]: 'max-age=1; includeSubDomains' }).end()
})
const variables: Record<string, string> = { PUBLIC_URL: 'https://matte.example.com', CONSOLE_ENABLED: 'true' }
beforeAll(async () => {
  store.listen(0, '127.0.0.1')
  await once(store, 'listening')
  variables.S3_ENDPOINT = `http://127.0.0.1:${(store.address() as AddressInfo).port}`
})
afterAll(() => void store.close())

/** Header of a response, all in text. */
async function sendRaw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.end(request)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

describe('with an https PUBLIC_URL', () => {
  const world = useApi(variables)

  it.each([
    ['a success', '/api/v1/healthz'],
    ['a refused credential', '/api/v1/open/developer/tasks'],
    ['an unknown path', '/api/v1/none'],
    ['a URL that the router refuses', '/%zz'],
    ['the document', '/api/v1/openapi.json'],
    ['the console', '/'],
    ['the documentation', '/docs'],
    ['a forged result link', '/files/results/2026/11/a/b.png'],
    ['an object of the gateway', '/matte/there'],
    ['a failing store', '/matte/failing'],
  ])('%s carries it', async (_what, path) => {
    const response = await fetch(`${world.api.url}${path}`, { redirect: 'manual', headers: { accept: 'text/html' } })
    expect(response.headers.get(name)).toBe('max-age=31536000')
  })

  it('an event stream carries it', async () => {
    const { apiKey } = await world.caller()
    const left = new AbortController()
    const url = `${world.api.url}/api/v1/open/developer/webhooks/stream`
    const response = await fetch(url, { headers: { 'x-api-key': apiKey }, signal: left.signal })
    expect([response.status, response.headers.get(name)]).toEqual([200, 'max-age=31536000'])
    left.abort()
  })

  it('a response to a request that is no HTTP carries it', async () => {
    const answer = await sendRaw(world.api.url, 'no HTTP\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain(`\r\n${name}: max-age=31536000\r\n`)
  })
})

describe('with HSTS_MAX_AGE_SECONDS of 0', () => {
  const world = useApi({ PUBLIC_URL: 'https://matte.example.com', HSTS_MAX_AGE_SECONDS: '0' })

  it('a response makes browsers forget it', async () => {
    const response = await fetch(`${world.api.url}/api/v1/none`)
    expect(response.headers.get(name)).toBe('max-age=0')
  })
})

describe('with an http PUBLIC_URL', () => {
  const world = useApi()

  it.each(['/api/v1/none', '/%zz'])('a response at %s does not carry it', async (path) => {
    const response = await fetch(`${world.api.url}${path}`)
    expect(response.headers.get(name)).toBeNull()
  })
})
