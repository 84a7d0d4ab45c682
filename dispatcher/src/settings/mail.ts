// Settings of mail; a part of config.ts. Without SMTP_URL no mail is sent.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { ConfigError, int, optionalText, parsed, type Schema } from '@matte/core/runtime/env'

const tlsPolicies = ['required', 'opportunistic', 'off'] as const
type TlsPolicy = (typeof tlsPolicies)[number]

type SmtpServer = {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (smtps); otherwise STARTTLS. */
  readonly implicitTls: boolean
  readonly login: { readonly user: string; readonly pass: string } | undefined
}

/** Sender: the header From, and the envelope address for bounces. */
type MailSender = { readonly name: string; readonly address: string }

export const mailSettings = {
  smtpUrl: parsed<SmtpServer | undefined>(
    'SMTP_URL',
    {
      description: 'smtp:// (STARTTLS) or smtps:// (TLS) of the mail server, such as smtp://user:password@host:587',
      default: undefined,
      secret: true,
    },
    parseSmtpUrl,
  ),
  mailFrom: parsed<MailSender | undefined>(
    'MAIL_FROM',
    { description: 'sender of mails, such as Matte <no-reply@example.com>; needed with SMTP_URL', default: undefined },
    parseSender,
  ),
  smtpTls: parsed<TlsPolicy | undefined>(
    'SMTP_TLS',
    {
      description:
        'STARTTLS: required, opportunistic (if the server offers it) or off; default required, or opportunistic if ' +
        'the server is on this machine. Certificates are always verified',
      default: undefined,
    },
    parseTlsPolicy,
  ),
  smtpCaFile: optionalText('SMTP_CA_FILE', { description: 'PEM file of additional certificate authorities' }),
  mailConnectSeconds: int('MAIL_CONNECT_SECONDS', {
    description: "seconds until the mail server's greeting, TLS included",
    default: 10,
    min: 1,
    max: 60,
  }),
  mailTimeoutSeconds: int('MAIL_TIMEOUT_SECONDS', {
    description: 'total seconds of one mail, from the connection to the last answer',
    default: 60,
    min: 2,
    max: 600,
  }),
  mailConcurrency: int('MAIL_CONCURRENCY', {
    description: 'connections to the mail server at once in this process',
    default: 4,
    min: 1,
    max: 64,
  }),
  mailsPerMinute: int('MAIL_PER_MINUTE', {
    description: 'maximum mails that this process starts per minute; 0: unlimited',
    default: 0,
    max: 100_000,
  }),
  appUrl: parsed<string | undefined>(
    'APP_URL',
    { description: 'base URL of links in mails, such as https://app.example.com', default: undefined },
    parseAppUrl,
  ),
  supportUrl: parsed<string | undefined>(
    'SUPPORT_URL',
    {
      description:
        'contact of the operator, https:// or mailto:; linked in mails about two-factor authentication, which only an ' +
        'operator can reset',
      default: undefined,
    },
    parseSupportUrl,
  ),
} as const satisfies Schema

/** Settings of the mail server, checked together. */
export type MailServer = SmtpServer & {
  readonly from: MailSender
  readonly tls: TlsPolicy
  /** PEM certificates of additional authorities. */
  readonly ca: string | undefined
}

type Read = {
  readonly smtpUrl: SmtpServer | undefined
  readonly mailFrom: MailSender | undefined
  readonly smtpTls: TlsPolicy | undefined
  readonly smtpCaFile: string | undefined
}

/** Undefined: no mail server. @throws ConfigError */
export function readMailServer({ smtpUrl, mailFrom, smtpTls, smtpCaFile }: Read): MailServer | undefined {
  if (smtpUrl === undefined) return undefined
  if (mailFrom === undefined) throw new ConfigError('MAIL_FROM is missing: SMTP_URL is set, and mails need a sender')
  const tls = smtpTls ?? (isLoopback(smtpUrl.host) ? 'opportunistic' : 'required')
  return { ...smtpUrl, from: mailFrom, tls, ca: smtpCaFile === undefined ? undefined : readAuthorities(smtpCaFile) }
}

function readAuthorities(path: string): string {
  try {
    const text = readFileSync(path, 'utf8')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  } catch (cause) {
    throw new ConfigError(`SMTP_CA_FILE cannot be read: ${cause instanceof Error ? cause.message : 'unknown'}`)
  }
  throw new ConfigError('SMTP_CA_FILE has no certificate: it must be a PEM file')
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

function parseSmtpUrl(value: string): SmtpServer {
  const url = URL.parse(value)
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '') {
    throw new Error('must be an smtp:// or smtps:// URL')
  }
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw new Error('must have no path, query or fragment')
  }
  if ((url.username === '') !== (url.password === '')) throw new Error('must have both user and password, or neither')
  const implicitTls = url.protocol === 'smtps:'
  const bare = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    host: isIP(bare) === 0 ? url.hostname : bare,
    port: url.port === '' ? (implicitTls ? 465 : 587) : Number(url.port),
    implicitTls,
    login:
      url.username === ''
        ? undefined
        : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
  }
}

function parseSender(value: string): MailSender {
  const [, quoted, plain, address = ''] =
    /^(?:(?:"([^"\r\n]*)"|([^"<>\r\n]*?))\s*<([^<>\s]+)>)$/.exec(value.trim()) ?? []
  const sender = address === '' ? { name: '', address: value.trim() } : { name: quoted ?? plain ?? '', address }
  if (!/^[^\s@<>"]+@[^\s@<>"]+$/.test(sender.address)) {
    throw new Error('must be an address, or a name and an address in angle brackets')
  }
  return sender
}

function parseTlsPolicy(value: string): TlsPolicy {
  const known = tlsPolicies.find((each) => each === value)
  if (known === undefined) throw new Error(`must be one of ${tlsPolicies.join(', ')}`)
  return known
}

function parseAppUrl(value: string): string {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new Error('must be an http or https URL without query and fragment')
  }
  return url.href.replace(/\/$/, '')
}

function parseSupportUrl(value: string): string {
  const url = URL.parse(value)
  if (url === null || !/^(https?|mailto):$/.test(url.protocol)) throw new Error('must be an https:// or mailto: URL')
  return url.href
}
