import { beforeEach, describe, expect, it } from 'vitest'
import { readiness } from './health.ts'

describe('readiness', () => {
  let nowMs = 0
  let runs = 0
  let answer: PromiseWithResolvers<string | undefined>
  const counted = (): undefined => {
    runs += 1
  }
  const ready = () => readiness({ database: () => answer.promise, counted }, { monotonicMs: () => nowMs })

  beforeEach(() => {
    nowMs = 0
    runs = 0
    answer = Promise.withResolvers()
  })

  it('shares a run of checks among concurrent callers', async () => {
    const ask = ready()
    const asked = Array.from({ length: 1_000 }, ask)
    answer.resolve(undefined)
    const answers = await Promise.all(asked)
    expect(new Set(answers)).toEqual(new Set([answers[0]]))
    expect(answers[0]).toEqual({ ready: true, checks: { database: 'ok', counted: 'ok' } })
    expect(runs).toBe(1)
  })

  it('caches a result for a second, even a failure', async () => {
    const ask = ready()
    const first = ask()
    nowMs = 1_500
    answer.reject(new Error('internal words'))
    expect(await first).toEqual({ ready: false, checks: { database: 'unavailable', counted: 'ok' } })
    answer = Promise.withResolvers()
    answer.resolve('no')
    nowMs = 2_499
    expect(await ask()).toBe(await first)
    nowMs = 2_500
    expect(await ask()).toEqual({ ready: false, checks: { database: 'no', counted: 'ok' } })
    expect(runs).toBe(2)
  })

  it('times out checks, and does not restart a running one', async () => {
    let begun = 0
    const hanging = () => {
      begun += 1
      return answer.promise
    }
    const ask = readiness({ database: hanging }, { monotonicMs: () => nowMs, timeoutMs: 1 })
    const late = { ready: false, checks: { database: 'no answer in time' } }
    expect(await ask()).toEqual(late)
    nowMs = 1_000
    expect(await ask()).toEqual(late)
    expect(begun).toBe(1)
    answer.resolve(undefined)
    await new Promise(setImmediate) // until the check has settled
    nowMs = 2_000
    expect(await ask()).toEqual({ ready: true, checks: { database: 'ok' } })
    expect(begun).toBe(2)
  })
})
