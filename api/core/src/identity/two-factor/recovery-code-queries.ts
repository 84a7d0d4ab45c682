import type { Db } from '../../db/database.ts'
import { newRecoveryCodes } from './recovery-code.ts'

/** Ten new codes; those before them work no more. Shown this once. */
export async function replaceRecoveryCodes(tx: Db, userId: string): Promise<readonly string[]> {
  const { codes, hashes } = newRecoveryCodes()
  await tx.deleteFrom('recovery_code').where('user_id', '=', userId).execute()
  await tx
    .insertInto('recovery_code')
    .values(hashes.map((hash) => ({ user_id: userId, hash })))
    .execute()
  return codes
}

/** True: it was there, and is gone now. */
export async function takeRecoveryCode(tx: Db, userId: string, hash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('recovery_code')
    .where('user_id', '=', userId)
    .where('hash', '=', hash)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
