import type { InputFormat, OutputFormat } from './format.ts'

/** Limits of a plan, all configurable; `null` means no limit. */
export type Plan = {
  readonly apiAccess: boolean
  /** Accepted tasks per calendar month, UTC. */
  readonly monthlyQuota: number | null
  /** Open single tasks, and tasks of both kinds processing at once. */
  readonly concurrentTasks: number
  /** Images per batch request; 0 disables batches. */
  readonly batchLimit: number
  readonly requestsPerMinute: number
  readonly maxFileSizeBytes: number
  readonly maxPixels: number
  readonly inputFormats: readonly InputFormat[]
  readonly outputFormats: readonly OutputFormat[]
  /** Days that a finished task and its images are kept at most. */
  readonly retentionDays: number
  /** Seconds that they are kept unless the task or its workspace chooses; null: `retentionDays`. */
  readonly defaultRetentionSeconds: number | null
  /** False: tasks cost nothing; for self-hosters. */
  readonly charged: boolean
  /** Credits granted by the plan: once for `free`, otherwise per period and expiring with it. */
  readonly credits: number
}

export type Plans = Readonly<Record<string, Plan>>

/** Hours after which an unused upload is deleted. Its presigned URL expires after 15 minutes. */
export const unusedHours = 24

const mb = 1_048_576
const paid = {
  apiAccess: true,
  maxFileSizeBytes: 20 * mb,
  maxPixels: 50_000_000,
  inputFormats: ['png', 'jpeg', 'webp'],
  outputFormats: ['png', 'webp', 'jpeg'],
  retentionDays: 30,
  defaultRetentionSeconds: null,
  charged: true,
} as const

/** The interface's table of plans, and the plan `internal` for self-hosters. */
export const defaultPlans: Plans = {
  free: {
    ...paid,
    apiAccess: false,
    credits: 10,
    monthlyQuota: null,
    concurrentTasks: 1,
    batchLimit: 0,
    requestsPerMinute: 600,
    maxFileSizeBytes: 10 * mb,
    outputFormats: ['png'],
  },
  pro: { ...paid, credits: 1_000, monthlyQuota: 1_000, concurrentTasks: 2, batchLimit: 5, requestsPerMinute: 1_200 },
  business: {
    ...paid,
    credits: 10_000,
    monthlyQuota: 10_000,
    concurrentTasks: 3,
    batchLimit: 50,
    requestsPerMinute: 2_400,
  },
  enterprise: {
    ...paid,
    credits: 50_000,
    monthlyQuota: 50_000,
    concurrentTasks: 4,
    batchLimit: 200,
    requestsPerMinute: 6_000,
  },
  internal: {
    ...paid,
    credits: 0,
    monthlyQuota: null,
    concurrentTasks: 1_000,
    batchLimit: 1_000,
    requestsPerMinute: 1_000_000,
    charged: false,
  },
}

/** The plan by its name. Throws if the configuration lacks it. */
export function planNamed(plans: Plans, name: string): Plan {
  const plan = Object.hasOwn(plans, name) ? plans[name] : undefined
  if (plan === undefined) throw new Error(`plan ${name} is not configured: add it to PLANS`)
  return plan
}
