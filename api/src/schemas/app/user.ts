import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { named, nullable, oneOf } from '../schema.ts'
import { optionalCode, passwordField } from './two-factor.ts'

const time = () => Type.String({ format: 'date-time' })
const id = () => Type.String({ format: 'uuid' })

const profileExample = {
  id: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1',
  email: 'anna@example.com',
  emailVerified: true,
  name: 'Anna Example',
  locale: 'de-AT',
  timeZone: 'Europe/Vienna',
  avatarUrl: 'https://example.com/anna.png',
  mfaEnabled: false,
  createdAt: '2026-11-01T08:00:00.000Z',
}

export const profileSchema = named(
  'Profile',
  {
    id: id(),
    email: Type.String(),
    emailVerified: Type.Boolean(),
    name: nullable(Type.String()),
    locale: Type.String({ description: 'BCP 47, such as `pt-BR`.' }),
    timeZone: Type.String({ description: 'IANA, such as `Europe/Vienna`.' }),
    avatarUrl: nullable(Type.String()),
    mfaEnabled: Type.Boolean({ description: 'A login asks for a code.' }),
    createdAt: time(),
  },
  { examples: [profileExample] },
)

const text = (maxLength: number, description: string) =>
  Type.Optional(nullable(Type.String({ maxLength, pattern: patterns.storable, description })))

export const profilePatch = Type.Object(
  {
    name: text(200, 'Empty takes it away.'),
    locale: text(35, 'BCP 47.'),
    timeZone: text(64, 'IANA.'),
    avatarUrl: text(2_048, 'An https address; empty takes it away.'),
  },
  { examples: [{ name: 'Anna Example', locale: 'de-AT', timeZone: 'Europe/Vienna' }] },
)

export const eraseRequest = Type.Object(
  {
    password: passwordField,
    code: optionalCode,
  },
  { examples: [{ password: 'correct horse battery staple', code: '492039' }] },
)

const limit = (description: string) => nullable(Type.Integer({ minimum: 0, description }))

export const ownSubscriptionSchema = named(
  'OwnSubscription',
  {
    workspaceId: id(),
    plan: Type.String(),
    status: Type.String({ description: '`none` without a subscription.' }),
    period: nullable(Type.Object({ start: time(), end: time() }, { description: 'What is paid for.' })),
    limits: Type.Object({
      requestsPerMinute: Type.Integer(),
      concurrentTasks: Type.Integer(),
      monthlyQuota: limit('Tasks a month; null: no limit.'),
      batchLimit: Type.Integer({ description: 'Images a batch; 0: no batches.' }),
      maxFileSize: Type.Integer({ description: 'Bytes.' }),
      retentionDays: Type.Integer(),
      apiAccess: Type.Boolean(),
    }),
    credits: Type.Object({
      available: Type.Integer(),
      held: Type.Integer(),
      total: Type.Integer(),
      perPeriod: Type.Integer({ description: 'What the plan grants.' }),
    }),
  },
  {
    examples: [
      {
        workspaceId: '7a0c6a0e-4f9e-4a51-9e0f-0b7d6c2f9d11',
        plan: 'pro',
        status: 'active',
        period: { start: '2026-11-01T08:00:00.000Z', end: '2026-12-01T08:00:00.000Z' },
        limits: {
          requestsPerMinute: 1_200,
          concurrentTasks: 2,
          monthlyQuota: 1_000,
          batchLimit: 5,
          maxFileSize: 20_971_520,
          retentionDays: 30,
          apiAccess: true,
        },
        credits: { available: 940, held: 2, total: 942, perPeriod: 1_000 },
      },
    ],
  },
)

export const loginEventSchema = named(
  'LoginEvent',
  {
    id: id(),
    at: time(),
    success: Type.Boolean(),
    method: Type.String({ description: '`password`, `totp`, `recovery_code` or `verify_email`.' }),
    ipAddress: nullable(Type.String()),
    userAgent: nullable(Type.String()),
    failureReason: nullable(Type.String()),
  },
  {
    examples: [
      {
        id: '3f0b6d4e-6f0a-4f6d-9f63-5a4c0f3b7e21',
        at: '2026-11-21T09:30:00.000Z',
        success: false,
        method: 'totp',
        ipAddress: '203.0.113.7',
        userAgent: 'Mozilla/5.0',
        failureReason: 'wrong_code',
      },
    ],
  },
)

export const ownWorkspaceSchema = named(
  'OwnWorkspace',
  {
    id: id(),
    name: Type.String(),
    kind: oneOf(['personal', 'team']),
    role: oneOf(roles),
    plan: Type.String(),
    current: Type.Boolean({ description: 'The one of the access token.' }),
    joinedAt: time(),
  },
  {
    examples: [
      {
        id: '7a0c6a0e-4f9e-4a51-9e0f-0b7d6c2f9d11',
        name: 'Anna Example',
        kind: 'personal',
        role: 'owner',
        plan: 'pro',
        current: true,
        joinedAt: '2026-11-01T08:00:00.000Z',
      },
    ],
  },
)

/** Sections are lists of records; their fields are those of the service, in camel case. */
export const accountExportSchema = named(
  'AccountExport',
  { profile: Type.Unsafe<object>({ $ref: 'Profile#' }) },
  { additionalProperties: true, examples: [{ profile: profileExample, memberships: [], tasks: [] }] },
)
