import { ConfigError, choice, type Infer, optionalSecret, type Schema, secret } from './runtime/env.ts'

export const databaseSettings = {
  databaseUrl: secret('DATABASE_URL', { description: 'PostgreSQL 15 to 18, as a postgresql:// URL' }),
  databasePooler: choice('DATABASE_POOLER', ['session', 'transaction'], {
    description: 'transaction if DATABASE_URL is a pooler in transaction mode',
    default: 'session',
  }),
  databaseDirectUrl: optionalSecret('DATABASE_DIRECT_URL', {
    description: 'for migrations: the same database without a pooler in transaction mode; absent: DATABASE_URL',
  }),
} as const satisfies Schema

export type Connection = {
  readonly url: string
  readonly pooler: 'session' | 'transaction'
  /** For statements that need their own server session. */
  readonly directUrl: string
}

/** @throws ConfigError if a transaction pooler is the only route to the database */
export function connectionOf(settings: Infer<typeof databaseSettings>): Connection {
  const { databaseUrl: url, databasePooler: pooler, databaseDirectUrl: directUrl } = settings
  if (pooler === 'transaction' && directUrl === undefined) {
    throw new ConfigError(
      'DATABASE_DIRECT_URL is missing: with DATABASE_POOLER=transaction migrations need a URL of PostgreSQL itself',
    )
  }
  return { url, pooler, directUrl: directUrl ?? url }
}
