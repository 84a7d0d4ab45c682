import type { Usage } from '@matte/core/usage/read-usage'
import type { UsageDetail } from '@matte/core/usage/read-usage-detail'
import { type Static, Type } from 'typebox'
import { count, named, nullable, time, uuid } from './schema.ts'

const counts = {
  totalTasks: Type.Integer({ description: 'Tasks accepted.' }),
  succeededTasks: Type.Integer({ description: 'Runs that succeeded in this period.' }),
  failedTasks: Type.Integer(),
}

const creditsConsumed = Type.Integer({ description: 'Credits captured by succeeded tasks.' })
const averageLatencyMs = Type.Integer({
  description: 'Creation to completion of succeeded tasks in milliseconds; 0 without any.',
})

const consumption = {
  creditsConsumed,
  apiRequests: Type.Integer({
    description: 'Requests with a valid key, refused ones included; a second or two behind.',
  }),
  averageLatencyMs,
}

/** Totals of a model or a member. */
const share = { ...counts, canceledTasks: Type.Integer(), creditsConsumed, averageLatencyMs }

const day = { totalTasks: 3, succeededTasks: 2, failedTasks: 1 }
const spent = { creditsConsumed: 2, apiRequests: 19, averageLatencyMs: 1_420 }

export const usageSchema = named(
  'Usage',
  {
    period: Type.Object(
      { start: time(), end: time() },
      { description: 'The current calendar month, UTC; `end` is the start of the next.' },
    ),
    ...counts,
    canceledTasks: Type.Integer(),
    ...consumption,
    errorRate: Type.Number({ minimum: 0, maximum: 1, description: 'Failed ÷ (failed + succeeded); 0 without any.' }),
    monthlyQuota: Type.Object({
      limit: nullable(Type.Integer({ description: 'Null: the plan has no limit.' })),
      used: Type.Integer(),
      remaining: nullable(Type.Integer()),
      resetsAt: time(),
    }),
    credits: nullable(
      Type.Object(
        { available: count('Can be spent now.'), held: count('Held for open tasks and disputed payments.') },
        { description: 'Null: the plan is not charged.' },
      ),
    ),
    models: Type.Array(Type.Object({ modelVersion: Type.String(), ...share }), {
      description: 'This month by model, most tasks first. Tasks from before an upgrade to this field are missing.',
    }),
    daily: Type.Array(
      Type.Object({ date: Type.String({ format: 'date', description: 'UTC.' }), ...counts, ...consumption }),
      { description: 'The last 30 days, today included, oldest first: 30 entries.' },
    ),
  },
  {
    period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
    ...day,
    canceledTasks: 0,
    ...spent,
    errorRate: 1 / 3,
    monthlyQuota: { limit: 1_000, used: 3, remaining: 997, resetsAt: '2026-12-01T00:00:00.000Z' },
    credits: { available: 812, held: 1 },
    models: [{ modelVersion: 'service-v2', ...day, canceledTasks: 0, creditsConsumed: 2, averageLatencyMs: 1_420 }],
    daily: [{ date: '2026-11-21', ...day, ...spent }],
  },
)

const trend = Type.Array(
  Type.Object({
    date: Type.String({ format: 'date', description: 'UTC.' }),
    ...counts,
    canceledTasks: Type.Integer(),
    creditsConsumed,
  }),
  { description: 'Days with tasks among the last 30, oldest first; empty after the twentieth entry.' },
)
const shareExample = { ...day, canceledTasks: 0, creditsConsumed: 2, averageLatencyMs: 1_420 }
const trendExample = [{ date: '2026-11-21', ...day, canceledTasks: 0, creditsConsumed: 2 }]

export const usageDetailSchema = named(
  'UsageDetail',
  {
    models: Type.Array(Type.Object({ modelVersion: Type.String(), ...share, daily: trend }), {
      description: 'Totals of this month by model, most tasks first.',
    }),
    members: Type.Array(
      Type.Object({
        userId: nullable(uuid('Null: keys that no person created.')),
        name: nullable(Type.String()),
        email: nullable(Type.String({ description: 'Null: the account is erased.' })),
        ...share,
        daily: trend,
      }),
      { description: 'Totals of this month by the member who created the task or the key, most tasks first.' },
    ),
  },
  {
    models: [{ modelVersion: 'service-v2', ...shareExample, daily: trendExample }],
    members: [
      {
        userId: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1',
        name: 'Jane Roe',
        email: 'jane@example.com',
        ...shareExample,
        daily: trendExample,
      },
    ],
  },
)

type UsageDetailView = Static<typeof usageDetailSchema>

export const toUsageDetailView = ({ models, members }: UsageDetail): UsageDetailView => ({
  models: models.map((model) => ({ ...model, daily: [...model.daily] })),
  members: members.map((member) => ({ ...member, daily: [...member.daily] })),
})

export function toUsageView({ period, monthlyQuota, ...usage }: Usage) {
  return {
    ...usage,
    models: [...usage.models],
    period: { start: period.start.toISOString(), end: period.end.toISOString() },
    monthlyQuota: { ...monthlyQuota, resetsAt: monthlyQuota.resetsAt.toISOString() },
  }
}
