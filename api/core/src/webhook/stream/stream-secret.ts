import { createHmac } from 'node:crypto'
import type { Db } from '../../db/database.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { getCallbackSecret } from '../../workspace/callback-secret.ts'

/**
 * Secret that signs events on the workspace's streams. It is derived from the callback secret, so it is the same on
 * every connection and replica until that is rotated; it reveals nothing about the callback secret.
 */
export async function readStreamSecret(db: Db, keys: MasterKeys, workspaceId: string): Promise<string> {
  const callbackSecret = await getCallbackSecret(db, keys, workspaceId)
  return `whsec_${createHmac('sha256', callbackSecret).update('matte webhook stream').digest('base64')}`
}
