import { mimeTypes } from './format.ts'
import { defaultPlans, type Plan, type Plans } from './plan.ts'

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
  credits: wholeNumber(),
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
