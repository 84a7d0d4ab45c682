import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { foldMailbox } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { type MasterKeys, seal, unseal } from '../../runtime/seal.ts'

/** HMAC of the mailbox of an address. Without a master key the address cannot be guessed from it. */
export async function hashMailbox(tx: Db, masterKeys: MasterKeys, email: string): Promise<Buffer> {
  const { id, key_sealed } = (await readKey(tx)) ?? (await makeKey(tx, masterKeys))
  const key = Buffer.from(unseal(masterKeys, id, key_sealed), 'base64')
  return createHmac('sha256', key).update(foldMailbox(email)).digest()
}

const readKey = (tx: Db) => tx.selectFrom('mailbox_key').select(['id', 'key_sealed']).executeTakeFirst()

/** When several transactions make the key at once, one key stays, and all of them read it. */
async function makeKey(tx: Db, masterKeys: MasterKeys) {
  const id = randomUUID()
  await tx
    .insertInto('mailbox_key')
    .values({ id, key_sealed: seal(masterKeys, id, randomBytes(32).toString('base64')) })
    .onConflict((conflict) => conflict.column('single').doNothing())
    .execute()
  const made = await readKey(tx)
  if (made === undefined) throw new Error('the key of free credits was deleted while it was made')
  return made
}
