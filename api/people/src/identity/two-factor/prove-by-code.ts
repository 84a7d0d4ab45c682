import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { type Proof, recordProof } from '../session/session-proof.ts'
import { codeRefused, takeCode } from './take-code.ts'
import { isTotp } from './totp.ts'

type Given = { readonly userId: string; readonly sessionId: string; readonly code: string; readonly audit: Audit }

/**
 * Spends a code for a proof of the session; a wrong one is counted.
 * @throws MatteError CONFLICT: two-factor login is off; INVALID_PARAMS, RATE_LIMIT_EXCEEDED; AUTH_INVALID_TOKEN: the
 * session has ended
 */
export async function proveByCode(
  { db, masterKeys }: { readonly db: Db; readonly masterKeys: MasterKeys },
  { userId, sessionId, code, audit }: Given,
): Promise<Proof> {
  const done = await db.transaction().execute(async (tx) => {
    const outcome = await takeCode(tx, masterKeys, { userId, code })
    if (outcome.state !== 'taken') return { refused: codeRefused(outcome) }
    const proof = await recordProof(tx, { sessionId, method: isTotp(code) ? 'totp' : 'recovery_code' })
    await audit(tx, undefined)
    return { proof }
  })
  if ('refused' in done) throw done.refused
  return done.proof
}
