// Mails to a real SMTP server: TLS modes, outcomes by response, and time limits.
import { randomUUID } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from '@matte/core/runtime/env'
import { smtpTransport } from '@matte/dispatcher/mail/smtp-transport'
import { mailSettings, readMailServer } from '@matte/dispatcher/settings/mail'
import { afterEach, describe, expect, it } from 'vitest'
import { type MailServer, type MailServerOptions, startMailServer } from './mail-server.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function given(options: MailServerOptions = {}): Promise<MailServer> {
  const server = await startMailServer(options)
  ends.push(() => server.close())
  return server
}

const trusting = async ({ ca }: MailServer) => {
  const path = join(await mkdtemp(join(tmpdir(), 'matte-mail-')), 'ca.pem')
  await writeFile(path, ca)
  return { SMTP_CA_FILE: path }
}

type Sending = { to?: string; connectMs?: number; totalMs?: number }

/** Sends one mail with settings as an operator would write them. */
async function send(url: string, settings: Record<string, string> = {}, { to, ...times }: Sending = {}) {
  const env = { SMTP_URL: url, MAIL_FROM: 'Matte <no-reply@matte.example>', ...settings }
  const server = readMailServer(parseEnv(mailSettings, env))
  if (server === undefined) throw new Error('no server')
  const { connectMs = 20_000, totalMs = 60_000 } = times
  const content = { subject: 'Grüße', text: 'Hello', html: '<p>Hello</p>' }
  const mail = { id: randomUUID(), to: to ?? 'ada@example.com', date: new Date(), ...content }
  return smtpTransport(server, { connectMs, totalMs }).send(mail, new AbortController().signal)
}

describe('TLS', () => {
  it('uses STARTTLS and verifies the certificate', async () => {
    const server = await given()
    const required = { SMTP_TLS: 'required' }
    const refused = { outcome: 'unavailable', error: expect.stringMatching(/^SERVER .*CERT/) }
    expect(await send(server.url, required)).toMatchObject(refused)
    expect(await send(server.url)).toMatchObject(refused) // offered on this machine, so TLS is used and verified
    expect(server.received).toEqual([])
    expect(await send(server.url, { ...required, ...(await trusting(server)) })).toEqual({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ isEncrypted: true, to: 'ada@example.com' }])
  })

  it('fails without sending when required and not offered', async () => {
    const server = await given({ startTls: false })
    expect(await send(server.url, { SMTP_TLS: 'required' })).toMatchObject({ outcome: 'unavailable' })
    expect(server.recipients).toEqual([])
    expect(await send(server.url)).toEqual({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ isEncrypted: false }])
  })

  it('is not used when off, even if offered', async () => {
    const server = await given()
    expect(await send(server.url, { SMTP_TLS: 'off' })).toEqual({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ isEncrypted: false }])
  })

  it('from the first byte is verified too', async () => {
    const server = await given({ implicitTls: true })
    expect(await send(server.url)).toMatchObject({ outcome: 'unavailable' })
    expect(await send(server.url, await trusting(server))).toEqual({ outcome: 'sent' })
  })
})

describe('an SMTP login', () => {
  const login = { user: 'matte', pass: 'secret' }

  it('happens encrypted', async () => {
    const server = await given({ login })
    expect(await send(server.url, await trusting(server))).toEqual({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ user: 'matte', isEncrypted: true }])
  })

  it('that is refused counts as a server failure, not as a failure of the mail', async () => {
    const server = await given({ login })
    const url = server.url.replace('secret', 'wrong')
    expect(await send(url, await trusting(server))).toMatchObject({ outcome: 'unavailable', error: 'SERVER 535 5.7.8' })
  })

  it('that the server requires but settings lack counts as a server failure too', async () => {
    const server = await given({ login })
    const url = server.url.replace('matte:secret@', '')
    expect(await send(url, await trusting(server))).toMatchObject({ outcome: 'unavailable', error: 'SERVER 530' })
  })
})

describe('a response to a mail', () => {
  const plain = { SMTP_TLS: 'off' }

  it('of 4xx defers and of 5xx refuses, recorded with its codes and without the address', async () => {
    const server = await given({
      refuseRecipient: (address) =>
        ({ 'grey@example.com': '451 4.7.1 Greylisted', 'gone@example.com': `550 5.1.1 ${address} unknown` })[address],
      refuseData: ({ to }) => (to === 'spam@example.com' ? '554 5.7.1 Not wanted' : undefined),
    })
    expect(await send(server.url, plain, { to: 'grey@example.com' })).toEqual({
      outcome: 'deferred',
      error: '451 4.7.1',
    })
    expect(await send(server.url, plain, { to: 'gone@example.com' })).toEqual({
      outcome: 'refused',
      error: '550 5.1.1',
    })
    expect(await send(server.url, plain, { to: 'spam@example.com' })).toEqual({
      outcome: 'refused',
      error: '554 5.7.1',
    })
    expect(server.received).toEqual([])
  })

  it('about the sender counts as a server failure', async () => {
    const server = await given({ refuseSender: () => '550 5.7.1 Not you' })
    expect(await send(server.url, plain)).toMatchObject({ outcome: 'unavailable', error: 'SERVER 550 5.7.1' })
  })

  it('that never arrives hits the total time limit', async () => {
    const server = await given({ hangs: () => true })
    const result = send(server.url, plain, { totalMs: 1_000 })
    expect(await result).toEqual({ outcome: 'timed_out', error: 'TIMED_OUT' })
  })

  it('for an address that cannot be encoded refuses the mail', async () => {
    const server = await given()
    expect(await send(server.url, plain, { to: 'a>b@example.com' })).toMatchObject({ outcome: 'refused' })
    expect(server.recipients).toEqual([])
  })
})

describe('an SMTP server', () => {
  it('that is not listening is unavailable', async () => {
    const server = await given()
    await server.close()
    expect(await send(server.url)).toMatchObject({ outcome: 'unavailable', error: 'SERVER ECONNREFUSED' })
  })

  it('that never greets is unavailable after the greeting timeout', async () => {
    const silent = createServer()
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    ends.push(() => new Promise((resolve) => silent.close(resolve)))
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : 0
    const result = send(`smtp://127.0.0.1:${port}`, {}, { connectMs: 500 })
    expect(await result).toMatchObject({ outcome: 'unavailable', error: 'SERVER ETIMEDOUT' })
  })
})

it('a mail has text and HTML, a sender, a stable id, and the header Auto-Submitted', async () => {
  const server = await given()
  await send(server.url, { SMTP_TLS: 'off' })
  const [mail] = server.received
  expect(mail?.raw).toMatch(/^From: Matte <no-reply@matte\.example>\r$/m)
  expect(mail?.raw).toMatch(/^To: ada@example\.com\r$/m)
  expect(mail?.raw).toMatch(/^Subject: =\?UTF-8\?/m)
  expect(mail?.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  expect(mail?.raw).toMatch(/^Content-Type: multipart\/alternative/m)
  expect(mail?.messageId).toMatch(/^<[0-9a-f-]{36}@matte\.example>$/)
})
