import { int, type Schema } from '../runtime/env.ts'

export const auditSettings = {
  auditRetentionDays: int('AUDIT_RETENTION_DAYS', {
    default: 365,
    min: 1,
    max: 36_500,
    description: 'days that entries of the audit logs are kept',
  }),
} as const satisfies Schema
