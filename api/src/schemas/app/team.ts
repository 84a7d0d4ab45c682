import { roles } from '@matte/core/workspace/role'
import type { TeamBilling } from '@matte/people/team/billing'
import type { InviteRow } from '@matte/people/team/invite-queries'
import type { MemberRow, TeamRow } from '@matte/people/team/team-queries'
import { type Static, Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { count, named, nullable, oneOf, time, uuid, withDefault } from '../schema.ts'

const creditsMax = 2_147_483_647
const textLengthMax = 200
const addressLinesMax = 6

const teamId = '5b0d8c56-3f0e-4b5e-9d3e-0c5a4a0b7d11'
const userId = 'a3a6f6d8-7a55-4a0c-8c93-7a2c5b8f0e21'

const teamName = Type.String({
  minLength: 1,
  maxLength: 80,
  pattern: patterns.plainName,
  description: 'Shown in invitations, so it must hold no web address.',
})

export const teamSchema = named(
  'Team',
  {
    id: uuid(),
    name: Type.String(),
    plan: Type.String(),
    role: oneOf(roles, { description: 'Your role in this team.' }),
    memberCount: Type.Integer({ minimum: 1 }),
    createdAt: time(),
    maxKeyDays: nullable(
      Type.Integer({ description: 'Longest life in days of API keys that are made from now on; null: no limit.' }),
    ),
  },
  {
    ...{ id: teamId, name: 'Shop', plan: 'pro', role: 'owner', memberCount: 3 },
    ...{ createdAt: '2026-11-21T09:30:00.000Z', maxKeyDays: 90 },
  },
)

const keyDaysMax = 3_650

export const keyPolicyRequest = Type.Object(
  {
    maxKeyDays: nullable(
      Type.Integer({
        minimum: 1,
        maximum: keyDaysMax,
        description: 'Longest life in days of API keys that are made or rolled from now on; null: no limit.',
      }),
    ),
  },
  { examples: [{ maxKeyDays: 90 }] },
)

export const teamRequest = Type.Object({ name: teamName }, { examples: [{ name: 'Shop' }] })

export const teamDeletion = Type.Object(
  {
    password: Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'Your password.',
    }),
    confirmCreditLoss: withDefault(
      nullable(
        Type.Boolean({
          description: 'True gives up the remaining credits; otherwise they block the deletion.',
        }),
      ),
      false,
    ),
  },
  { examples: [{ password: 'correct horse battery staple', confirmCreditLoss: true }] },
)

export const teamMemberSchema = named(
  'TeamMember',
  {
    userId: uuid(),
    email: Type.String(),
    name: nullable(Type.String()),
    role: oneOf(roles),
    joinedAt: time(),
  },
  { userId, email: 'ada@example.com', name: 'Ada', role: 'member', joinedAt: '2026-11-21T09:30:00.000Z' },
)

export const roleRequest = Type.Object(
  {
    role: oneOf(roles, {
      description: 'Only an owner grants the roles owner and billing, and changes the role of an owner.',
    }),
    adoptKeys: withDefault(
      Type.Boolean({
        description: 'True transfers the API keys of a demoted member to an owner; otherwise they are revoked.',
      }),
      false,
    ),
  },
  { examples: [{ role: 'billing' }] },
)

export const removalQuery = Type.Object({
  adoptKeys: withDefault(
    oneOf(['true', 'false'], {
      description: 'True transfers the API keys of the member to an owner; otherwise they are revoked.',
    }),
    'false',
  ),
})

export const transferRequest = Type.Object(
  { userId: uuid('A member, who becomes an owner; you become an admin.') },
  { examples: [{ userId }] },
)

const inviteRole = oneOf(['admin', 'billing', 'member'], {
  description: 'Owners are made by transfer only. Only an owner can invite to billing.',
})

export const teamInviteSchema = named(
  'TeamInvite',
  {
    id: uuid(),
    email: Type.String(),
    role: inviteRole,
    invitedBy: uuid('The inviting member.'),
    createdAt: time(),
    expiresAt: time(),
  },
  {
    id: 'f2a4a0a2-6a8b-4c4e-9c51-2d6b9a7e6b31',
    email: 'ben@example.com',
    role: 'member',
    invitedBy: userId,
    createdAt: '2026-11-21T09:30:00.000Z',
    expiresAt: '2026-11-28T09:30:00.000Z',
  },
)

export const inviteRequest = Type.Object(
  {
    email: Type.String({ minLength: 3, maxLength: 254, pattern: patterns.email, description: 'Gets the invitation.' }),
    role: inviteRole,
  },
  { examples: [{ email: 'ben@example.com', role: 'member' }] },
)

export const acceptRequest = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 200, description: 'From the link of the mail.' }) },
  { examples: [{ token: 'invite_3vQm0mVYb2kq1gqkqB8c7r0bX6b1mKp2aJv0x9Zs3Qk' }] },
)

const memberUse = {
  userId: uuid(),
  email: Type.String(),
  name: nullable(Type.String()),
  used: count('Credits of this month that are held for tasks of the member, or were spent on them.'),
  monthlyLimit: nullable(count('Null: no limit.')),
}

export const teamCreditsSchema = named(
  'TeamCredits',
  {
    available: count('Can be spent now.'),
    held: count('Held for open tasks and disputed payments.'),
    total: count('Available and held.'),
    period: Type.Object(
      { start: time(), end: time() },
      { description: 'The month that `used` and limits count, UTC.' },
    ),
    members: Type.Array(Type.Object(memberUse), {
      description: 'Tasks created with a key count to the creator of the key; keys of operators count to no member.',
    }),
  },
  {
    ...{ available: 940, held: 2, total: 942 },
    period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
    members: [{ userId, email: 'ada@example.com', name: 'Ada', used: 58, monthlyLimit: 100 }],
  },
)

export const limitsRequest = Type.Object(
  {
    limits: Type.Array(
      Type.Object({
        userId: uuid(),
        monthlyLimit: nullable(Type.Integer({ minimum: 0, maximum: creditsMax, description: 'Null: no limit.' })),
      }),
      { maxItems: 500, description: 'Limits of all members; members not listed have none.' },
    ),
  },
  { examples: [{ limits: [{ userId, monthlyLimit: 100 }] }] },
)

const billingText = (description: string) =>
  nullable(Type.String({ maxLength: textLengthMax, pattern: patterns.storable, description }))
const addressLines = Type.Array(Type.String({ maxLength: textLengthMax, pattern: patterns.storable }), {
  maxItems: addressLinesMax,
  description: 'As printed on invoices; empty: no address.',
})

export const teamBillingSchema = named(
  'TeamBilling',
  {
    plan: Type.String(),
    subscription: nullable(
      Type.Object(
        {
          plan: Type.String(),
          interval: oneOf(['month', 'year']),
          status: oneOf(['incomplete', 'active', 'past_due', 'canceled']),
          periodEnd: time(),
          cancelAtPeriodEnd: Type.Boolean(),
        },
        { description: 'Null: no subscription.' },
      ),
    ),
    name: nullable(Type.String({ description: 'Name on invoices; null: the name of the team.' })),
    addressLines: Type.Array(Type.String()),
    taxId: nullable(Type.String()),
    email: nullable(Type.String({ description: 'Printed on invoices.' })),
    invoices: Type.Array(
      Type.Object({
        id: uuid(),
        number: Type.String(),
        issuedAt: time(),
        total: Type.Integer({ description: 'In minor units of the currency.' }),
        currency: Type.String({ description: 'ISO 4217.' }),
        isCreditNote: Type.Boolean({ description: 'The total was refunded.' }),
      }),
      { description: 'The latest 20; see `/payments/invoices` for all.' },
    ),
  },
  {
    plan: 'pro',
    subscription: {
      ...{ plan: 'pro', interval: 'month', status: 'active' },
      ...{ periodEnd: '2026-12-21T09:30:00.000Z', cancelAtPeriodEnd: false },
    },
    ...{ name: 'Shop Ltd', addressLines: ['1 Main Street', 'Springfield'], taxId: 'DE123456789' },
    email: 'books@example.com',
    invoices: [
      {
        id: '0f6b2d0e-43c4-4a43-9b0b-5b7a55c1f0a1',
        ...{ number: '2026-000042', issuedAt: '2026-11-21T09:30:00.000Z' },
        ...{ total: 2_900, currency: 'USD', isCreditNote: false },
      },
    ],
  },
)

export const billingPatch = Type.Object(
  {
    name: Type.Optional(billingText('Name on invoices; empty: the name of the team.')),
    addressLines: Type.Optional(nullable(addressLines)),
    taxId: Type.Optional(billingText('Empty removes it.')),
    email: Type.Optional(
      nullable(Type.String({ maxLength: 254, pattern: patterns.emailOrEmpty, description: 'Empty removes it.' })),
    ),
  },
  { examples: [{ name: 'Shop Ltd', addressLines: ['1 Main Street', 'Springfield'], taxId: 'DE123456789' }] },
)

export const toTeamView = ({ createdAt, ...team }: TeamRow): Static<typeof teamSchema> => ({
  ...team,
  createdAt: createdAt.toISOString(),
})

export const toMemberView = ({ joinedAt, ...member }: MemberRow): Static<typeof teamMemberSchema> => ({
  ...member,
  joinedAt: joinedAt.toISOString(),
})

export const toInviteView = ({ createdAt, expiresAt, ...invite }: InviteRow): Static<typeof teamInviteSchema> => ({
  ...invite,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
})

export const toBillingView = (billing: TeamBilling): Static<typeof teamBillingSchema> => ({
  ...billing,
  addressLines: [...billing.addressLines],
  subscription: billing.subscription && {
    ...billing.subscription,
    periodEnd: billing.subscription.periodEnd.toISOString(),
  },
  invoices: billing.invoices.map((invoice) => ({ ...invoice, issuedAt: invoice.issuedAt.toISOString() })),
})
