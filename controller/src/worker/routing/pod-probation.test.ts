import { describe, expect, it } from 'vitest'
import {
  afterAnswer,
  afterProbe,
  failedInRowMax,
  goodAnswersAsked,
  isUsable,
  joining,
  type Outcome,
  pauseMs,
  type Standing,
} from './pod-probation.ts'

const yes = (): boolean => true
const no = (): boolean => false
const answers = (standing: Standing, outcomes: readonly Outcome[], othersSucceed = yes): Standing =>
  outcomes.reduce((now, outcome) => afterAnswer(now, outcome, othersSucceed), standing)
const serving = afterProbe(joining, true)
const times = (count: number, outcome: Outcome): Outcome[] => Array.from({ length: count }, () => outcome)

describe('a pod', () => {
  it('is used once a probe found it ready', () => {
    expect(isUsable(joining)).toBe(false)
    expect(isUsable(afterProbe(joining, false))).toBe(false)
    expect(isUsable(afterProbe(afterProbe(joining, false), true))).toBe(true)
  })

  it.each(['timeout', 'unavailable'] as const)('is ejected at once after %s, even if it is the last', (outcome) => {
    expect(answers(serving, [outcome], no)).toMatchObject({ state: 'ejected', reason: outcome, ejections: 1 })
  })

  it('is ejected when it fails repeatedly while others succeed', () => {
    expect(answers(serving, times(failedInRowMax - 1, 'failed'))).toMatchObject({ state: 'serving' })
    expect(answers(serving, times(failedInRowMax, 'failed'))).toMatchObject({ state: 'ejected', reason: 'failed' })
  })

  it('stays when others fail too, or there is no other', () => {
    expect(answers(serving, times(20, 'failed'), no)).toMatchObject({ state: 'serving' })
  })

  it('restarts its series of failures after a good answer', () => {
    const row = [...times(failedInRowMax - 1, 'failed'), 'ok'] as Outcome[]
    expect(answers(serving, [...row, ...row, ...row])).toEqual(serving)
  })

  it('is ejected when a probe finds it unready', () => {
    expect(afterProbe(serving, false)).toMatchObject({ state: 'ejected', reason: 'unready' })
  })

  it('returns on probation, and fully after enough good answers', () => {
    const back = afterProbe(answers(serving, ['timeout']), true)
    expect(back).toMatchObject({ state: 'probation' })
    expect(answers(back, times(goodAnswersAsked - 1, 'ok'))).toMatchObject({ state: 'probation' })
    expect(answers(back, times(goodAnswersAsked, 'ok'))).toEqual(serving)
  })

  it('ignores answers after its ejection', () => {
    const out = answers(serving, ['timeout'])
    expect(answers(out, ['ok', 'failed', 'unavailable', 'timeout'])).toBe(out)
  })
})

describe('the pause before the next probe', () => {
  const pauses = { usableMs: 10_000, missingMs: 30_000 }

  it('doubles with each ejection in a row, from 1 s to 30 s', () => {
    let standing = serving
    const seen = Array.from({ length: 7 }, () => {
      standing = answers(standing, ['timeout'])
      const pause = pauseMs(standing, pauses)
      standing = afterProbe(standing, true)
      return pause
    })
    expect(seen).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  it('restarts after a passed probation', () => {
    const twice = answers(afterProbe(answers(serving, ['timeout']), true), ['timeout'])
    const passed = answers(afterProbe(twice, true), times(goodAnswersAsked, 'ok'))
    expect(pauseMs(answers(passed, ['timeout']), pauses)).toBe(1_000)
  })

  it('doubles while an ejected pod is unready, up to the source’s limit', () => {
    const seen = (missingMs: number) => {
      let standing = answers(serving, ['unavailable'])
      return Array.from({ length: 7 }, () => {
        const pause = pauseMs(standing, { usableMs: 1_000, missingMs })
        standing = afterProbe(standing, false)
        return pause
      })
    }
    expect(seen(30_000)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    expect(seen(1_000)).toEqual(times(7, 'ok').map(() => 1_000))
  })

  it('is zero for a new pod, short while it starts, and regular in use', () => {
    expect(pauseMs(joining, pauses)).toBe(0)
    expect(pauseMs(afterProbe(joining, false), pauses)).toBe(250)
    expect(pauseMs(afterProbe(afterProbe(joining, false), false), pauses)).toBe(500)
    expect(pauseMs(serving, pauses)).toBe(10_000)
  })
})
