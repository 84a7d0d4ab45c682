// SQL of privileges. A statement is printed for psql and run by `apply-roles.ts` alike, so it has no parameters.
import { type Privilege, privilegesOf, sequencesOf } from './privileges.ts'
import { type Place, roleName } from './role-names.ts'
import { quoted } from './role-statements.ts'
import { type ProcessRole, processRoles } from './table-rights.ts'

/** PostgreSQL lets every user create temporary tables, and in older versions tables. */
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
