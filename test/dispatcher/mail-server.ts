// A real mail server on a free port. It keeps every mail byte for byte and responds as configured.
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { type Certificate, makeThrowAwayCertificate } from '../support/throw-away-certificate.ts'
import { until } from '../support/until.ts'

type ReceivedMail = {
  readonly to: string
  readonly raw: string
  readonly messageId: string
  readonly isEncrypted: boolean
  readonly user: string | undefined
}

export type MailServer = {
  readonly port: number
  readonly url: string
  /** PEM of its self-signed certificate, for clients to trust. */
  readonly ca: string
  readonly received: readonly ReceivedMail[]
  /** All named recipients, refused ones included. */
  readonly recipients: readonly string[]
  /** Waits for the first `count` mails. */
  until(count: number): Promise<readonly ReceivedMail[]>
  close(): Promise<void>
}

export type MailServerOptions = {
  readonly port?: number
  /** Offers STARTTLS; true by default. */
  readonly startTls?: boolean
  /** TLS from the first byte. */
  readonly implicitTls?: boolean
  /** Default: a self-signed one. */
  readonly certificate?: Certificate
  readonly login?: { readonly user: string; readonly pass: string }
  /** Refuses a sender, a recipient or a mail with this full response, such as `451 4.7.1 Later`; undefined accepts. */
  readonly refuseSender?: () => string | undefined
  readonly refuseRecipient?: (address: string, nth: number) => string | undefined
  readonly refuseData?: (mail: ReceivedMail) => string | undefined
  /** While true, takes the mail and never responds. */
  readonly hangs?: () => boolean
}

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { startTls = true, implicitTls = false, login } = options
  const { certificate, key } = options.certificate ?? makeThrowAwayCertificate()
  const received: ReceivedMail[] = []
  const recipients: string[] = []
  const server = new SMTPServer({
    secure: implicitTls,
    key,
    cert: certificate,
    hideSTARTTLS: !startTls,
    disabledCommands: [...(login ? [] : ['AUTH' as const]), ...(startTls ? [] : ['STARTTLS' as const])],
    authOptional: login === undefined,
    closeTimeout: 100,
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, callback) => {
      if (username === login?.user && password === login?.pass) callback(null, { user: username })
      else callback(failure('535 5.7.8 Wrong'))
    },
    onMailFrom: (_address, _session, callback) => callback(failure(options.refuseSender?.())),
    onRcptTo: ({ address }, _session, callback) => {
      recipients.push(address)
      const nth = recipients.filter((each) => each === address).length
      callback(failure(options.refuseRecipient?.(address, nth)))
    },
    onData: (stream, session, callback) => {
      readText(stream).then((raw) => {
        const mail = {
          to: session.envelope.rcptTo[0]?.address ?? '',
          raw,
          messageId: /^Message-ID: (.*)$/im.exec(raw)?.[1] ?? '',
          isEncrypted: session.secure,
          user: session.user,
        }
        const refusal = failure(options.refuseData?.(mail))
        if (refusal === null) received.push(mail)
        if (!options.hangs?.()) callback(refusal)
      }, callback)
    },
  })
  server.on('error', () => undefined) // the client closed the connection; the test checks whether it should have
  const port = await listen(server, options.port ?? 0)
  return {
    port,
    url: `${implicitTls ? 'smtps' : 'smtp'}://${login ? `${login.user}:${login.pass}@` : ''}127.0.0.1:${port}`,
    ca: certificate,
    received,
    recipients,
    until: (count) => until(`${count} mail(s) arrive`, () => received.length >= count && received.slice(0, count)),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

const listen = (server: SMTPServer, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })

function failure(answer: string | undefined): (Error & { responseCode: number }) | null {
  if (answer === undefined) return null
  return Object.assign(new Error(answer.slice(4)), { responseCode: Number(answer.slice(0, 3)) })
}

async function readText(stream: Parameters<NonNullable<SMTPServerOptions['onData']>>[0]): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** Settings of a dispatcher that sends to this server. */
export const mailEnv = (url: string): Record<string, string> => ({
  SMTP_URL: url,
  SMTP_TLS: 'off',
  MAIL_FROM: 'Matte <no-reply@matte.example>',
})
