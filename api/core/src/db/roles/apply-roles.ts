import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../database.ts'
import { inTransaction } from '../in-transaction.ts'
import { missingPrivileges, sequencesOf } from './privileges.ts'
import {
  checkNames,
  closeToPublic,
  createRole,
  grantsOf,
  limitRole,
  openTo,
  quoted,
  readPlace,
  revokeAll,
  roleName,
  scramVerifier,
} from './role-statements.ts'
import { type ProcessRole, processRoles, tableRights } from './table-rights.ts'

type LackingRole = { readonly role: ProcessRole; readonly name: string }

export async function rolesThatLack(db: Db): Promise<readonly LackingRole[]> {
  const lacking: LackingRole[] = []
  for (const one of await existingRoles(db)) {
    if ((await missingPrivileges(db, [one.role], one.name)).length > 0) lacking.push(one)
  }
  return lacking
}

/** Grants missing privileges and returns the roles. Revokes nothing, because the previous release may still run. */
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

/** Concurrent grants would update the same catalog rows, which PostgreSQL rejects. */
export const lockRoles = (tx: Db) => sql`select pg_advisory_xact_lock(hashtext('matte.roles'))`.execute(tx)

async function existingRoles(db: Db): Promise<LackingRole[]> {
  const { database } = await readPlace(db)
  const named = processRoles.map((role) => ({ role, name: roleName(database, role) }))
  const { rows } = await sql<{ name: string }>`
    select rolname as name from pg_roles where rolname = any(${named.map(({ name }) => name)}::text[])`.execute(db)
  return named.filter(({ name }) => rows.some((row) => row.name === name))
}

export async function presentRelations(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
     where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'S')`.execute(db)
  return new Set(rows.map(({ name }) => name))
}

export type RolePasswords = Readonly<Record<ProcessRole, string>>

/**
 * Creates the roles or sets their passwords, and grants what this build needs. Returns their names. Revokes nothing,
 * because the previous release may still run.
 * @throws Error if the connection's role may not create roles
 */
export async function applyRoles(db: Db, passwords: RolePasswords): Promise<readonly string[]> {
  const place = await readPlace(db)
  checkNames(place)
  const present = await presentRelations(db)
  const named = processRoles.map((role) => ({ role, name: roleName(place.database, role) }))
  const statements = [
    ...closeToPublic(place),
    ...named.flatMap(({ role, name }) => [
      createRole(name),
      `alter role ${quoted(name)} password ${pg.escapeLiteral(scramVerifier(passwords[role]))}`,
      ...limitRole(name),
      ...openTo(place, name),
      ...grantsOf(role, name, present),
    ]),
  ]
  await inTransaction(db, async (tx) => {
    await lockRoles(tx)
    for (const statement of statements) await sql.raw(statement).execute(tx)
  })
  return named.map(({ name }) => name)
}

const migrationTables = ['kysely_migration', 'kysely_migration_lock']

/** SQL for psql that creates the roles and grants exactly what this build needs; repeatable. */
export async function printRoles(db: Db): Promise<string> {
  const place = await readPlace(db)
  checkNames(place)
  const present = await presentRelations(db)
  const tables = [...Object.keys(tableRights), ...migrationTables].filter((name) => present.has(name))
  const sequences = sequencesOf(processRoles).filter((name) => present.has(name))
  const named = processRoles.map((role) => ({ role, name: roleName(place.database, role) }))
  const statements = [
    ...named.flatMap(({ name }) => [createRole(name), ...limitRole(name)]),
    ...closeToPublic(place),
    ...revokeAll(place, tables, sequences),
    ...named.flatMap(({ role, name }) => [...openTo(place, name), ...grantsOf(role, name, present)]),
  ]
  return `-- Roles of Matte's processes, for psql as ${quoted(place.owner)} in database ${quoted(place.database)}.
-- Creating roles needs CREATEROLE. Privileges that this release does not need are revoked.
begin;
${statements.map((statement) => `${statement};\n`).join('')}commit;
-- Set a password for each new role, in psql:
${named.map(({ name }) => `-- \\password ${quoted(name)}\n`).join('')}`
}
