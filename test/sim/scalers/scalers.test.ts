import { describe, expect, it } from 'vitest'
import type { PoolView } from '../pool.ts'
import { makeTrace } from '../trace.ts'
import { hpaScaler } from './hpa.ts'
import { keda } from './keda.ts'
import { knative } from './knative.ts'
import { oracle } from './oracle.ts'
import type { Scaler } from './scaler.ts'

const setting = { startSeconds: 20, minReplicas: 1, maxReplicas: 40 }
const trace = { ...makeTrace('step', 1), phase: 0 }

const seen = (view: Partial<PoolView>): PoolView => ({
  now: 0,
  desired: 1,
  ready: 1,
  waiting: 0,
  busy: 0,
  arrived: () => 0,
  meanInPool: () => 0,
  meanBusy: () => 0,
  meanService: () => undefined,
  ...view,
})

/** The scaler's output per second, with every pod ready at once. */
function follow(scaler: Scaler, seconds: number, viewAt: (now: number) => Partial<PoolView>): number[] {
  let desired = 1
  return Array.from({ length: seconds }, (_none, index) => {
    desired = scaler(seen({ now: index + 1, desired, ready: desired, ...viewAt(index + 1) }))
    return desired
  })
}

describe('the HorizontalPodAutoscaler', () => {
  it('doubles at most, or goes to four, every 15 s', () => {
    const wanted = follow(
      hpaScaler(setting, { phase: 0 }, () => ({ replicas: 40, ratio: 9 })),
      60,
      () => ({}),
    )
    expect([wanted[13], wanted[14], wanted[29], wanted[44], wanted[59]]).toEqual([1, 4, 8, 16, 32])
  })

  it('scales down to the highest recommendation of five minutes', () => {
    const scaler = hpaScaler(setting, { phase: 0 }, ({ now }) =>
      now < 40 ? { replicas: 5, ratio: 5 } : { replicas: 2, ratio: 0.4 },
    )
    const wanted = follow(scaler, 600, () => ({}))
    expect(wanted.lastIndexOf(5) + 1).toBeGreaterThan(300)
    expect(wanted.lastIndexOf(5) + 1).toBeLessThan(345)
    expect(wanted.at(-1)).toBe(2)
  })

  it('goes on to an earlier recommendation that was limited', () => {
    const fallen = (behaviour: object) =>
      hpaScaler(setting, { phase: 0, ...behaviour }, ({ now }) =>
        now < 20 ? { replicas: 10, ratio: 10 } : { replicas: 4, ratio: 1 },
      )
    expect(follow(fallen({}), 45, () => ({})).at(-1)).toBe(10)
    expect(follow(fallen({ upTo: () => 4 }), 45, () => ({})).at(-1)).toBe(4)
  })

  it('decides in the period of the cluster', () => {
    const recommend = () => ({ replicas: 40, ratio: 9 })
    expect(follow(hpaScaler(setting, { phase: 0, syncSeconds: 5 }, recommend), 15, () => ({})).at(-1)).toBe(16)
  })

  it('changes nothing within 10 % of the target', () => {
    expect(
      follow(
        hpaScaler(setting, { phase: 0 }, () => ({ replicas: 3, ratio: 1.09 })),
        60,
        () => ({}),
      ).at(-1),
    ).toBe(1)
  })
})

describe("KEDA's scaler", () => {
  it('divides waiting and in-flight requests by the threshold', () => {
    expect(follow(keda(10)(setting, trace), 15, () => ({ waiting: 25, busy: 5 })).at(-1)).toBe(3)
    expect(follow(keda(2)(setting, trace), 30, () => ({ waiting: 7, busy: 5 })).at(-1)).toBe(6)
  })

  it('may see a lag that was counted earlier', () => {
    const arrive = (now: number) => ({ waiting: now < 14 ? 0 : 6, busy: 0 })
    const wanted = (ageSeconds: number) => follow(keda(2, { ageSeconds })(setting, trace), 15, arrive).at(-1)
    expect([wanted(1), wanted(2)]).toEqual([3, 1])
  })
})

describe("Knative's autoscaler", () => {
  it('panics at twice the target of the pods, follows six seconds, and keeps the most for a minute', () => {
    const load = (now: number) => (now > 10 && now <= 20 ? 14 : 0.6)
    const mean = (from: number, to: number) => {
      let sum = 0
      for (let second = Math.max(from, 0) + 1; second <= to; second += 1) sum += load(second)
      return sum / Math.max(1, to - Math.max(from, 0))
    }
    const wanted = follow(knative(setting, trace), 120, () => ({ meanInPool: mean }))
    expect(wanted[9]).toBe(1)
    expect(wanted[15]).toBe(20)
    expect(wanted[72]).toBe(20)
    expect(wanted[73]).toBeLessThan(20)
    expect(wanted[100]).toBe(1)
  })
})

describe('the oracle', () => {
  it('has pods ready at the step, and removes none before it ends', () => {
    const wanted = oracle(setting, trace)
    const at = (now: number) => wanted(seen({ now }))
    expect([579, 580, 600, 1_199, 1_200].map(at)).toEqual([1, 10, 10, 10, 1])
  })
})
