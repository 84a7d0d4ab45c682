import type { Generated } from 'kysely'

/** A mailbox that had the credits of the plan Free (D88). */
export type FreeCreditTable = {
  /** HMAC of `foldMailbox` of the address. */
  mailbox: Buffer
  /** Null once the account is erased. */
  user_id: string | null
  /** When the row is deleted, once the account is erased. */
  forget_at: Date | null
}

/** The one key of these HMACs. */
export type MailboxKeyTable = {
  id: Generated<string>
  single: Generated<boolean>
  /** Sealed under the master keys, the row's id as associated data. */
  key_sealed: string
}
