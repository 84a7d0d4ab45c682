import type { Generated } from 'kysely'

export type ReferralCodeTable = {
  user_id: string
  code: string
  created_at: Generated<Date>
}

/** One person whom another has brought: invited by mail, registered with the link, or both. */
export type ReferralTable = {
  id: Generated<string>
  referrer_id: string
  /** Null until somebody has registered. */
  invited_id: string | null
  /** The address that was invited; null when the link was enough. */
  email: string | null
  /** Key of that address (D85). */
  email_key: string | null
  /** `review`: the reward has fallen due, and an operator has to say whether it is granted. */
  status: 'invited' | 'joined' | 'review' | 'rewarded' | 'refused'
  /**
   * Why it goes to review, as far as it is known: both may be one person, by `address` or `payment`; the invited person
   * has bought nothing (`unpaid`); the referrer had enough rewards lately (`limit`).
   */
  suspicion: 'address' | 'payment' | 'unpaid' | 'limit' | null
  /** The reward, fixed when it fell due. */
  credits: number | null
  /** Of one that has joined: when to ask again whether a task of theirs has succeeded. */
  check_at: Date | null
  invited_at: Date | null
  joined_at: Date | null
  decided_at: Date | null
  created_at: Generated<Date>
}
