import type { Db } from '../database.ts'
import { presentRelations } from './grant-missing.ts'
import { closeToPublic, grantsOf, openTo, revokeAll } from './grant-statements.ts'
import { sequencesOf } from './privileges.ts'
import { checkNames, readPlace, roleName } from './role-names.ts'
import { createRole, limitRole, quoted } from './role-statements.ts'
import { processRoles, tableRights } from './table-rights.ts'

const migrationTables = ['kysely_migration', 'kysely_migration_lock']

/**
 * SQL for psql that makes the roles of this database and gives each what this build needs and no more. It may run any
 * number of times. Passwords are left to psql's `\password`, which sends no readable one.
 */
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
