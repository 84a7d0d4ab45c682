import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { checkTls, tlsSettings } from './required-tls.ts'

const all = ['database', 'nats', 'store'] as const
const anyFile = encodeURIComponent(fileURLToPath(import.meta.url))
const databaseUrl = (query: string): string => `postgresql://matte:the-password@db.example/matte${query}`
const plain = {
  ...{
    databaseUrl: databaseUrl(''),
    databaseDirectUrl: databaseUrl('?sslmode=disable'),
    natsUrl: 'nats://the-token@nats',
  },
  ...{ s3Endpoint: 'http://s3', s3PublicEndpoint: 'http://images', toEndpoint: 'http://new' },
}

afterEach(() => vi.unstubAllEnvs())

describe('connections that must use TLS', () => {
  it.each(['prefer', 'require', 'verify-ca', 'verify-full'])(
    'include sslmode=%s, because the driver verifies authority and name in each',
    (mode) => {
      expect(() => checkTls({ tlsRequired: all, databaseUrl: databaseUrl(`?sslmode=${mode}`) })).not.toThrow()
    },
  )

  it.each([
    ['', 'has no TLS: add sslmode=verify-full'],
    ['?sslmode=disable', 'has no TLS: add sslmode=verify-full'],
    ['?ssl=0', 'has no TLS: add sslmode=verify-full'],
    ['?sslmode=no-verify', 'does not verify the certificate'],
    ['?uselibpqcompat=true&sslmode=require', 'does not verify the certificate'],
    [`?uselibpqcompat=true&sslmode=verify-ca&sslrootcert=${anyFile}`, 'does not verify the certificate'],
    ['?sslmode=verify-full&sslrootcert=/nowhere/ca.crt', 'is no URL of PostgreSQL, or names a file that is missing'],
  ])('exclude a database URL with %j', (query, error) => {
    expect(() => checkTls({ tlsRequired: all, databaseUrl: databaseUrl(query) })).toThrow(`DATABASE_URL ${error}`)
  })

  it('follow PGSSLMODE for a URL that says nothing', () => {
    vi.stubEnv('PGSSLMODE', 'verify-full')
    expect(() => checkTls({ tlsRequired: all, databaseUrl: databaseUrl('') })).not.toThrow()
    expect(() => checkTls({ tlsRequired: all, databaseUrl: databaseUrl('?sslmode=disable') })).toThrow('has no TLS')
    vi.stubEnv('PGSSLMODE', 'no-verify')
    expect(() => checkTls({ tlsRequired: all, databaseUrl: databaseUrl('') })).toThrow('does not verify')
  })

  it('are listed with every variable at fault, without any value', () => {
    const check = () => checkTls({ tlsRequired: all, ...plain })
    const variables = [
      'DATABASE_URL',
      'DATABASE_DIRECT_URL',
      'NATS_URL',
      'S3_ENDPOINT',
      'S3_PUBLIC_ENDPOINT',
      'TO_S3_ENDPOINT',
    ]
    for (const variable of variables) expect(check).toThrow(`\n${variable} has no TLS: `)
    expect(check).not.toThrow(/the-password|the-token|db\.example|images/)
  })

  it('do not allow a process to skip the verification of certificates', () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const natsUrl = 'tls://nats'
    expect(() => checkTls({ tlsRequired: ['nats'], natsUrl })).toThrow(
      /^[^\n]*\nNODE_TLS_REJECT_UNAUTHORIZED=0 turns the verification of every certificate off: remove it/,
    )
    expect(() => checkTls({ tlsRequired: [], natsUrl })).not.toThrow()
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '1')
    expect(() => checkTls({ tlsRequired: ['nats'], natsUrl })).not.toThrow()
  })

  it('are only those that are named', () => {
    expect(() => checkTls({ tlsRequired: [], ...plain })).not.toThrow()
    expect(() => checkTls({ tlsRequired: ['nats'], ...plain })).toThrow(
      /^[^\n]*\nNATS_URL[^\n]*add nats to the chart's value[^\n]*$/,
    )
    const { parse } = tlsSettings.tlsRequired
    expect(parse('database, store')).toEqual(['database', 'store'])
    expect(() => parse('objectStore')).toThrow('must be names of database, nats, store')
  })
})
