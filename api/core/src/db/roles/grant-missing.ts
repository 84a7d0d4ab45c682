import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { grantsOf } from './grant-statements.ts'
import { missingPrivileges } from './missing-privileges.ts'
import { readPlace, roleName } from './role-names.ts'
import { type ProcessRole, processRoles } from './table-rights.ts'

type LackingRole = { readonly role: ProcessRole; readonly name: string }

/** Roles of this database that lack a privilege of this build; none when every process uses one URL. */
export async function rolesThatLack(db: Db): Promise<readonly LackingRole[]> {
  const lacking: LackingRole[] = []
  for (const one of await existingRoles(db)) {
    if ((await missingPrivileges(db, [one.role], one.name)).length > 0) lacking.push(one)
  }
  return lacking
}

/**
 * Grants what this build needs to the roles that exist and lack it; returns their names. Nothing is revoked, since
 * processes of the release before go on beside this one; `matte-admin database roles` prints the statements for that.
 */
export async function grantMissing(db: Db): Promise<readonly string[]> {
  const lacking = await rolesThatLack(db)
  if (lacking.length === 0) return []
  const present = await presentRelations(db)
  await db.transaction().execute(async (tx) => {
    await lockRoles(tx)
    for (const { role, name } of lacking) {
      for (const statement of grantsOf(role, name, present)) await sql.raw(statement).execute(tx)
    }
  })
  return lacking.map(({ name }) => name)
}

/** Two grants at once would change the same rows of the catalog, which PostgreSQL refuses. */
export const lockRoles = (tx: Db) => sql`select pg_advisory_xact_lock(hashtext('matte.roles'))`.execute(tx)

async function existingRoles(db: Db): Promise<LackingRole[]> {
  const { database } = await readPlace(db)
  const named = processRoles.map((role) => ({ role, name: roleName(database, role) }))
  const { rows } = await sql<{ name: string }>`
    select rolname as name from pg_roles where rolname = any(${named.map(({ name }) => name)}::text[])`.execute(db)
  return named.filter(({ name }) => rows.some((row) => row.name === name))
}

/** Tables and sequences of the schema that is there, which may be a newer release's. */
export async function presentRelations(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
     where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'S')`.execute(db)
  return new Set(rows.map(({ name }) => name))
}
