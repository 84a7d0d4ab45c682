import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { type ProcessRole, processRoles } from './table-rights.ts'

/** Roles belong to the server and privileges to a database, so the database's name keeps installations apart. */
export const roleName = (database: string, role: ProcessRole): string => `${database}_${role}`

/** Longest name that PostgreSQL keeps whole. */
const nameBytesMax = 63

/** `owner` has the tables. */
export type Place = { readonly database: string; readonly schema: string; readonly owner: string }

export async function readPlace(db: Db): Promise<Place> {
  const { rows } = await sql<Place>`
    select current_database() as database, current_schema() as schema,
           coalesce((select pg_get_userbyid(relowner) from pg_class where oid = to_regclass('kysely_migration')),
                    current_user) as owner`.execute(db)
  const [place] = rows
  if (place === undefined) throw new Error('the database did not say its name')
  return place
}

/** @throws Error when the database's name leaves no room for the name of a role */
export function checkNames({ database }: Place): void {
  const tooLong = processRoles
    .map((role) => roleName(database, role))
    .find((name) => Buffer.byteLength(name) > nameBytesMax)
  if (tooLong === undefined) return
  throw new Error(
    `the role ${tooLong} would have a name of more than ${nameBytesMax} bytes: ` +
      'give the database a shorter name, or keep one URL for all processes',
  )
}
