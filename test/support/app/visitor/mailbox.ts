// Mails end to end: queued by the API, sent by a dispatcher to a mail server of the tests.
import { afterAll, beforeAll } from 'vitest'
import { type DispatcherProcess, spawnDispatcher } from '../../../dispatcher/dispatcher-process.ts'
import { type MailServer, mailEnv, startMailServer } from '../../../dispatcher/mail-server.ts'
import { until } from '../../until.ts'

type Sender = {
  readonly databaseUrl: string
  readonly masterKeys: string
  readonly env?: Readonly<Record<string, string>>
}

export type ReceivedMail = { readonly subject: string; readonly text: string; readonly html: string }

type Mailbox = {
  /** All mails to an address, oldest first. */
  mailsTo(address: string): readonly ReceivedMail[]
  /** Waits for a mail to the address with these words in its subject; returns the latest. */
  untilMail(address: string, subject: string): Promise<ReceivedMail>
}

/** Call in a block; use the result inside tests and hooks. `sender` is called when the block begins. */
export function useMailbox(sender: () => Sender): Mailbox {
  let server: MailServer | undefined
  let dispatcher: DispatcherProcess | undefined
  beforeAll(async () => {
    const { databaseUrl, masterKeys, env } = sender()
    server = await startMailServer({ startTls: false })
    const own = { DATABASE_URL: databaseUrl, MASTER_KEYS: masterKeys, ...mailEnv(server.url) }
    dispatcher = await spawnDispatcher({ ...own, ...env })
  })
  afterAll(async () => {
    dispatcher?.kill('SIGKILL')
    await dispatcher?.exited
    await server?.close()
  })
  const mailsTo = (address: string) => (server?.received ?? []).filter(({ to }) => to === address).map(readMail)
  const untilMail = (address: string, subject: string) =>
    until(`a mail to ${address}: ${subject}`, () => mailsTo(address).findLast((mail) => mail.subject.includes(subject)))
  return { mailsTo, untilMail }
}

/** The first link with this label in the text of a mail. */
export function linkIn({ text }: ReceivedMail, label: string): string {
  const lines = text.split('\n')
  const url = lines[lines.indexOf(`${label}:`) + 1]
  if (url === undefined || !URL.canParse(url)) throw new Error(`the mail has no link ${label}`)
  return url
}

export function readMail({ raw }: { readonly raw: string }): ReceivedMail {
  const [head = ''] = raw.split('\r\n\r\n')
  return { subject: subjectOf(head), text: partOf(raw, 'text/plain'), html: partOf(raw, 'text/html') }
}

function subjectOf(head: string): string {
  const [, subject = ''] = /^Subject: (.*(?:\r\n[ \t].*)*)$/im.exec(head) ?? []
  const joined = subject.replace(/\?=\r\n[ \t]+=\?/g, '?==?').replace(/\r\n[ \t]+/g, ' ')
  return joined.replace(/=\?UTF-8\?([QB])\?(.*?)\?=/gi, (_word, encoding: string, text: string) =>
    encoding.toUpperCase() === 'B'
      ? Buffer.from(text, 'base64').toString('utf8')
      : fromQuotedPrintable(text.replaceAll('_', ' ')),
  )
}

function partOf(raw: string, type: string): string {
  const part = raw.split(/\r\n--[^\r\n]+/).find((each) => each.includes(`Content-Type: ${type}`)) ?? ''
  const end = part.indexOf('\r\n\r\n')
  const [head, body] = [part.slice(0, end), part.slice(end + 4)]
  const [, encoding = '7bit'] = /^Content-Transfer-Encoding: (\S+)/im.exec(head) ?? []
  const decoded =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString('utf8')
      : encoding === 'quoted-printable'
        ? fromQuotedPrintable(body)
        : body
  return decoded.replaceAll('\r\n', '\n')
}

function fromQuotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_byte, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
