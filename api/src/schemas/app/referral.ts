import { Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { named, nullable, oneOf } from '../schema.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const time = (description?: string) => Type.String({ format: 'date-time', ...(description && { description }) })

export const referralSchema = named(
  'Referral',
  {
    code: Type.String({ description: 'Yours, forever.' }),
    url: Type.String({ format: 'uri', description: 'The page to register on, with your code.' }),
    rewardCredits: count('What you get once the first task of somebody you brought has succeeded; 0: nothing now.'),
    invited: count('Everybody whom you invited by mail or who came by your link.'),
    joined: count('Those of them who have registered.'),
    rewarded: count('Those of them whom you got a reward for.'),
    creditsEarned: count('By all rewards.'),
  },
  {
    examples: [
      {
        code: 'K7QX2M9P',
        url: 'https://app.example.com/register?ref=K7QX2M9P',
        rewardCredits: 50,
        invited: 4,
        joined: 2,
        rewarded: 1,
        creditsEarned: 50,
      },
    ],
  },
)

export const referralInvitationSchema = named(
  'ReferralInvitation',
  {
    id: Type.String({ format: 'uuid' }),
    email: nullable(Type.String({ description: 'Masked; null once that account is gone.' })),
    status: oneOf(['invited', 'joined', 'review', 'rewarded', 'refused'], {
      description: '`review`: the reward has fallen due, and the operator of the service looks at it first.',
    }),
    rewardCredits: nullable(Type.Integer({ minimum: 1, description: 'From when the reward falls due.' })),
    invitedAt: nullable(time('Null for somebody who came by the link.')),
    joinedAt: nullable(time()),
    rewardedAt: nullable(time()),
    createdAt: time(),
  },
  {
    examples: [
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
    ],
  },
)

export const newReferralInvitation = Type.Object(
  {
    email: Type.String({
      minLength: 3,
      maxLength: 254,
      pattern: patterns.email,
      description: 'Whom to invite.',
    }),
  },
  { examples: [{ email: 'jane@example.com' }] },
)
