import type { Generated } from 'kysely'

/** What a member's tasks have taken of the credits of a shared workspace; see credit/member-use.ts. */
export type MemberCreditMonthTable = {
  workspace_id: string
  user_id: string
  /** Its first day, UTC. */
  month: string
  /** Held and captured. */
  used: number
}

/** An invitation that was sent. */
export type TeamInviteTable = {
  id: Generated<string>
  workspace_id: string
  /** As the inviter gave it. */
  email: string
  /** Key of the address (D85). */
  email_key: string | null
  role: 'admin' | 'billing' | 'member'
  /** SHA-256 of the token (D17). */
  token_hash: Buffer
  invited_by: string
  created_at: Generated<Date>
  expires_at: Date
  ended_at: Date | null
  /** Null while it is open, be it expired. */
  ending: 'accepted' | 'revoked' | 'replaced' | null
}
