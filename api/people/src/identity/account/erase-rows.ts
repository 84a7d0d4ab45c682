import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { personalData } from './personal-data.ts'

/** Deletes or empties a user's rows as the list of personal data says, and those of the address if it is given. */
export async function eraseRows(tx: Db, { userId, email }: { userId: string; email?: string }): Promise<void> {
  for (const [place, { of, erased }] of Object.entries(personalData)) {
    if (of === 'workspace' || (erased !== 'rows' && 'kept' in erased)) continue
    if (of === 'address' && email === undefined) continue
    const [table = '', column = ''] = place.split('.')
    const [name, ref] = [sql.table(table), sql.ref(column)]
    const owner = of === 'person' ? sql`${ref} = ${userId}` : sql`${ref} = ${foldAddress(email ?? '')}`
    if (erased === 'rows') await sql`delete from ${name} where ${owner}`.execute(tx)
    else await sql`update ${name} set ${emptied(erased.columns)} where ${owner}`.execute(tx)
  }
}

const emptied = (columns: readonly string[]) => sql.join(columns.map((name) => sql`${sql.ref(name)} = null`))
