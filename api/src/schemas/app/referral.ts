import type { ReferralRow } from '@matte/people/referral/referral-queries'
import { type Static, Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { count, named, nullable, oneOf, time, uuid } from '../schema.ts'

export const referralSchema = named(
  'Referral',
  {
    code: Type.String({ description: 'Your code; it never changes.' }),
    url: Type.String({ format: 'uri', description: 'The page to register on, with your code.' }),
    rewardCredits: count('Reward after the first successful task of a referred user; 0: none at present.'),
    invited: count('People invited by mail or referred by your link.'),
    joined: count('Those who have registered.'),
    rewarded: count('Those who earned you a reward.'),
    creditsEarned: count('Credits of all rewards.'),
  },
  {
    code: 'K7QX2M9P',
    url: 'https://app.example.com/register?ref=K7QX2M9P',
    rewardCredits: 50,
    invited: 4,
    joined: 2,
    rewarded: 1,
    creditsEarned: 50,
  },
)

export const referralInvitationSchema = named(
  'ReferralInvitation',
  {
    id: uuid(),
    email: nullable(Type.String({ description: 'Masked; null once that account is gone.' })),
    status: oneOf(['invited', 'joined', 'review', 'rewarded', 'refused'], {
      description: '`review`: the reward is due and waits for a decision of the operator.',
    }),
    rewardCredits: nullable(Type.Integer({ minimum: 1, description: 'Set once the reward is due.' })),
    invitedAt: nullable(time('Null for a person who used the link.')),
    joinedAt: nullable(time()),
    rewardedAt: nullable(time()),
    createdAt: time(),
  },
  {
    id: '7d2f0b7e-61c4-4a0e-8a5a-0b6f2e0d9c31',
    email: 'j***@example.com',
    status: 'rewarded',
    rewardCredits: 50,
    invitedAt: '2026-11-01T08:00:00.000Z',
    joinedAt: '2026-11-02T09:30:00.000Z',
    rewardedAt: '2026-11-03T10:00:00.000Z',
    createdAt: '2026-11-01T08:00:00.000Z',
  },
)

export const newReferralInvitation = Type.Object(
  {
    email: Type.String({
      minLength: 3,
      maxLength: 254,
      pattern: patterns.email,
      description: 'Address to invite.',
    }),
  },
  { examples: [{ email: 'jane@example.com' }] },
)

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
