// What somebody who is not signed in asks for by an address: an account, or a mail. The answer cannot tell whether the
// address has an account, neither by its words nor by its time, because nobody has looked when it is given: the request
// is a row, written alike for all, and `do-account-requests.ts` does it in a moment.
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import type { AccountRequestTable } from '../../db/tables/sign-in.ts'

type Registration = {
  readonly email: string
  readonly passwordHash: string
  readonly name: string | null
  readonly referralCode: string | null
  readonly ipAddress: string | null
}

export async function askForAccount(db: Db, registration: Registration): Promise<void> {
  const { email, passwordHash, name, referralCode, ipAddress } = registration
  await db
    .insertInto('account_request')
    .values({
      kind: 'register',
      email,
      email_key: foldAddress(email),
      password_hash: passwordHash,
      name,
      referral_code: referralCode,
      ip_address: ipAddress,
    })
    .execute()
}

export const askForVerification = (db: Db, email: string): Promise<void> => insert(db, 'verify-email', email)
export const askForReset = (db: Db, email: string): Promise<void> => insert(db, 'reset-password', email)

async function insert(db: Db, kind: AccountRequestTable['kind'], email: string): Promise<void> {
  await db
    .insertInto('account_request')
    .values({ kind, email, email_key: foldAddress(email) })
    .execute()
}
