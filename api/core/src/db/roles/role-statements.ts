import pg from 'pg'

export const quoted = (name: string): string => pg.escapeIdentifier(name)

/** Makes the role if it is missing, without a password, so it cannot log in by one yet. */
export function createRole(name: string): string {
  const literal = pg.escapeLiteral(name)
  const missing = `not exists (select from pg_roles where rolname = ${literal})`
  return `do $matte$ begin if ${missing} then create role ${quoted(name)} login; end if; end $matte$`
}

/** Limits of single statements; a process behind a pooler in transaction mode cannot set them. */
export const limitRole = (name: string): readonly string[] => [
  `alter role ${quoted(name)} set statement_timeout = '30s'`,
  `alter role ${quoted(name)} set idle_in_transaction_session_timeout = '5s'`,
]
