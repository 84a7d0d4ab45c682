import type { Generated } from 'kysely'

/** The seed of a person's codes (D16). */
export type TwoFactorTable = {
  user_id: string
  /** Sealed under the master keys, the user's id as associated data. */
  secret_sealed: string
  /** Null: set up and not confirmed by a code; no login asks for one. */
  enabled_at: Date | null
  /** Time step of the last code that was taken: it and those before it are used up. */
  last_step: number | null
  /** Times of the last five wrong codes of each kind; see `failure-limit.ts`. */
  totp_failures: Generated<Date[]>
  recovery_failures: Generated<Date[]>
  /** Times of the last ten wrong codes of either kind. */
  wrong_codes: Generated<Date[]>
  /** When a mail last told the owner of many wrong codes. */
  told_at: Date | null
  created_at: Generated<Date>
}

/** One that can still be used. */
export type RecoveryCodeTable = {
  user_id: string
  /** SHA-256. */
  hash: Buffer
}

/** The right password was sent, the code is still to come. */
export type MfaTokenTable = {
  /** SHA-256. */
  hash: Buffer
  user_id: string
  /** Of the right password; null of one from before it was written. */
  login_event_id: string | null
  tries: Generated<number>
  expires_at: Date
}

/** An address that waits until the link in its mail is followed. */
export type EmailChangeTable = {
  id: Generated<string>
  user_id: string
  new_email: string
  /** SHA-256. */
  token_hash: Buffer
  created_at: Generated<Date>
  expires_at: Date
}
