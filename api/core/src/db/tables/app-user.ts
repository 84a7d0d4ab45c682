import type { Generated } from 'kysely'

/** A person who can sign in. Table `app_user`, since `user` is a word of SQL. */
export type AppUserTable = {
  id: Generated<string>
  /** As the person gave it; mails go to it. */
  email: string
  /** Key of the address (D85), unique. Null: the account is erased, or another account has the key. */
  email_key: string | null
  email_verified_at: Date | null
  /** Argon2id in PHC form (D15). Null: no password, after erasure. */
  password_hash: string | null
  name: string | null
  /** BCP 47, such as `en` or `pt-BR`. */
  locale: Generated<string>
  /** IANA, such as `Europe/Berlin`. */
  time_zone: Generated<string>
  avatar_url: string | null
  /** The code that this account was registered with. */
  referral_code: string | null
  /** When that code was looked at, once the address was verified. */
  referral_judged_at: Generated<Date | null>
  /** Client address of the registration. */
  registered_from: string | null
  /** By an operator: no sign-in, and no session counts. */
  disabled_at: Date | null
  /** Personal data is gone; the row stays for what refers to it. */
  erased_at: Date | null
  created_at: Generated<Date>
}

export type MembershipTable = {
  workspace_id: string
  user_id: string
  role: 'owner' | 'admin' | 'billing' | 'member'
  /** Credits a month that the member's tasks may take; null: no limit. */
  credit_limit: Generated<number | null>
  created_at: Generated<Date>
}

/** A family of refresh tokens (D14). */
export type SessionTable = {
  id: Generated<string>
  user_id: string
  /** The workspace of its tokens. */
  workspace_id: string
  ip_address: string | null
  user_agent: string | null
  created_at: Generated<Date>
  last_used_at: Generated<Date>
  expires_at: Date
  ended_at: Date | null
}
