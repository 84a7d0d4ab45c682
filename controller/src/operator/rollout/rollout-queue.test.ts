import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { rolloutQueue } from './rollout-queue.ts'

const noon = Date.UTC(2026, 10, 23, 12)
const at = (seconds: number): string => new Date(noon + seconds * 1_000).toISOString()
const settled: RolloutStatus = { stable: 'old', weight: 0, step: -1, since: at(-9_999) }
const rolling = (since = 0): RolloutStatus => ({ ...settled, canary: 'new', since: at(since) })

function given(statuses: Readonly<Record<string, RolloutStatus | undefined>>, max = 2) {
  let seconds = 0
  // The queue reads only these fields.
  const pools = Object.entries(statuses).map(
    ([name, rollout]) => ({ metadata: { name }, status: { rollout } }) as unknown as TritonPool,
  )
  const turns = rolloutQueue({ max, pools: () => pools, nowMs: () => noon + seconds * 1_000 })
  const may = (name: string): boolean => turns.ask(name) === undefined
  /** One pass of a pool whose spec has changed. */
  const pass = (name: string): boolean => {
    const begins = may(name)
    turns.note(name, begins ? rolling(seconds) : settled, !begins)
    return begins
  }
  return { turns, may, pass, wait: (more: number) => (seconds += more) }
}

describe('the turns of rollouts', () => {
  it('are limited before any status shows them', () => {
    const { pass } = given({ a: settled, b: settled, c: settled })
    expect(['c', 'a', 'b'].map(pass)).toEqual([true, true, false])
  })

  it('go to waiting pools in order of arrival', () => {
    const { pass, turns } = given({ a: settled, b: settled, c: settled, d: settled }, 1)
    expect(['b', 'd', 'c', 'a'].map(pass)).toEqual([true, false, false, false])
    turns.note('b', { ...settled, stable: 'new' }, false)
    expect(['a', 'c', 'd', 'a'].map(pass)).toEqual([false, false, true, false])
  })

  it('include rollouts that status shows to a new leader', () => {
    expect(given({ a: rolling(), b: rolling(), c: settled }).may('c')).toBe(false)
    expect(given({ a: rolling(), b: settled, c: settled }).may('c')).toBe(true)
  })

  it('are free when a rollout ends, even before status shows it', () => {
    const { turns, may } = given({ a: rolling(), b: rolling(), c: settled })
    turns.note('a', settled, false)
    expect(may('c')).toBe(true)
  })

  it('are not used by a rollout that is paused, or an hour in one step', () => {
    const { may, turns, wait } = given({ a: rolling(), b: settled }, 1)
    wait(3_599)
    expect(may('b')).toBe(false)
    turns.note('a', { ...rolling(3_599), pausedSince: at(3_599) }, false)
    expect(may('b')).toBe(true)
    turns.note('a', rolling(), false)
    wait(1)
    expect(may('b')).toBe(true)
  })

  it('are not blocked by a pool that is gone or has failing passes', () => {
    const { pass, turns } = given({ a: rolling(), b: settled, c: settled }, 1)
    expect(['b', 'c'].map(pass)).toEqual([false, false])
    turns.note('a', settled, false)
    turns.failed('b')
    expect(pass('c')).toBe(true)
    turns.note('c', settled, false)
    pass('b')
    turns.forget('b')
    expect(pass('c')).toBe(true)
  })

  it('report the pools that they wait for', () => {
    const { turns, pass } = given({ a: rolling(), b: settled, c: settled }, 1)
    expect(turns.ask('b')).toBe('CONCURRENT_ROLLOUTS allows 1 at once, in progress: a')
    pass('b')
    expect(turns.ask('c')).toBe('CONCURRENT_ROLLOUTS allows 1 at once, in progress: a; 1 pool waits before it')
  })
})
