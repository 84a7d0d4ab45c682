// The SQL of roles. A statement is printed for psql and run by `apply-roles.ts` alike, so it has no parameters.
import pg from 'pg'
import { type Privilege, privilegesOf, sequencesOf } from './privileges.ts'
import { type Place, roleName } from './role-names.ts'
import { type ProcessRole, processRoles } from './table-rights.ts'

export const quoted = (name: string): string => pg.escapeIdentifier(name)

/** Makes the role if it is missing, without a password, so it cannot log in by one yet. */
export function createRole(name: string): string {
  const literal = pg.escapeLiteral(name)
  const body = `if not exists (select from pg_roles where rolname = ${literal}) then create role ${quoted(name)} login; end if;`
  return `do $matte$ begin ${body} end $matte$`
}

/** Limits of single statements; a process behind a pooler in transaction mode cannot set them. */
export const limitRole = (name: string): readonly string[] => [
  `alter role ${quoted(name)} set statement_timeout = '30s'`,
  `alter role ${quoted(name)} set idle_in_transaction_session_timeout = '5s'`,
]

/** What PostgreSQL lets everybody do by default: make tables, temporary ones too. */
export const closeToPublic = ({ database, schema }: Place): readonly string[] => [
  `revoke create on schema ${quoted(schema)} from public`,
  `revoke create, temporary on database ${quoted(database)} from public`,
]

export const openTo = ({ database, schema }: Place, name: string): readonly string[] => [
  `grant connect on database ${quoted(database)} to ${quoted(name)}`,
  `grant usage on schema ${quoted(schema)} to ${quoted(name)}`,
]

/** Grants of one process; tables that are not in `present` belong to another release and are left out. */
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

/** Takes back everything that a role of this database has been granted on these tables and sequences. */
export function revokeAll({ database }: Place, tables: readonly string[], sequences: readonly string[]): string[] {
  const names = processRoles.map((role) => quoted(roleName(database, role))).join(', ')
  return [
    `revoke all on ${tables.map(quoted).join(', ')} from ${names}`,
    `revoke all on sequence ${sequences.map(quoted).join(', ')} from ${names}`,
  ]
}
