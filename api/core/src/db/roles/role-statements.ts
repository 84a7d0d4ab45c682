import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../database.ts'
import { type Privilege, privilegesOf, sequencesOf } from './privileges.ts'
import { type ProcessRole, processRoles } from './table-rights.ts'

/** Roles are global to the server, so the database name keeps installations apart. */
export const roleName = (database: string, role: ProcessRole): string => `${database}_${role}`

const nameBytesMax = 63

export type Place = { readonly database: string; readonly schema: string; readonly owner: string }

export async function readPlace(db: Db): Promise<Place> {
  const { rows } = await sql<Place>`
    select current_database() as database, current_schema() as schema,
           coalesce((select pg_get_userbyid(relowner) from pg_class where oid = to_regclass('kysely_migration')),
                    current_user) as owner`.execute(db)
  const [place] = rows
  if (place === undefined) throw new Error('the database returned no name')
  return place
}

/** @throws Error if the database name is too long for role names */
export function checkNames({ database }: Place): void {
  const tooLong = processRoles
    .map((role) => roleName(database, role))
    .find((name) => Buffer.byteLength(name) > nameBytesMax)
  if (tooLong === undefined) return
  throw new Error(
    `the role name ${tooLong} has more than ${nameBytesMax} bytes: ` +
      'give the database a shorter name, or keep one URL for all processes',
  )
}

export const quoted = (name: string): string => pg.escapeIdentifier(name)

/** Creates a missing role without a password, so it cannot log in yet. */
export function createRole(name: string): string {
  const literal = pg.escapeLiteral(name)
  const missing = `not exists (select from pg_roles where rolname = ${literal})`
  return `do $matte$ begin if ${missing} then create role ${quoted(name)} login; end if; end $matte$`
}

/** Limits of the role, because a process behind a transaction pooler cannot set them. */
export const limitRole = (name: string): readonly string[] => [
  `alter role ${quoted(name)} set statement_timeout = '30s'`,
  `alter role ${quoted(name)} set idle_in_transaction_session_timeout = '5s'`,
]

/** By default every user may create temporary tables and, in older versions, tables. */
export const closeToPublic = ({ database, schema }: Place): readonly string[] => [
  `revoke create on schema ${quoted(schema)} from public`,
  `revoke create, temporary on database ${quoted(database)} from public`,
]

export const openTo = ({ database, schema }: Place, name: string): readonly string[] => [
  `grant connect on database ${quoted(database)} to ${quoted(name)}`,
  `grant usage on schema ${quoted(schema)} to ${quoted(name)}`,
]

/** Grants of one process; tables outside `present` belong to another release. */
export function grantsOf(role: ProcessRole, name: string, present: ReadonlySet<string>): string[] {
  const grants = [...Map.groupBy(privilegesOf([role]), ({ table }) => table)]
    .filter(([table]) => present.has(table))
    .map(([table, privileges]) => `grant ${listPrivileges(privileges)} on ${quoted(table)} to ${quoted(name)}`)
  const sequences = sequencesOf([role]).filter((sequence) => present.has(sequence))
  return [...grants, ...sequences.map((one) => `grant usage on sequence ${quoted(one)} to ${quoted(name)}`)]
}

/** `select, update (status, due_at)` */
const listPrivileges = (privileges: readonly Privilege[]): string =>
  [...Map.groupBy(privileges, ({ privilege }) => privilege)]
    .map(([privilege, some]) => {
      const columns = some.flatMap(({ column }) => column ?? [])
      return columns.length === 0 ? privilege : `${privilege} (${columns.map(quoted).join(', ')})`
    })
    .join(', ')

export function revokeAll({ database }: Place, tables: readonly string[], sequences: readonly string[]): string[] {
  const names = processRoles.map((role) => quoted(roleName(database, role))).join(', ')
  return [
    `revoke all on ${tables.map(quoted).join(', ')} from ${names}`,
    `revoke all on sequence ${sequences.map(quoted).join(', ')} from ${names}`,
  ]
}

const iterations = 4_096

/** The stored form of a password (RFC 5803), so statements and logs do not contain it. Printable ASCII only. */
export function scramVerifier(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
