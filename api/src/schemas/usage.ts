import type { Usage } from '@matte/core/usage/read-usage'
import { Type } from 'typebox'
import { count, named, nullable, time } from './schema.ts'

const counts = {
  totalTasks: Type.Integer({ description: 'Tasks accepted.' }),
  succeededTasks: Type.Integer({ description: 'Runs that succeeded in this period.' }),
  failedTasks: Type.Integer(),
}

const consumption = {
  creditsConsumed: Type.Integer({ description: 'Credits captured by succeeded tasks.' }),
  apiRequests: Type.Integer({
    description: 'Requests with a valid key, refused ones included; a second or two behind.',
  }),
  averageLatencyMs: Type.Integer({
    description: 'Creation to completion of succeeded tasks in milliseconds; 0 without any.',
  }),
}

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
        { available: count('Can be spent now.'), held: count('Held for open tasks.') },
        { description: 'Null: the plan is not charged.' },
      ),
    ),
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
    daily: [{ date: '2026-11-21', ...day, ...spent }],
  },
)

export function toUsageView({ period, monthlyQuota, ...usage }: Usage) {
  return {
    ...usage,
    period: { start: period.start.toISOString(), end: period.end.toISOString() },
    monthlyQuota: { ...monthlyQuota, resetsAt: monthlyQuota.resetsAt.toISOString() },
  }
}
