import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { named, nullable, oneOf, withDefault } from '../schema.ts'

const id = () => Type.String({ format: 'uuid' })
const time = () => Type.String({ format: 'date-time' })
const count = (description: string) => Type.Integer({ minimum: 0, description })

/** Largest figure of the database's type. */
const creditsMax = 2_147_483_647
const textLengthMax = 200
const addressLinesMax = 6

const teamId = '5b0d8c56-3f0e-4b5e-9d3e-0c5a4a0b7d11'
const userId = 'a3a6f6d8-7a55-4a0c-8c93-7a2c5b8f0e21'

const teamName = Type.String({
  minLength: 1,
  maxLength: 80,
  pattern: patterns.plainName,
  description: 'Stands in invitations, so it holds no web address.',
})

export const teamSchema = named(
  'Team',
  {
    id: id(),
    name: Type.String(),
    plan: Type.String(),
    role: oneOf(roles, { description: 'Yours in this team.' }),
    memberCount: Type.Integer({ minimum: 1 }),
    createdAt: time(),
  },
  {
    examples: [
      { id: teamId, name: 'Shop', plan: 'pro', role: 'owner', memberCount: 3, createdAt: '2026-11-21T09:30:00.000Z' },
    ],
  },
)

export const teamRequest = Type.Object({ name: teamName }, { examples: [{ name: 'Shop' }] })

export const teamDeletion = Type.Object(
  {
    password: Type.String({ minLength: 1, maxLength: 1_024, description: 'Yours, as the owner.' }),
    confirmCreditLoss: withDefault(
      nullable(
        Type.Boolean({
          description: 'The credits that are left are given up; without it they are a reason to refuse.',
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
    userId: id(),
    email: Type.String(),
    name: nullable(Type.String()),
    role: oneOf(roles),
    joinedAt: time(),
  },
  {
    examples: [{ userId, email: 'ada@example.com', name: 'Ada', role: 'member', joinedAt: '2026-11-21T09:30:00.000Z' }],
  },
)

export const roleRequest = Type.Object(
  {
    role: oneOf(roles, {
      description: 'Only an owner gives the roles owner and billing, and changes the role of an owner.',
    }),
    adoptKeys: withDefault(
      Type.Boolean({
        description: 'An owner takes over the API keys of a member who loses the role; otherwise they are revoked.',
      }),
      false,
    ),
  },
  { examples: [{ role: 'billing' }] },
)

export const removalQuery = Type.Object({
  adoptKeys: withDefault(
    oneOf(['true', 'false'], {
      description: 'An owner takes over the API keys that the member made; otherwise they are revoked.',
    }),
    'false',
  ),
})

export const transferRequest = Type.Object(
  { userId: Type.String({ format: 'uuid', description: 'A member, who becomes an owner; you become an admin.' }) },
  { examples: [{ userId }] },
)

const inviteRole = oneOf(['admin', 'billing', 'member'], {
  description: 'Ownership is handed over, not offered. Only an owner invites to billing.',
})

export const teamInviteSchema = named(
  'TeamInvite',
  {
    id: id(),
    email: Type.String(),
    role: inviteRole,
    invitedBy: Type.String({ format: 'uuid', description: 'The member who sent it.' }),
    createdAt: time(),
    expiresAt: time(),
  },
  {
    examples: [
      {
        id: 'f2a4a0a2-6a8b-4c4e-9c51-2d6b9a7e6b31',
        email: 'ben@example.com',
        role: 'member',
        invitedBy: userId,
        createdAt: '2026-11-21T09:30:00.000Z',
        expiresAt: '2026-11-28T09:30:00.000Z',
      },
    ],
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
  userId: id(),
  email: Type.String(),
  name: nullable(Type.String()),
  used: count('Credits of this month that are held for tasks of the member, or were spent on them.'),
  monthlyLimit: nullable(Type.Integer({ minimum: 0, description: 'Null: no limit.' })),
}

export const teamCreditsSchema = named(
  'TeamCredits',
  {
    available: count('Can be spent now.'),
    held: count('Held for tasks that have not ended.'),
    total: count('Available and held.'),
    period: Type.Object(
      { start: time(), end: time() },
      { description: 'The month that `used` and limits count, UTC.' },
    ),
    members: Type.Array(Type.Object(memberUse), {
      description: 'What is made with a key counts to whoever made the key; keys of operators count to nobody.',
    }),
  },
  {
    examples: [
      {
        ...{ available: 940, held: 2, total: 942 },
        period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
        members: [{ userId, email: 'ada@example.com', name: 'Ada', used: 58, monthlyLimit: 100 }],
      },
    ],
  },
)

export const limitsRequest = Type.Object(
  {
    limits: Type.Array(
      Type.Object({
        userId: id(),
        monthlyLimit: nullable(Type.Integer({ minimum: 0, maximum: creditsMax, description: 'Null: no limit.' })),
      }),
      { maxItems: 500, description: 'The limits of all members: who is not named has none.' },
    ),
  },
  { examples: [{ limits: [{ userId, monthlyLimit: 100 }] }] },
)

const billingText = (description: string) =>
  nullable(Type.String({ maxLength: textLengthMax, pattern: patterns.storable, description }))
const addressLines = Type.Array(Type.String({ maxLength: textLengthMax, pattern: patterns.storable }), {
  maxItems: addressLinesMax,
  description: 'As they stand on an invoice; none: it has no address.',
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
        { description: 'Null: nothing is paid for regularly.' },
      ),
    ),
    name: nullable(Type.String({ description: 'Whom invoices name; null: the team.' })),
    addressLines: Type.Array(Type.String()),
    taxId: nullable(Type.String()),
    email: nullable(Type.String({ description: 'Stands on invoices.' })),
    invoices: Type.Array(
      Type.Object({
        id: id(),
        number: Type.String(),
        issuedAt: time(),
        total: Type.Integer({ description: 'In minor units of the currency.' }),
        currency: Type.String({ description: 'ISO 4217.' }),
        isCreditNote: Type.Boolean({ description: 'The total was given back.' }),
      }),
      { description: 'The latest 20; all of them are below `/payments/invoices`.' },
    ),
  },
  {
    examples: [
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
    ],
  },
)

export const billingPatch = Type.Object(
  {
    name: Type.Optional(billingText('Whom invoices name; empty: the team.')),
    addressLines: Type.Optional(nullable(addressLines)),
    taxId: Type.Optional(billingText('Empty takes it away.')),
    email: Type.Optional(
      nullable(Type.String({ maxLength: 254, pattern: patterns.emailOrEmpty, description: 'Empty takes it away.' })),
    ),
  },
  { examples: [{ name: 'Shop Ltd', addressLines: ['1 Main Street', 'Springfield'], taxId: 'DE123456789' }] },
)

export const auditEntrySchema = named(
  'AuditEntry',
  {
    id: id(),
    at: time(),
    actorId: nullable(Type.String({ format: 'uuid' })),
    actorName: nullable(
      Type.String({
        description: 'Or the address, where there is no name; null: the account is gone, or it was an operator.',
      }),
    ),
    action: Type.String({ description: 'The `operationId` of the request, or the command of an operator.' }),
    target: nullable(Type.String({ description: 'The id that the path or the answer names.' })),
    reason: nullable(Type.String({ description: 'That an operator gave.' })),
    ipAddress: nullable(Type.String()),
    requestId: nullable(Type.String()),
  },
  {
    examples: [
      {
        id: 'c0c5f2a4-54c9-4f4c-8d0f-2f3a5b6c7d81',
        ...{ at: '2026-11-21T09:30:00.000Z', actorId: userId, actorName: 'Ada' },
        ...{ action: 'createTeamInvite', target: 'f2a4a0a2-6a8b-4c4e-9c51-2d6b9a7e6b31' },
        ...{ reason: null, ipAddress: '192.0.2.7', requestId: '5b1cb8b2-6b4f-4a6e-9d0c-0d6f3c1f6a10' },
      },
    ],
  },
)
