import type { Db } from '../db/database.ts'
import { type MasterKeys, seal, unseal } from '../runtime/seal.ts'
import { generateSigningSecret } from './signing-secret.ts'

/**
 * The secret that signs a workspace's callbacks (D62): `whsec_` and base64 of 32 random bytes, made on first use.
 * Of several first users one writes, and the others read what it wrote.
 * @throws Error when the workspace does not exist, or its secret was sealed under a master key that is gone.
 */
export async function getCallbackSecret(db: Db, keys: MasterKeys, workspaceId: string): Promise<string> {
  const sealed =
    (await readSealed(db, workspaceId)) ??
    (await writeSealed(db, workspaceId, seal(keys, workspaceId, generateSigningSecret()))) ??
    (await readSealed(db, workspaceId))
  if (!sealed) throw new Error('the workspace of this callback secret does not exist')
  return unseal(keys, workspaceId, sealed)
}

async function readSealed(db: Db, workspaceId: string): Promise<string | null | undefined> {
  const row = await db
    .selectFrom('workspace')
    .select('callback_secret_sealed')
    .where('id', '=', workspaceId)
    .executeTakeFirst()
  return row?.callback_secret_sealed
}

/** Undefined: somebody else wrote one first. */
async function writeSealed(db: Db, workspaceId: string, sealed: string): Promise<string | null | undefined> {
  const row = await db
    .updateTable('workspace')
    .set({ callback_secret_sealed: sealed })
    .where('id', '=', workspaceId)
    .where('callback_secret_sealed', 'is', null)
    .returning('callback_secret_sealed')
    .executeTakeFirst()
  return row?.callback_secret_sealed
}
