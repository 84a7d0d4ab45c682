import type { ReferralRow } from '@matte/core/referral/referral-queries'
import type { Static } from 'typebox'
import type { referralInvitationSchema } from '../../schemas/app/referral.ts'

/** Enough to recognise an address by, for whoever has typed it. */
const maskEmail = (email: string): string => email.replace(/^(.)?.*(?=@)/su, '$1***')

export const toReferralInvitationView = (referral: ReferralRow): Static<typeof referralInvitationSchema> => ({
  id: referral.id,
  email: referral.email === null ? null : maskEmail(referral.email),
  status: referral.status,
  rewardCredits: referral.credits,
  invitedAt: referral.invited_at?.toISOString() ?? null,
  joinedAt: referral.joined_at?.toISOString() ?? null,
  rewardedAt: referral.status === 'rewarded' ? (referral.decided_at?.toISOString() ?? null) : null,
  createdAt: referral.created_at.toISOString(),
})
