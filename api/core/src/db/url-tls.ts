import pg from 'pg'

/**
 * How the driver connects with a URL of PostgreSQL. The driver decides, because it also reads PGSSLMODE, and its
 * sslmode=require verifies authority and name, which libpq's does not.
 */
export function tlsOfUrl(url: string): 'none' | 'unverified' | 'verified' | 'unreadable' {
  let ssl: boolean | pg.ClientConfig['ssl']
  try {
    // The type declares a boolean; the driver keeps the options of TLS there.
    ssl = new pg.Client({ connectionString: url }).ssl as typeof ssl
  } catch {
    return 'unreadable'
  }
  if (!ssl) return 'none'
  const { rejectUnauthorized, checkServerIdentity } = typeof ssl === 'object' ? ssl : {}
  return rejectUnauthorized !== false && checkServerIdentity === undefined ? 'verified' : 'unverified'
}
