// Sends each mail over a separate connection: one handshake more, but no error of one mail affects another.
import { getCACertificates } from 'node:tls'
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { MailServer } from '../settings/mail.ts'
import type { MailResult, MailTransport, OutgoingMail } from './mail-transport.ts'

type SmtpTimes = {
  /** Until the server's greeting. */
  readonly connectMs: number
  /** Whole conversation. */
  readonly totalMs: number
}

/** `sending`: the server has accepted the sender, so a later error can be about this mail. */
type Stage = { now: 'connecting' | 'sending' }

/** Time to wait for the answer to QUIT. */
const quitMs = 1_000

class TotalTimeout extends Error {}

export function smtpTransport(server: MailServer, times: SmtpTimes): MailTransport {
  return {
    send: async (mail, signal) => {
      const raw = await compose(server, mail)
      const connection = new SMTPConnection(connectionOptions(server, times))
      const stage: Stage = { now: 'connecting' }
      const envelope = { from: server.from.address, to: mail.to, size: raw.length }
      const end = endOf(times.totalMs, signal)
      try {
        await Promise.race([converse(connection, { server, envelope, raw, stage }), end.promise])
        connection.quit()
        setTimeout(() => connection.close(), quitMs).unref()
        return { outcome: 'sent' }
      } catch (error) {
        connection.close()
        if (signal.aborted) throw error
        return classify(error, stage.now)
      } finally {
        end.clear()
      }
    },
  }
}

const connectionOptions = (server: MailServer, { connectMs, totalMs }: SmtpTimes): SMTPConnection.Options => ({
  host: server.host,
  port: server.port,
  secure: server.implicitTls,
  requireTLS: !server.implicitTls && server.tls === 'required',
  ignoreTLS: !server.implicitTls && server.tls === 'off',
  tls: {
    minVersion: 'TLSv1.2',
    ...(server.ca !== undefined && { ca: [...getCACertificates('default'), server.ca] }),
  },
  dnsTimeout: connectMs,
  connectionTimeout: connectMs,
  greetingTimeout: connectMs,
  socketTimeout: totalMs,
  socketCloseTimeout: 0,
})

/** The Message-ID depends on the row alone, so receivers recognise a repeated mail. */
function compose({ from }: MailServer, { id, to, date, subject, text, html }: OutgoingMail): Promise<Buffer> {
  const composer = new MailComposer({
    from: { name: from.name, address: from.address },
    to: { name: '', address: to },
    messageId: `<${id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
    date,
    subject,
    text,
    html,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}

type Conversation = {
  readonly server: MailServer
  readonly envelope: SMTPConnection.Envelope
  readonly raw: Buffer
  readonly stage: Stage
}

/** Resolves once the server has accepted the mail. */
function converse(connection: SMTPConnection, { server, envelope, raw, stage }: Conversation): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.on('error', reject)
    // Deferred, so the answer that ended the connection is handled first.
    connection.once('end', () => setImmediate(() => reject(new Error('the connection ended'))))
    const send = (): void => {
      stage.now = 'sending'
      connection.send(envelope, raw, (error) => (error ? reject(error) : resolve()))
    }
    connection.connect((error) => {
      if (error) reject(error)
      else if (server.login === undefined) send()
      else connection.login({ credentials: server.login }, (refusal) => (refusal ? reject(refusal) : send()))
    })
  })
}

/** Rejects after `ms` or on abort. */
function endOf(ms: number, signal: AbortSignal): { readonly promise: Promise<never>; clear(): void } {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new TotalTimeout()), ms)
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  return {
    promise,
    clear: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    },
  }
}

type Refusal = Error & {
  code?: string
  originalCode?: string
  command?: string
  responseCode?: number
  response?: string
}

function classify(error: unknown, stage: Stage['now']): MailResult {
  if (!(error instanceof Error)) return { outcome: 'unavailable', error: 'SERVER unknown' }
  const { responseCode, command, code } = error as Refusal
  // Before the recipient, and when the server demands a login, it rejects the sender and not the mail.
  if (stage === 'connecting' || command === 'MAIL FROM' || responseCode === 530) {
    return { outcome: 'unavailable', error: `SERVER ${answerOf(error)}`, cause: error }
  }
  if (error instanceof TotalTimeout || code === 'ETIMEDOUT') return { outcome: 'timed_out', error: 'TIMED_OUT' }
  // The address is invalid; no server was asked.
  if (command === 'API' && code === 'EENVELOPE') return { outcome: 'refused', error: 'ADDRESS_UNUSABLE' }
  const isFinal = responseCode !== undefined && responseCode >= 500
  return { outcome: isFinal ? 'refused' : 'deferred', error: answerOf(error) }
}

/** Codes only: a server's text often repeats the address. */
function answerOf(error: Error): string {
  if (error instanceof TotalTimeout) return 'TIMED_OUT'
  const { responseCode, response = '', originalCode, code } = error as Refusal
  if (responseCode === undefined) return originalCode ?? code ?? 'CONNECTION_LOST'
  const [, enhanced] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})/.exec(response) ?? []
  return enhanced === undefined ? String(responseCode) : `${responseCode} ${enhanced}`
}
