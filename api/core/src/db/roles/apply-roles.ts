import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../database.ts'
import { lockRoles, presentRelations } from './grant-missing.ts'
import { closeToPublic, grantsOf, openTo } from './grant-statements.ts'
import { checkNames, readPlace, roleName } from './role-names.ts'
import { createRole, limitRole, quoted } from './role-statements.ts'
import { scramVerifier } from './scram-verifier.ts'
import { type ProcessRole, processRoles } from './table-rights.ts'

export type RolePasswords = Readonly<Record<ProcessRole, string>>

/**
 * Makes the roles of this database with these passwords, or changes them to these, and grants what this build needs.
 * Returns their names. Nothing that a role has is revoked: processes of the release before may still run.
 * @throws Error when the connection's role may not make roles
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
  await db.transaction().execute(async (tx) => {
    await lockRoles(tx)
    for (const statement of statements) await sql.raw(statement).execute(tx)
  })
  return named.map(({ name }) => name)
}
