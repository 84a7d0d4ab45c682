import { describe, expect, it } from 'vitest'
import { parsePlans } from './parse-plans.ts'
import { defaultPlans, planNamed } from './plan.ts'

const mb = 1_048_576

describe('the default plans', () => {
  // The interface's table of limits, with the sizes of D23 and the plan `internal` of D7; null: none.
  it.each([
    ['free', false, null, 1, 0, 600, 10, true],
    ['pro', true, 1_000, 2, 5, 1_200, 20, true],
    ['business', true, 10_000, 3, 50, 2_400, 20, true],
    ['enterprise', true, 50_000, 4, 200, 6_000, 20, true],
    ['internal', true, null, 1_000, 1_000, 1_000_000, 20, false],
  ])('%s', (name, apiAccess, monthlyQuota, concurrentTasks, batchLimit, requestsPerMinute, megabytes, charged) => {
    expect(defaultPlans[name]).toMatchObject({
      apiAccess,
      monthlyQuota,
      concurrentTasks,
      batchLimit,
      requestsPerMinute,
      maxFileSizeBytes: megabytes * mb,
      maxPixels: 50_000_000,
      retentionDays: 30,
      defaultRetentionSeconds: null,
      charged,
    })
  })

  it('are five', () => {
    expect(Object.keys(defaultPlans)).toHaveLength(5)
  })
})

describe('parsePlans', () => {
  it('changes only the named fields', () => {
    const plans = parsePlans({ pro: { monthlyQuota: null, concurrentTasks: 20 }, own: { batchLimit: 3 } })
    expect(plans.pro).toEqual({ ...defaultPlans.pro, monthlyQuota: null, concurrentTasks: 20 })
    expect(plans.business).toEqual(defaultPlans.business)
    expect(plans.own?.batchLimit).toBe(3)
  })

  it.each([[[]], [null], ['pro'], [{ pro: 5 }]])('rejects %j', (value) => {
    expect(() => parsePlans(value)).toThrow(/must be an object/)
  })

  it.each<Record<string, unknown>>([
    { concurrentTasks: -1 },
    { batchLimit: 10_001 },
    { concurrentTasks: 2_147_483_648 },
    { requestsPerMinute: '100' },
    { monthlyQuota: 1.5 },
    { monthlyQuota: 'none' },
    { retentionDays: 0 },
    { defaultRetentionSeconds: 599 },
    { apiAccess: 'yes' },
    { outputFormats: 'png' },
    { outputFormats: [] },
    { inputFormats: ['gif'] },
    { requestPerMinute: 100 },
    { toString: 1 },
  ])('rejects %j by name, with advice', (changes) => {
    expect(() => parsePlans({ pro: changes })).toThrow(new RegExp(`^pro\\.${Object.keys(changes)[0]} must be`))
  })

  it('accepts a plan of any name', () => {
    expect(parsePlans({ toString: { batchLimit: 1 } }).toString).toMatchObject({ batchLimit: 1, monthlyQuota: 1_000 })
  })
})

describe('planNamed', () => {
  it('throws for a plan that is not configured', () => {
    expect(planNamed(defaultPlans, 'pro')).toBe(defaultPlans.pro)
    expect(() => planNamed(defaultPlans, 'toString')).toThrow()
    expect(() => planNamed(defaultPlans, 'forgotten')).toThrow()
  })
})
