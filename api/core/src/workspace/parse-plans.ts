import { mimeTypes } from './format.ts'
import { defaultPlans, type Plan, type Plans } from './plan.ts'
import { retentionSecondsMin } from './retention.ts'

type Rule = { readonly holds: (value: unknown) => boolean; readonly words: string }

/** Default maximum: PostgreSQL's integer. */
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
/** More object keys than fit in a request body of 1 MiB. */
const batchLimitMax = 10_000
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
  retentionDays: wholeNumber(1),
  defaultRetentionSeconds: orNull(wholeNumber(retentionSecondsMin)),
  charged: trueOrFalse,
  credits: wholeNumber(),
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Merges an operator's changes into the default plans, such as `{"pro": {"monthlyQuota": 2000}}`. A new plan starts
 * from `pro`.
 * @throws Error that names the plan and the wrong or unknown field
 */
export function parsePlans(value: unknown): Plans {
  if (!isObject(value)) throw new Error('must be an object of plans')
  const plans: Record<string, Plan> = { ...defaultPlans }
  for (const [name, changes] of Object.entries(value)) {
    if (!isObject(changes)) throw new Error(`${name} must be an object of plan fields`)
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
