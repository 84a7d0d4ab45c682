// Privileges of each process as PostgreSQL has them: one per table, or per column where the rights name columns.
import type { Tables } from '../tables/index.ts'
import { type ProcessRole, type Rights, sequenceRights, tableRights } from './table-rights.ts'

/** `column` is undefined for a privilege on the whole table. */
export type Privilege = {
  readonly table: string
  readonly privilege: 'select' | 'insert' | 'update' | 'delete'
  readonly column?: string
}

/** Kysely's table of migrations: each process compares it with its own list. */
const everybodyReads = ['kysely_migration']

/** Privileges on tables for these processes, if they share one role. */
export const privilegesOf = (roles: readonly ProcessRole[]): readonly Privilege[] => [
  ...everybodyReads.map((table) => ({ table, privilege: 'select' as const })),
  ...roles.flatMap((role) =>
    Object.entries(tableRights).flatMap(([table, byRole]) =>
      toPrivileges(table, (byRole as Partial<Record<ProcessRole, Rights<keyof Tables>>>)[role] ?? {}),
    ),
  ),
]

function toPrivileges(table: string, rights: Rights<keyof Tables>): Privilege[] {
  return (['select', 'insert', 'update', 'delete'] as const).flatMap((privilege) => {
    const given = rights[privilege]
    if (given === undefined) return []
    if (given === true) return [{ table, privilege }]
    return given.map((column) => ({ table, privilege, column: String(column) }))
  })
}

/** Sequences that these processes take numbers of. Identity columns need no privilege. */
export const sequencesOf = (roles: readonly ProcessRole[]): readonly string[] =>
  Object.entries(sequenceRights).flatMap(([name, users]) => (roles.some((role) => users.includes(role)) ? [name] : []))
