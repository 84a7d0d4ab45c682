import type { Plan } from '@matte/core/workspace/plan'
import { roles } from '@matte/core/workspace/role'
import type { Subscription } from '@matte/people/identity/account/own-workspaces'
import type { LoginEventRow } from '@matte/people/identity/session/login-events'
import { type Static, Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { named, nullable, oneOf, time, uuid } from '../schema.ts'
import { optionalCode, passwordField } from './two-factor.ts'

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
    id: uuid(),
    email: Type.String(),
    emailVerified: Type.Boolean(),
    name: nullable(Type.String()),
    locale: Type.String({ description: 'BCP 47, such as `pt-BR`.' }),
    timeZone: Type.String({ description: 'IANA, such as `Europe/Vienna`.' }),
    avatarUrl: nullable(Type.String()),
    mfaEnabled: Type.Boolean({ description: 'A login asks for a code.' }),
    createdAt: time(),
  },
  profileExample,
)

const text = (maxLength: number, description: string) =>
  Type.Optional(nullable(Type.String({ maxLength, pattern: patterns.storable, description })))

export const profilePatch = Type.Object(
  {
    name: text(200, 'Empty removes it.'),
    locale: text(35, 'BCP 47.'),
    timeZone: text(64, 'IANA.'),
    avatarUrl: text(2_048, 'An https address; empty removes it.'),
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
    workspaceId: uuid(),
    plan: Type.String(),
    status: Type.String({ description: '`none` without a subscription.' }),
    period: nullable(Type.Object({ start: time(), end: time() }, { description: 'The paid period.' })),
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
      perPeriod: Type.Integer({ description: 'Credits granted by the plan.' }),
    }),
  },
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
)

export const loginEventSchema = named(
  'LoginEvent',
  {
    id: uuid(),
    at: time(),
    success: Type.Boolean(),
    method: Type.String({ description: '`password`, `totp`, `recovery_code` or `verify_email`.' }),
    ipAddress: nullable(Type.String()),
    userAgent: nullable(Type.String()),
    failureReason: nullable(Type.String()),
  },
  {
    id: '3f0b6d4e-6f0a-4f6d-9f63-5a4c0f3b7e21',
    at: '2026-11-21T09:30:00.000Z',
    success: false,
    method: 'totp',
    ipAddress: '203.0.113.7',
    userAgent: 'Mozilla/5.0',
    failureReason: 'wrong_code',
  },
)

export const ownWorkspaceSchema = named(
  'OwnWorkspace',
  {
    id: uuid(),
    name: Type.String(),
    kind: oneOf(['personal', 'team']),
    role: oneOf(roles),
    plan: Type.String(),
    current: Type.Boolean({ description: 'The workspace of the access token.' }),
    joinedAt: time(),
  },
  {
    id: '7a0c6a0e-4f9e-4a51-9e0f-0b7d6c2f9d11',
    name: 'Anna Example',
    kind: 'personal',
    role: 'owner',
    plan: 'pro',
    current: true,
    joinedAt: '2026-11-01T08:00:00.000Z',
  },
)

export const accountExportSchema = named(
  'AccountExport',
  { profile: Type.Unsafe<object>({ $ref: 'Profile#' }) },
  { profile: profileExample, memberships: [], tasks: [] },
  { additionalProperties: true },
)

export const toLoginEventView = (event: LoginEventRow): Static<typeof loginEventSchema> => ({
  id: event.id,
  at: event.at.toISOString(),
  success: event.success,
  method: event.method,
  ipAddress: event.ip_address,
  userAgent: event.user_agent,
  failureReason: event.failure_reason,
})

type Subscribed = {
  readonly workspaceId: string
  readonly plan: string
  readonly limits: Plan
  readonly subscription: Subscription | undefined
  readonly balance: { readonly available: number; readonly held: number; readonly total: number }
}

export function toOwnSubscriptionView(given: Subscribed): Static<typeof ownSubscriptionSchema> {
  const { limits, subscription, balance } = given
  const period = subscription?.period
  return {
    workspaceId: given.workspaceId,
    plan: given.plan,
    status: subscription?.status ?? 'none',
    period: period === undefined ? null : { start: period.start.toISOString(), end: period.end.toISOString() },
    limits: {
      requestsPerMinute: limits.requestsPerMinute,
      concurrentTasks: limits.concurrentTasks,
      monthlyQuota: limits.monthlyQuota,
      batchLimit: limits.batchLimit,
      maxFileSize: limits.maxFileSizeBytes,
      retentionDays: limits.retentionDays,
      apiAccess: limits.apiAccess,
    },
    credits: { available: balance.available, held: balance.held, total: balance.total, perPeriod: limits.credits },
  }
}
