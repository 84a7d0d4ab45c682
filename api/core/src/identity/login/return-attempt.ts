import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'

type From = { readonly account: Buffer; readonly network: string }

/** The password was not judged, for want of room: as if it had not come. It was its turn, so it is again. */
export async function returnAttempt(db: Db, { account, network }: From): Promise<void> {
  await sql`
    update login_failure set failures = greatest(failures - 1, 0), allowed_at = least(allowed_at, now())
     where account = ${account} and network in (${network}, '')`.execute(db)
}
