import type { ColumnType, Generated } from 'kysely'

/** A person. The table is `app_user` because `user` is reserved in SQL. */
export type AppUserTable = {
  id: Generated<string>
  /** As entered; mails go to it. */
  email: string
  /** Key of the address, unique. Null: erased, or another account has the key. */
  email_key: string | null
  email_verified_at: Date | null
  /** Argon2id in PHC form. Null after erasure. */
  password_hash: string | null
  name: string | null
  /** BCP 47, such as `pt-BR`. */
  locale: Generated<string>
  /** IANA, such as `Europe/Berlin`. */
  time_zone: Generated<string>
  avatar_url: string | null
  referral_code: string | null
  referral_judged_at: Generated<Date | null>
  registered_from: string | null
  /** Disabled by an operator: no sign-in, no valid session. */
  disabled_at: Date | null
  /** Personal data is erased; the row stays for references. */
  erased_at: Date | null
  created_at: Generated<Date>
}

export type MembershipTable = {
  workspace_id: string
  user_id: string
  role: 'owner' | 'admin' | 'billing' | 'member'
  credit_limit: Generated<number | null>
  created_at: Generated<Date>
}

export type SessionTable = {
  id: Generated<string>
  user_id: string
  workspace_id: string
  ip_address: string | null
  user_agent: string | null
  created_at: Generated<Date>
  last_used_at: Generated<Date>
  expires_at: Date
  ended_at: Date | null
  /** Last time that the person gave a password or a code in this session. Null: not since an upgrade. */
  proved_at: Generated<Date | null>
  proof_method: 'password' | 'totp' | 'recovery_code' | null
}

export type RefreshTokenTable = {
  hash: Buffer
  session_id: string
  created_at: Generated<Date>
  /** Time of the exchange; null for the current token. */
  spent_at: Date | null
  /** Master key that the next token was derived with. */
  derived_by: string | null
}

/** A single-use token in a mail; deleted when used. */
export type MailTokenTable = {
  hash: Buffer
  purpose: 'verify-email' | 'reset-password'
  user_id: string
  /** Password of the registration that sent the link. Null: the account's password counts. */
  password_hash: string | null
  expires_at: Date
  created_at: Generated<Date>
}

export type AccountRequestTable = {
  id: Generated<number>
  kind: 'register' | 'verify-email' | 'reset-password'
  email: string
  email_key: string | null
  password_hash: string | null
  name: string | null
  referral_code: string | null
  ip_address: string | null
  /** BCP 47, of a registration. */
  locale: string | null
  due_at: Generated<Date>
  attempt: Generated<number>
  created_at: Generated<Date>
}

export type LoginEventTable = {
  id: Generated<string>
  /** Null: unknown address. */
  user_id: string | null
  success: boolean
  method: 'password' | 'totp' | 'recovery_code' | 'verify_email'
  ip_address: string | null
  user_agent: string | null
  failure_reason: string | null
  at: Generated<Date>
}

export type LoginFailureTable = {
  /** SHA-256 of the address key. */
  account: Buffer
  /** Client network, or '' for all networks. */
  network: string
  failures: number
  allowed_at: Date
  last_at: Date
  told_at: Date | null
}

export type RegistrationInviteTable = {
  email: string
  created_at: Generated<Date>
}

/** TOTP seed of a person. */
export type TwoFactorTable = {
  user_id: string
  /** Sealed under the master keys with the user id as associated data. */
  secret_sealed: string
  /** Null: not yet confirmed by a code, so logins do not ask for one. */
  enabled_at: Date | null
  /** Time step of the last accepted code; codes up to it are used. */
  last_step: number | null
  /** Times of the last five wrong codes of each kind; see `failure-limit.ts`. */
  totp_failures: Generated<Date[]>
  recovery_failures: Generated<Date[]>
  /** Times of the last ten wrong codes of either kind. */
  wrong_codes: Generated<Date[]>
  told_at: Date | null
  created_at: Generated<Date>
}

export type RecoveryCodeTable = {
  user_id: string
  hash: Buffer
}

export type MfaTokenTable = {
  hash: Buffer
  user_id: string
  login_event_id: string | null
  tries: Generated<number>
  expires_at: Date
}

export type EmailChangeTable = {
  id: Generated<string>
  user_id: string
  new_email: string
  token_hash: Buffer
  created_at: Generated<Date>
  expires_at: Date
}

/** Signs access tokens. Published from creation, in use from `active_at` to `retired_at`. */
export type SigningKeyTable = {
  kid: string
  public_jwk: ColumnType<Readonly<Record<string, unknown>>, string, never>
  /** Private JWK, sealed under the master keys. */
  private_sealed: string
  created_at: Generated<Date>
  active_at: Date | null
  retired_at: Date | null
}

export const actorKinds = ['member', 'api-key', 'operator', 'matte-admin', 'system'] as const
export type ActorKind = (typeof actorKinds)[number]

/** A committed change. Rows are only added, see migration 0053. */
export type AuditEntryTable = {
  id: Generated<string>
  workspace_id: string | null
  /** Null in rows of earlier releases: a member if `user_id` is set, else matte-admin. */
  actor: ActorKind | null
  user_id: string | null
  api_key_id: string | null
  /** operationId of the request, or the command of matte-admin. */
  action: string
  target: string | null
  details: ColumnType<Readonly<Record<string, unknown>>, string | undefined, never>
  ip_address: string | null
  user_agent: string | null
  /** Chosen by this service; rows of earlier releases may have the caller's id. */
  request_id: string | null
  client_request_id: string | null
  at: Generated<Date>
}
