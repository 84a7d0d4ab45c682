import { int, parsed, type Schema } from '../runtime/env.ts'
import { retentionSecondsMin } from '../workspace/retention.ts'

export const auditSettings = {
  auditRetentionDays: int('AUDIT_RETENTION_DAYS', {
    default: 365,
    min: 1,
    max: 36_500,
    description: 'days that entries of the audit logs are kept',
  }),
} as const satisfies Schema

/** The API shows it, and the worker deletes by it. */
export const retentionSettings = {
  defaultRetentionSeconds: parsed<number | null>(
    'DEFAULT_RETENTION_SECONDS',
    {
      default: null,
      description:
        'seconds that finished tasks and their images are kept unless task or workspace choose, at least ' +
        `${retentionSecondsMin}; a plan's retentionDays are the limit. Default: the plan's days`,
    },
    parseSeconds,
  ),
} as const satisfies Schema

function parseSeconds(text: string): number | null {
  const seconds = Number(text)
  if (/^\d{1,10}$/.test(text) && seconds >= retentionSecondsMin) return seconds
  throw new Error(`must be a whole number of seconds, at least ${retentionSecondsMin}`)
}
