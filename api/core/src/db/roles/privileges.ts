import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Tables } from '../tables/index.ts'
import { type ProcessRole, type Rights, sequenceRights, tableRights } from './table-rights.ts'

export type Privilege = {
  readonly table: string
  readonly privilege: 'select' | 'insert' | 'update' | 'delete'
  readonly column?: string
}

/** Kysely's migration table, read by every process. */
const readByAll = ['kysely_migration']

export const privilegesOf = (roles: readonly ProcessRole[]): readonly Privilege[] => [
  ...readByAll.map((table) => ({ table, privilege: 'select' as const })),
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

/** Sequences used by these processes. Identity columns need no privilege. */
export const sequencesOf = (roles: readonly ProcessRole[]): readonly string[] =>
  Object.entries(sequenceRights).flatMap(([name, users]) => (roles.some((role) => users.includes(role)) ? [name] : []))

/** Privileges that a role lacks, such as `select on task`; none for a superuser or the owner. */
export async function missingPrivileges(db: Db, roles: readonly ProcessRole[], role?: string): Promise<string[]> {
  const wanted = privilegesOf(roles)
  const user = role === undefined ? sql`current_user` : sql`${role}::name`
  const { rows } = await sql<{ missing: string }>`
    select w.privilege || coalesce(' (' || w.column_name || ')', '') || ' on ' || w.table_name as missing
      from unnest(${wanted.map(({ table }) => table)}::text[], ${wanted.map(({ privilege }) => privilege)}::text[],
                  ${wanted.map(({ column }) => column ?? null)}::text[]) as w (table_name, privilege, column_name)
      join pg_class c on c.oid = to_regclass(quote_ident(w.table_name))
      left join pg_attribute a on a.attrelid = c.oid and a.attname = w.column_name and not a.attisdropped
     where case when w.column_name is null then not has_table_privilege(${user}, c.oid, w.privilege)
                else not has_column_privilege(${user}, c.oid, a.attnum, w.privilege) end
    union all
    select 'usage on sequence ' || s.name from unnest(${sequencesOf(roles)}::text[]) as s (name)
      join pg_class c on c.oid = to_regclass(quote_ident(s.name))
     where not has_sequence_privilege(${user}, c.oid, 'usage')`.execute(db)
  return rows.map(({ missing }) => missing)
}

export async function mayMigrate(db: Db): Promise<boolean> {
  const { rows } = await sql<{ may: boolean | null }>`
    select coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('kysely_migration')),
                    has_schema_privilege(current_schema(), 'create')) as may`.execute(db)
  return rows[0]?.may === true
}
