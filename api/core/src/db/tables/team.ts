import type { Generated } from 'kysely'

/** Credits used by a member's tasks in a shared workspace; see credit/member-use.ts. */
export type MemberCreditMonthTable = {
  workspace_id: string
  user_id: string
  month: string
  used: number
}

export type TeamInviteTable = {
  id: Generated<string>
  workspace_id: string
  email: string
  email_key: string | null
  role: 'admin' | 'billing' | 'member'
  token_hash: Buffer
  invited_by: string
  created_at: Generated<Date>
  expires_at: Date
  ended_at: Date | null
  /** Null while open, even if expired. */
  ending: 'accepted' | 'revoked' | 'replaced' | null
}

export type ReferralCodeTable = {
  user_id: string
  code: string
  created_at: Generated<Date>
}

export type ReferralTable = {
  id: Generated<string>
  referrer_id: string
  invited_id: string | null
  /** Invited address; null if the link was used without an invitation. */
  email: string | null
  email_key: string | null
  /** `review`: the reward is due and needs an operator's decision. */
  status: 'invited' | 'joined' | 'review' | 'rewarded' | 'refused'
  /** `address`, `payment`: possible duplicate account; `unpaid`: bought nothing; `limit`: too many rewards. */
  suspicion: 'address' | 'payment' | 'unpaid' | 'limit' | null
  credits: number | null
  /** For `joined`: next check for a succeeded task. */
  check_at: Date | null
  invited_at: Date | null
  joined_at: Date | null
  decided_at: Date | null
  created_at: Generated<Date>
}
