/** What a plan allows. Figures are configuration (D7); `null` means no limit. */
export type Plan = {
  readonly apiAccess: boolean
  /** Accepted tasks per calendar month, UTC (D40). */
  readonly monthlyQuota: number | null
  /** Open single tasks, and tasks of both kinds processing at once (D39). */
  readonly concurrentTasks: number
  /** Images per batch request; 0 means the plan has no batches. */
  readonly batchLimit: number
  readonly requestsPerMinute: number
  readonly maxFileSizeBytes: number
  readonly maxPixels: number
  readonly inputFormats: readonly InputFormat[]
  readonly outputFormats: readonly OutputFormat[]
  /** Days that a finished task and its result are kept (D24), at least 7. */
  readonly retentionDays: number
  /** False: nothing is held or charged; for self-hosters (D7). */
  readonly charged: boolean
}

export type InputFormat = 'png' | 'jpeg' | 'webp'
export type OutputFormat = 'png' | 'webp' | 'jpeg'
export type Plans = Readonly<Record<string, Plan>>

export const mimeTypes = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp' } as const

const mb = 1_048_576
const paid = {
  apiAccess: true,
  maxFileSizeBytes: 20 * mb,
  maxPixels: 50_000_000,
  inputFormats: ['png', 'jpeg', 'webp'],
  outputFormats: ['png', 'webp', 'jpeg'],
  retentionDays: 30,
  charged: true,
} as const

/** The interface's table of limits, with the sizes and formats of D23 and the plan `internal` of D7. */
export const defaultPlans: Plans = {
  free: {
    ...paid,
    apiAccess: false,
    monthlyQuota: null,
    concurrentTasks: 1,
    batchLimit: 0,
    requestsPerMinute: 600,
    maxFileSizeBytes: 10 * mb,
    outputFormats: ['png'],
  },
  pro: { ...paid, monthlyQuota: 1_000, concurrentTasks: 2, batchLimit: 5, requestsPerMinute: 1_200 },
  business: { ...paid, monthlyQuota: 10_000, concurrentTasks: 3, batchLimit: 50, requestsPerMinute: 2_400 },
  enterprise: { ...paid, monthlyQuota: 50_000, concurrentTasks: 4, batchLimit: 200, requestsPerMinute: 6_000 },
  internal: {
    ...paid,
    monthlyQuota: null,
    concurrentTasks: 1_000,
    batchLimit: 1_000,
    requestsPerMinute: 1_000_000,
    charged: false,
  },
}

type Rule = { readonly holds: (value: unknown) => boolean; readonly words: string }

/** `max`: the database's integers, unless said otherwise. */
const wholeNumber = (min = 0, max = 2_147_483_647): Rule => ({
  holds: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  words: `must be a whole number from ${min} to ${max}`,
})
const orNull = ({ holds, words }: Rule): Rule => ({
  holds: (value) => value === null || holds(value),
  words: `${words}, or null`,
})
const trueOrFalse: Rule = { holds: (value) => typeof value === 'boolean', words: 'must be true or false' }
const someFormats: Rule = {
  holds: (value) => Array.isArray(value) && value.length > 0 && value.every((each) => Object.hasOwn(mimeTypes, each)),
  words: `must be a list of some of ${Object.keys(mimeTypes).join(', ')}`,
}
/** More object keys than a body of 1 MiB holds. */
const batchLimitMax = 10_000
/** The life of a result URL, which may not outlive its task (D24). */
const retentionDaysMin = 7

const rules: Readonly<Record<keyof Plan, Rule>> = {
  apiAccess: trueOrFalse,
  monthlyQuota: orNull(wholeNumber()),
  concurrentTasks: wholeNumber(),
  batchLimit: wholeNumber(0, batchLimitMax),
  requestsPerMinute: wholeNumber(),
  maxFileSizeBytes: wholeNumber(),
  maxPixels: wholeNumber(),
  inputFormats: someFormats,
  outputFormats: someFormats,
  retentionDays: wholeNumber(retentionDaysMin),
  charged: trueOrFalse,
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The default plans with an operator's changes merged in: `{"pro": {"monthlyQuota": 2000}}`. A new name is a new
 * plan on the base of `pro`.
 * @throws Error that names the plan and the field, a misspelled one too.
 */
export function parsePlans(value: unknown): Plans {
  if (!isObject(value)) throw new Error('must be an object of plans')
  const plans: Record<string, Plan> = { ...defaultPlans }
  for (const [name, changes] of Object.entries(value)) {
    if (!isObject(changes)) throw new Error(`${name} must be an object of what the plan changes`)
    for (const [field, change] of Object.entries(changes)) {
      const rule = Object.hasOwn(rules, field) ? rules[field as keyof Plan] : undefined
      if (rule === undefined) throw new Error(`${name}.${field} must be one of ${Object.keys(rules).join(', ')}`)
      if (!rule.holds(change)) throw new Error(`${name}.${field} ${rule.words}`)
    }
    const base = Object.hasOwn(plans, name) ? plans[name] : plans.pro
    plans[name] = Object.freeze({ ...base, ...changes } as Plan)
  }
  return Object.freeze(plans)
}

/** The plan of a workspace. A name that the configuration no longer has is an operator's fault, told as such. */
export function planNamed(plans: Plans, name: string): Plan {
  const plan = Object.hasOwn(plans, name) ? plans[name] : undefined
  if (plan === undefined) throw new Error(`plan ${name} is not configured: add it to PLANS`)
  return plan
}
