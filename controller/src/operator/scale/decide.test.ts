import { describe, expect, it } from 'vitest'
import { decideReplicas, followOwner, stabilizationSecondsFor, startMemory } from './decide.ts'
import type { Decision } from './decision.ts'
import { type Changes, given, scaling, steady } from './scale.fixtures.ts'

const withoutPods = { afterSeconds: 30, replicas: 0 }

describe('decideReplicas', () => {
  // rate × service time ÷ (slots × load): 16 × 0.5 ÷ 0.75 = 10.7, and so on. Each line can be checked by hand.
  it.each<[string, Changes, number, Decision['rule']]>([
    ['counts pods for the steady part', { demand: steady(16) }, 11, 'rate'],
    ['divides by the slots of a pod', { demand: steady(16), slotsPerPod: 4 }, 3, 'rate'],
    ['uses the configured utilization', { demand: steady(16), scaling: { utilization: 0.5 } }, 16, 'rate'],
    ['uses the 3 s mean in a burst', { demand: { arrivals3s: 48, arrivals30s: 75 } }, 11, 'burst'],
    ['ignores random variation', { demand: { arrivals3s: 12, arrivals30s: 75 } }, 2, 'rate'],
    ['adds pods that drain the backlog', { demand: { ...steady(12), backlog: 31 } }, 11, 'backlog'],
    [
      'drains the backlog more slowly with a higher latency target',
      { demand: { ...steady(12), backlog: 31 }, scaling: { p95Seconds: 8 } },
      9,
      'backlog',
    ],
    [
      'allows one waiting request per ready slot',
      { demand: { ...steady(12), backlog: 8 }, pods: { ready: 8 } },
      8,
      'rate',
    ],
    [
      'caps the backlog term at half the steady part plus two',
      { demand: { ...steady(12), backlog: 9_000 } },
      14,
      'backlog',
    ],
    ['drains a backlog with two pods when nothing arrives', { demand: { backlog: 9_000 } }, 2, 'backlog'],
    ['adds the slots that batches may use', { demand: { batchSlots: 9 }, slotsPerPod: 2 }, 5, 'batch'],
    ['keeps the slots that batches use', { demand: { batchProcessing: 4, processing: 4 } }, 4, 'batch'],
    ['adds batches to singles', { demand: { ...steady(16), batchSlots: 2 } }, 13, 'rate'],
    ['keeps a pod for a request in flight', { demand: { processing: 1 } }, 1, 'stabilization'],
    ['scales to zero when idle', {}, 0, 'idle'],
    [
      'wakes on the first arrival',
      { demand: { arrivals3s: 1, arrivals30s: 1 }, pods: { current: 0, ready: 0 } },
      1,
      'wake',
    ],
    ['wakes on a waiting request', { demand: { backlog: 1 }, pods: { current: 0, ready: 0 } }, 1, 'wake'],
    ['wakes for a batch', { demand: { batchSlots: 3 }, pods: { current: 0, ready: 0 } }, 3, 'wake'],
    ['stays at the minimum', { scaling: { minReplicas: 3 } }, 3, 'minimum'],
    ['stays at the maximum', { demand: steady(100) }, 40, 'maximum'],
    [
      'applies the maximum to more running pods',
      { scaling: { maxReplicas: 5 }, demand: steady(16), pods: { current: 9 } },
      5,
      'maximum',
    ],
    [
      'applies the maximum in a burst',
      { scaling: { maxReplicas: 5 }, demand: { arrivals3s: 48, arrivals30s: 50 }, pods: { current: 9 } },
      5,
      'maximum',
    ],
    ['applies the minimum of a schedule', { scaling: { schedule: { names: ['day'], minReplicas: 6 } } }, 6, 'schedule'],
    [
      'applies the maximum of a schedule',
      { demand: steady(16), scaling: { schedule: { names: ['night'], maxReplicas: 4 } } },
      4,
      'schedule',
    ],
    [
      'applies a lower minimum of a schedule',
      { scaling: { minReplicas: 3, schedule: { names: ['night'], minReplicas: 0 } } },
      0,
      'idle',
    ],
    ['keeps running pods without demand', { demand: undefined, pods: { current: 7 } }, 7, 'fallback'],
    ['starts the fallback without demand', { demand: undefined, pods: { current: 0 } }, 2, 'fallback'],
    ['keeps running pods with stale demand', { demandAgeSeconds: 31, pods: { current: 7 } }, 7, 'fallback'],
    [
      'keeps a pool at zero without demand, by default',
      { demand: undefined, scaling: { fallback: withoutPods }, pods: { current: 0, ready: 0 } },
      0,
      'fallback',
    ],
    [
      'does not start the fallback while a new leader waits for its first reading',
      { demand: undefined, ledSeconds: 30, pods: { current: 0, ready: 0 } },
      0,
      'stabilization',
    ],
    [
      'applies the minimum before the first reading',
      { demand: undefined, ledSeconds: 0, scaling: { minReplicas: 3 }, pods: { current: 0, ready: 0 } },
      3,
      'minimum',
    ],
    ['follows demand up to the configured age', { demandAgeSeconds: 30, demand: steady(16) }, 11, 'rate'],
    ['does not scale down on old demand', { demandAgeSeconds: 10, pods: { current: 7 } }, 7, 'stabilization'],
    [
      'assumes half the latency target for an unmeasured service time',
      { demand: { ...steady(3), serviceSeconds: undefined } },
      4,
      'rate',
    ],
  ])('%s', (_name, changes, replicas, rule) => {
    expect(decideReplicas(given(changes))).toMatchObject({ replicas, rule })
  })

  it('reports which bound changed the decision', () => {
    const limits = [{ minReplicas: 3 }, { maxReplicas: 1 }, { schedule: { names: ['x'], maxReplicas: 1 } }, {}]
    const answers = limits.map((bounds, index) =>
      decideReplicas(given({ scaling: bounds, demand: index === 0 ? {} : steady(16) })),
    )
    expect(answers.map(({ limited }) => limited)).toEqual(['minimum', 'maximum', 'schedule', undefined])
  })

  it.each<[string, Changes, string]>([
    ['a rate', { demand: steady(16) }, '11 pods: 16 requests/s of 0.5 s at 75 % load need 10.7.'],
    [
      'a backlog',
      { demand: { ...steady(12), backlog: 31 } },
      '11 pods: 12 requests/s of 0.5 s at 75 % load need 8, 30 waiting need 3 more.',
    ],
    [
      'a burst',
      { demand: { arrivals3s: 48, arrivals30s: 75 } },
      '11 pods for a burst, 16 requests/s in the last 3 s after 2.5 in 30 s: 16 requests/s of 0.5 s at 75 % load need ' +
        '10.7.',
    ],
    ['an idle pool', {}, 'No pods: there were no requests for 90 s.'],
    ['a request in flight', { demand: { processing: 1 } }, 'Keeps 1 pod while requests are in flight.'],
    [
      'the maximum',
      { demand: steady(96) },
      '40 pods, the maximum, instead of 64: 96 requests/s of 0.5 s at 75 % load need 64.',
    ],
    [
      'a schedule',
      { scaling: { schedule: { names: ['office', 'fair'], minReplicas: 6 } } },
      '6 pods, a bound of schedule office and fair, instead of 0: no requests arrive.',
    ],
    [
      'stale demand',
      { demandAgeSeconds: 45, pods: { current: 7 } },
      '7 pods without current demand, last read 45 s ago (limit 30 s): the pool does not scale down.',
    ],
    [
      'demand that was never read',
      { demand: undefined, demandAgeSeconds: Number.POSITIVE_INFINITY },
      '2 pods without current demand, never read: the pool does not scale down.',
    ],
    [
      'a first reading that has not come',
      { demand: undefined, ledSeconds: 4, pods: { current: 7 } },
      'Keeps 7 pods: this leader waits for its first reading of the demand, up to 30 s.',
    ],
    [
      'the same at zero',
      { demand: undefined, ledSeconds: 4, pods: { current: 0 } },
      'Keeps no pods: this leader waits for its first reading of the demand, up to 30 s.',
    ],
  ])('explains %s in one sentence', (_name, changes, sentence) => {
    expect(decideReplicas(given(changes)).sentence).toBe(sentence)
  })
})

/** Decides once a second on the demand that `brings` returns for it. */
function follow(seconds: number, brings: (second: number) => Changes, from = 0): Decision[] {
  let memory = startMemory(0, from)
  let current = from
  return Array.from({ length: seconds }, (_none, second) => {
    const changes = brings(second)
    const pods = { ready: current, ...changes.pods, current }
    const decision = decideReplicas(given({ ...changes, nowSeconds: second, memory, pods }))
    memory = decision.memory
    current = decision.replicas
    return decision
  })
}

const replicasOf = (decisions: readonly Decision[]): number[] => decisions.map(({ replicas }) => replicas)

describe('the stabilization window', () => {
  it('keeps the highest need for 60 s plus 1.5 times the start-up time', () => {
    const decisions = follow(150, (second) => ({ demand: second < 10 ? steady(16) : {} }))
    expect(replicasOf(decisions).findIndex((replicas, second) => second > 10 && replicas < 11)).toBeGreaterThanOrEqual(
      99,
    )
    expect(replicasOf(decisions).findIndex((replicas, second) => second > 10 && replicas < 11)).toBeLessThanOrEqual(102)
    expect(decisions[60]).toMatchObject({
      rule: 'stabilization',
      sentence: expect.stringContaining('needed within the last 90 s'),
    })
  })

  it('scales to zero only after it, and not while a request is in flight', () => {
    const working = follow(300, (second) => ({ demand: { processing: second < 200 ? 1 : 0 } }), 1)
    expect(replicasOf(working).slice(0, 285)).toEqual(Array(285).fill(1))
    expect(working[299]).toMatchObject({ replicas: 0, rule: 'idle' })
  })

  it('scales down in steps, to the highest later need', () => {
    const rates = (second: number) => (second < 10 ? 16 : second < 50 ? 8 : 0)
    const decisions = follow(200, (second) => ({ demand: steady(rates(second)) }))
    expect([...new Set(replicasOf(decisions))]).toEqual([11, 6, 0])
  })

  it('has the configured length, also 0', () => {
    const none = follow(10, (second) => ({
      scaling: { stabilizationWindowSeconds: 0 },
      demand: steady(second < 5 ? 16 : 0),
    }))
    expect(replicasOf(none)).toEqual([11, 11, 11, 11, 11, 0, 0, 0, 0, 0])
  })

  it('is derived from the start-up time, within a bound', () => {
    expect([0, 3, 20, 60, 100_000].map((seconds) => stabilizationSecondsFor(scaling, seconds))).toEqual([
      60, 64.5, 90, 150, 900,
    ])
    expect(stabilizationSecondsFor({ ...scaling, stabilizationWindowSeconds: 300 }, 20)).toBe(300)
  })

  it('makes a new leader keep the running pods', () => {
    const decisions = follow(120, () => ({}), 9)
    expect(replicasOf(decisions).slice(0, 90)).toEqual(Array(90).fill(9))
    expect(decisions[119]?.replicas).toBe(0)
  })

  it('remembers the pods that it kept without demand', () => {
    const decisions = follow(200, (second) => (second < 150 ? { demand: undefined } : {}), 5)
    expect(decisions[199]?.replicas).toBe(5)
  })

  it('does not remember former bounds', () => {
    const loose = follow(20, (second) => ({
      scaling: { minReplicas: second < 10 ? 9 : 1, stabilizationWindowSeconds: 600 },
    }))
    expect(loose[19]?.replicas).toBe(1)
    const raised = follow(20, (second) => ({
      scaling: { maxReplicas: second < 10 ? 5 : 40, stabilizationWindowSeconds: 600 },
      demand: steady(second < 5 ? 16 : 0),
    }))
    expect(raised[19]?.replicas).toBe(5)
  })
})

describe('a burst', () => {
  it('prevents scaling down until the panic window after it ends', () => {
    const scaled = { stabilizationWindowSeconds: 0, panicWindowSeconds: 6 }
    const burst = { arrivals3s: 6, arrivals30s: 10 }
    const decisions = follow(20, (second) => ({ scaling: scaled, demand: second < 5 ? burst : steady(0.1) }), 9)
    expect(replicasOf(decisions)).toEqual([...Array(10).fill(9), ...Array(10).fill(1)])
    expect(decisions[3]).toMatchObject({ rule: 'burst', sentence: expect.stringContaining('Stays at 9 pods') })
  })
})

describe('followOwner', () => {
  it("uses the owner's number, and reports the need by demand", () => {
    const decision = followOwner(given({ demand: steady(16), pods: { current: 3, ready: 3 } }), 3)
    expect(decision).toMatchObject({ replicas: 3, rule: 'external', inputs: { replicas: 3, rate: 16, wantedPods: 11 } })
  })

  it('reports at zero whether a request waits', () => {
    const none = { current: 0, ready: 0 }
    const wanted = (backlog: number) => followOwner(given({ demand: { backlog }, pods: none }), 0).inputs.wantedPods
    expect(wanted(1)).toBe(1)
    expect(wanted(0)).toBe(0)
  })

  it.each<[string, Changes]>([
    ['was never read', { demand: undefined }],
    ['is too old', { demand: steady(16), demandAgeSeconds: 31 }],
  ])('omits demand that %s, so a scaler does not read it as low', (_, changes) => {
    const { replicas, inputs } = followOwner(given(changes), 4)
    expect(replicas).toBe(4)
    for (const name of ['wantedPods', 'rate', 'backlog', 'steadyPods']) expect(inputs).not.toHaveProperty(name)
  })

  it('omits bounds and stabilization window', () => {
    const { inputs } = followOwner(given({ demand: steady(16) }), 4)
    for (const name of ['minReplicas', 'maxReplicas', 'stabilizedPods', 'stabilizationWindowSeconds']) {
      expect(inputs).not.toHaveProperty(name)
    }
  })
})
