// Security of pages in a browser: headers, cross-site forms, addresses in logs, and user input.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { order } from '../support/app/payments.ts'
import { givenPerson } from '../support/app/people.ts'
import { visit } from '../support/app/visitor/browser.ts'
import { useDatabase } from '../support/database.ts'

const paths = [
  ...['/verify-email', '/verify-email/resend', '/forgot-password', '/reset-password', '/register', '/login'],
  ...['/login/code', '/confirm-email', '/confirm-email/code', '/teams/accept', '/teams/accept/code', '/checkout'],
  '/billing',
]
const forms = paths.filter((path) => path !== '/billing')
const evil = `"><script>alert(1)</script>`

describe('every page', () => {
  const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
  const at = (path: string) => `${world.api.url}/api/v1/app/pages${path}`

  it.each(paths)('%s has a strict policy, no frames, no referrer and no caching', async (path) => {
    const { headers, html } = await visit(at(`${path}?token=nothing`))
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    )
    expect(Object.fromEntries(headers)).toMatchObject({
      ...{ 'content-type': 'text/html; charset=utf-8', 'x-content-type-options': 'nosniff' },
      ...{ 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
    })
    expect(html).not.toMatch(/<script|<style|\sstyle=|\son\w+=|javascript:|https?:\/\/(?!127\.0\.0\.1)/i)
    expect(html).toMatch(/<html lang="en">[\s\S]*<meta name="viewport"[\s\S]*<main>\s*<h1>/)
  })

  it.each(paths)('%s is in German for a browser that prefers it', async (path) => {
    const [english, german] = await Promise.all(
      ['en', 'de-AT,de;q=0.9,en;q=0.8'].map((language) =>
        visit(at(path), { headers: { 'accept-language': language } }),
      ),
    )
    expect(german?.html).toContain('<html lang="de">')
    expect(german?.heading).not.toBe(english?.heading)
    const shape = ({ html = '' } = {}) => html.match(/<\/?[a-z]+\d?|(name|id|href|action)="[^"]*"/g)
    expect(shape(german)).toEqual(shape(english))
  })

  it('explains errors in German, beside their fields', async () => {
    const body = new URLSearchParams({ email: 'ada', password: 'kurz' })
    const headers = { 'accept-language': 'de', 'sec-fetch-site': 'same-origin' }
    const { html, text } = await visit(at('/register'), { method: 'POST', body, headers })
    expect(html).toContain('<title>Fehler: Konto anlegen · Matte</title>')
    expect(text).toContain('Korrigieren Sie die markierten Felder')
    expect(text).toContain('E-Mail-Adresse muss eine E-Mail-Adresse sein.')
    expect(text).toContain('Passwort muss mindestens 12 Zeichen haben.')
    const login = new URLSearchParams({ email: 'nobody@example.com', password: 'amber kettle over slate' })
    const refused = await visit(at('/login'), { method: 'POST', body: login, headers })
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('oder das Passwort ist falsch.')])
  })

  it.each(paths)('%s labels each field and has one heading', async (path) => {
    const { html } = await visit(at(path))
    const fields = [...html.matchAll(/<input(?! type="hidden")[^>]*? id="([^"]+)"/g)].map(([, id]) => id)
    for (const id of fields) expect(html).toContain(`<label for="${id}">`)
    expect(html.match(/<h1>/g)).toHaveLength(1)
  })

  it.each(forms)('%s escapes user input, and keeps the headers in errors', async (path) => {
    const body = new URLSearchParams({
      ...{ token: evil, email: evil, password: evil, newPassword: evil, name: evil, code: evil },
      ...{ mfaToken: evil, referralCode: evil, outcome: evil },
    })
    const { html, status, headers } = await visit(at(path), { method: 'POST', body })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(html).not.toContain('<script')
    expect(html).not.toMatch(/type="password"[^>]*value=/)
    expect(headers.get('content-security-policy')).toContain("default-src 'self'")
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it.each(forms)('%s rejects forms from other sites, and bodies that are no forms', async (path) => {
    const body = new URLSearchParams({ email: 'ada@example.com', password: 'correct horse battery' })
    const elsewhere = [
      { 'sec-fetch-site': 'cross-site', origin: 'null' },
      { 'sec-fetch-site': 'same-site', origin: world.api.url },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
    ]
    for (const headers of elsewhere) {
      const { status, heading } = await visit(at(path), { method: 'POST', body, headers })
      expect([status, heading]).toEqual([403, 'This was refused'])
    }
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
      const headers = { 'content-type': type, 'sec-fetch-site': 'same-origin' }
      const { status, html } = await visit(at(path), { method: 'POST', body: '{}', headers })
      expect([status, html]).toEqual([400, expect.stringContaining('<!doctype html>')])
    }
  })

  it('loads stylesheet and icon from this origin', async () => {
    const { html } = await visit(at('/login'))
    const files = [...html.matchAll(/(?:href|src)="([^"]+\.(?:css|svg))"/g)].map(([, path]) => path)
    expect(files.length).toBeGreaterThan(1)
    for (const path of files) expect((await fetch(`${world.api.url}${path}`)).status).toBe(200)
  })

  it('is in no document of the API', async () => {
    const document = await (await fetch(`${world.api.url}/api/v1/openapi.json`)).text()
    expect(document).not.toContain('/app/pages/')
  })
})

describe('a client over the rate limit', () => {
  const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '3' })

  it('gets a page with the time to wait', async () => {
    const url = `${world.api.url}/api/v1/app/pages/login`
    for (let i = 0; i < 3; i += 1) expect((await visit(url)).status).toBe(200)
    const { status, heading, headers } = await visit(url)
    expect([status, heading]).toEqual([429, 'Too many requests'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(headers.get('content-security-policy')).toContain("default-src 'self'")
  })
})

describe('with registration closed', () => {
  const world = useApi({ AUTH_REGISTRATION: 'closed' })

  it('there is no registration page and no link to one', async () => {
    const at = (path: string) => visit(`${world.api.url}/api/v1/app/pages${path}`)
    expect(await at('/register')).toMatchObject({ status: 404, heading: 'There is no such page' })
    expect((await at('/teams/accept')).html).not.toContain('/register')
  })
})

describe('the query of a link', () => {
  const database = useDatabase()
  const token = 'secret-token-of-a-link'
  let logged = ''
  let traced = ''
  let collector: Server
  let api: TestApi

  beforeAll(async () => {
    collector = createServer((incoming, outgoing) => {
      incoming.on('data', (bytes: Buffer) => {
        traced += bytes.toString()
      })
      incoming.on('end', () => outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
    })
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
    const { port } = collector.address() as AddressInfo
    const log = new Writable({
      write: (chunk, _encoding, done) => {
        logged += String(chunk)
        done()
      },
    })
    const environment = { DATABASE_URL: database.url, LOG_LEVEL: 'trace' }
    const variables = { ...environment, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
    api = await startApi(variables, pino({ level: 'trace' }, log))
  })
  afterAll(() => {
    collector.close()
    collector.closeAllConnections()
  })

  it('is in no log, trace or metric, whatever the outcome of the request', async () => {
    const pages = `${api.url}/api/v1/app/pages`
    for (const path of paths) {
      await visit(`${pages}${path}?token=${token}`)
      await visit(`${pages}${path}?token=${token}`, { method: 'POST', body: new URLSearchParams({ token }) })
    }
    const odd = ['/nothing', '/%zz', '/login/../verify-email']
    for (const path of odd) await visit(`${pages}${path}?token=${token}`)
    await fetch(`${api.url}/verify-email?token=${token}`, { method: 'PUT' })
    const buyer = await givenPerson(database.db, api)
    const { checkoutUrl } = await order(buyer, { packId: 'small' })
    await (await visit(checkoutUrl ?? '')).submit({}, { button: 'succeed' })
    const metrics = await (await fetch(`${api.healthUrl}/metrics`)).text()
    await api.stop() // pending spans are exported at the end
    const signature =
      URL.parse(checkoutUrl ?? '')
        ?.searchParams.get('token')
        ?.split('.')[1] ?? ''
    expect(logged).toContain('/api/v1/app/pages/verify-email')
    expect(traced).toContain('/api/v1/app/pages/verify-email')
    expect(metrics).toContain('/api/v1/app/pages/verify-email')
    for (const [name, text] of Object.entries({ logged, traced, metrics })) {
      expect(text.includes(token), `${name} has the token`).toBe(false)
      expect(text.includes(signature), `${name} has the signature`).toBe(false)
    }
  })
})
