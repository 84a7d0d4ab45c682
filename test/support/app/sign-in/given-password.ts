// Adds passwords to people of `givenPerson`, so they can sign in.
import type { Db } from '@matte/core/db/database'
import { passwordHasher } from '@matte/people/identity/password/password-hasher'
import type { Person } from '../people.ts'

export const password = 'violet tractor under moss'
const hasher = passwordHasher({ atOnce: 2, waitingMax: 100 })
const anyOwner = { network: '', client: '', account: '' }
let stored: Promise<string> | undefined

/** Sets `password` for them. */
export async function givePassword(db: Db, { userId }: Pick<Person, 'userId'>): Promise<void> {
  stored ??= hasher.hash(anyOwner, password)
  await db
    .updateTable('app_user')
    .set({ password_hash: await stored })
    .where('id', '=', userId)
    .execute()
}
