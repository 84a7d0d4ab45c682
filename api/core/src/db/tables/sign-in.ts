import type { Generated } from 'kysely'

/** A refresh token of a session's family (D14). */
export type RefreshTokenTable = {
  /** SHA-256 of the token. */
  hash: Buffer
  session_id: string
  created_at: Generated<Date>
  /** When it was exchanged for the next one; null of the one that counts. */
  spent_at: Date | null
  /** Id of the master key that the next one was derived with. */
  derived_by: string | null
}

/** A token in a mail; used once, and then gone. */
export type MailTokenTable = {
  /** SHA-256 of the token. */
  hash: Buffer
  purpose: 'verify-email' | 'reset-password'
  user_id: string
  /** Hash of the registration's password, of a link that verifies an address (D92). Null: the account's counts. */
  password_hash: string | null
  expires_at: Date
  created_at: Generated<Date>
}

/** What was asked for without signing in, until it is done: in a moment. */
export type AccountRequestTable = {
  id: Generated<number>
  kind: 'register' | 'verify-email' | 'reset-password'
  email: string
  /** Key of the address (D85). */
  email_key: string | null
  password_hash: string | null
  name: string | null
  referral_code: string | null
  ip_address: string | null
  due_at: Generated<Date>
  attempt: Generated<number>
  created_at: Generated<Date>
}

/** Somebody signed in, or failed to. */
export type LoginEventTable = {
  id: Generated<string>
  /** Null: no account has the address that was given. */
  user_id: string | null
  success: boolean
  method: 'password' | 'totp' | 'recovery_code' | 'verify_email'
  ip_address: string | null
  user_agent: string | null
  failure_reason: string | null
  at: Generated<Date>
}

export type LoginFailureTable = {
  /** SHA-256 of the address's key (D85). */
  account: Buffer
  /** The client's, or '' for all of them together. */
  network: string
  failures: number
  /** No password is judged before. */
  allowed_at: Date
  last_at: Date
  /** When the owner was told, of the row for all networks. */
  told_at: Date | null
}

export type RegistrationInviteTable = {
  /** Key of the address (D85). */
  email: string
  created_at: Generated<Date>
}
