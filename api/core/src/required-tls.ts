// Connections that must use TLS. The chart sets them in production; its templates cannot read the URLs in Secrets, so
// each process checks its own URLs before it connects.
import { readNatsUrls } from './bus/nats-urls.ts'
import { tlsOfUrl } from './db/url-tls.ts'
import { ConfigError, parsed, type Schema } from './runtime/env.ts'

const connections = ['database', 'nats', 'store'] as const
type Connection = (typeof connections)[number]

export const tlsSettings = {
  tlsRequired: parsed<readonly Connection[]>(
    'TLS_REQUIRED',
    {
      description:
        'connections that must use TLS with a verified certificate: database, nats, store, separated by commas; the ' +
        'process ends at its start if the URL of one says otherwise',
      default: [],
    },
    parseConnections,
  ),
} as const satisfies Schema

function parseConnections(text: string): readonly Connection[] {
  return text.split(',').map((part) => {
    const known = connections.find((each) => each === part.trim())
    if (known === undefined) throw new Error(`must be names of ${connections.join(', ')}, separated by commas`)
    return known
  })
}

type Urls = {
  readonly tlsRequired: readonly Connection[]
  readonly databaseUrl?: string | undefined
  readonly databaseDirectUrl?: string | undefined
  readonly natsUrl?: string
  readonly s3Endpoint?: string | undefined
  readonly s3PublicEndpoint?: string | undefined
  readonly toEndpoint?: string | undefined
}

/** @throws ConfigError that lists every URL without TLS by its variable, without its value, and a waived verification */
export function checkTls({ tlsRequired, ...urls }: Urls): void {
  const faults: Record<Connection, readonly (string | undefined)[]> = {
    database: [
      databaseFault('DATABASE_URL', urls.databaseUrl),
      databaseFault('DATABASE_DIRECT_URL', urls.databaseDirectUrl),
    ],
    nats: [natsFault(urls.natsUrl)],
    store: [
      storeFault('S3_ENDPOINT', urls.s3Endpoint),
      storeFault('S3_PUBLIC_ENDPOINT', urls.s3PublicEndpoint),
      storeFault('TO_S3_ENDPOINT', urls.toEndpoint),
    ],
  }
  const errors = tlsRequired.flatMap((name) => faults[name]).filter((fault) => fault !== undefined)
  if (tlsRequired.length > 0 && process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0') errors.push(unverified)
  if (errors.length > 0) throw new ConfigError(`The configuration is invalid:\n${errors.join('\n')}`)
}

const unverified =
  'NODE_TLS_REJECT_UNAUTHORIZED=0 turns the verification of every certificate off: remove it, and name private ' +
  'authorities in TRUSTED_CA_FILE'

const orAllow = (name: Connection): string =>
  `, or, if the network encrypts this connection, add ${name} to the chart's value insecure (without the chart: ` +
  'remove it from TLS_REQUIRED)'

function databaseFault(variable: string, url: string | undefined): string | undefined {
  const faults = {
    none: `has no TLS: add sslmode=verify-full to it${orAllow('database')}`,
    unverified: `does not verify the certificate of the server: set its sslmode to verify-full${orAllow('database')}`,
    unreadable: 'is no URL of PostgreSQL, or names a file that is missing: correct it',
    verified: undefined,
  }
  const fault = url === undefined ? undefined : faults[tlsOfUrl(url)]
  return fault && `${variable} ${fault}`
}

/** A nats:// connection is encrypted if the server offers TLS, and anyone in between can remove the offer. */
const natsFault = (url: string | undefined): string | undefined =>
  url === undefined || readNatsUrls(url).tls !== undefined
    ? undefined
    : `NATS_URL has no TLS: use tls:// URLs${orAllow('nats')}`

const storeFault = (variable: string, url: string | undefined): string | undefined =>
  url === undefined || URL.parse(url)?.protocol === 'https:'
    ? undefined
    : `${variable} has no TLS: use an https URL${orAllow('store')}`
