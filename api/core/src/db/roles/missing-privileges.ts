import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { privilegesOf, sequencesOf } from './privileges.ts'
import type { ProcessRole } from './table-rights.ts'

/**
 * Privileges that a role lacks for these processes, such as `select on task`; none for a superuser and for the owner of
 * the tables. Without `role`, those of the connection. Tables and columns that a newer release removed are left out.
 */
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

/** The role of this connection can change the schema: it owns the tables, or may create them. */
export async function mayMigrate(db: Db): Promise<boolean> {
  const { rows } = await sql<{ may: boolean | null }>`
    select coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('kysely_migration')),
                    has_schema_privilege(current_schema(), 'create')) as may`.execute(db)
  return rows[0]?.may === true
}
