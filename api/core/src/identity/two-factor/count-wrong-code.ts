import type { Db } from '../../db/database.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { type CodeKind, warnsOwner, withFailure, withWrongCode } from './failure-limit.ts'
import { type lockTwoFactor, updateTwoFactor } from './two-factor-queries.ts'

type Locked = NonNullable<Awaited<ReturnType<typeof lockTwoFactor>>>
type WrongCode = { readonly row: Locked; readonly kind: CodeKind; readonly at: Date }

/** Counts a wrong code (D16), and queues a mail to the owner after ten in a day. The caller has locked the row. */
export async function countWrongCode(tx: Db, masterKeys: MasterKeys, { row, kind, at }: WrongCode): Promise<void> {
  const { user_id: userId, totp_failures, recovery_failures, told_at } = row
  const wrong_codes = withWrongCode(row.wrong_codes, at)
  const warns = warnsOwner(wrong_codes, told_at, at)
  const failures =
    kind === 'totp'
      ? { totp_failures: withFailure(totp_failures, at) }
      : { recovery_failures: withFailure(recovery_failures, at) }
  await updateTwoFactor(tx, userId, { ...failures, wrong_codes, ...(warns && { told_at: at }) })
  if (!warns) return
  const { email } = await tx.selectFrom('app_user').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
  await queueMail(tx, masterKeys, {
    template: 'wrong-codes',
    data: { codes: wrong_codes.length },
    ...{ key: null, to: email, userId },
  })
}
