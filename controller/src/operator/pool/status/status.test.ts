import { describe, expect, it } from 'vitest'
import type { PoolStatus } from '../pool-status.ts'
import { answerOf, canary, demand, loaded, now, pod, stable, status } from './status.fixtures.ts'
import { shouldWrite } from './status.ts'

describe('buildStatus', () => {
  it('has all ten conditions, each message a sentence', () => {
    const { conditions } = status()
    expect(conditions).toHaveLength(10)
    for (const { message } of conditions) expect(message).toMatch(/^[A-Z0-9].*\.$/)
  })

  it('is the same for the same observation', () => {
    const first = status()
    expect(status({ previous: first, now: new Date(now.getTime() + 90_000) })).toEqual(first)
  })

  it('accepts a former status with only a leader’s term', () => {
    const fenced = { leaderTerm: 2, leaderLease: 'lease-uid' } as PoolStatus
    expect(status({ previous: fenced })).toEqual(status())
  })

  it('counts pods by state, without ended ones', () => {
    const pods = [
      pod('a'),
      pod('b', { ready: false }),
      pod('c', { draining: true }),
      pod('d', { phase: 'Failed', ready: false }),
      pod('e', { phase: 'Succeeded', ready: false, draining: true }),
    ]
    expect(status({ pods, replicas: 2 })).toMatchObject({ replicas: 2, readyReplicas: 1, drainingReplicas: 1 })
  })

  it('omits unknown values and rounds the others', () => {
    expect(status().demand).toEqual({
      at: '2026-11-21T08:00:00Z',
      arrivals3s: 3,
      arrivals30s: 30,
      backlog: 0,
      batchSlots: 0,
      batchProcessing: 0,
      processing: 1,
      oldestSeconds: 0,
      serviceSeconds: 0.312,
    })
  })

  it('counts the forms of a model in the stable revision’s pods, sorted', () => {
    const [int8, fp32] = [{ form: 'int8', views: 1 } as const, { form: 'fp32', views: 1 } as const]
    const models = [
      { ...loaded(), forms: [int8, fp32, int8] },
      { ...loaded(canary), forms: [{ views: 2 } as const] },
    ]
    expect(status({ models, rollout: { canary } }).models[0]?.forms).toEqual([
      { form: 'fp32', views: 1, pods: 1 },
      { form: 'int8', views: 1, pods: 2 },
    ])
    const unknown = status({ models: [{ ...loaded(), forms: [{ views: 2 }] }] })
    expect(unknown.models[0]?.forms).toEqual([{ form: 'unknown', views: 2, pods: 1 }])
    expect(status().models[0]).not.toHaveProperty('forms')
  })

  it('reports that the old revision keeps serving if the canary does not load', () => {
    const failure = { pod: 'c', message: 'no such file' }
    const of = status({
      pods: [pod('a'), pod('c', { revision: canary, ready: false })],
      models: [loaded(), { name: 'u2netp', revision: canary, state: 'unavailable', failure }],
      rollout: { canary },
    })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'ModelLoadFailed' })
    expect(answerOf('ModelLoaded', of)).toMatchObject({ status: 'True', reason: 'Loaded' })
    expect(answerOf('Progressing', of)).toMatchObject({ status: 'False', reason: 'RolloutBlocked' })
    expect(of.models[0]).toMatchObject({
      active: { revision: stable, state: 'Loaded' },
      target: { revision: canary, state: 'FailedToLoad' },
      transition: 'BlockedByFailedLoad',
      lastFailure: { pod: 'c', reason: 'ModelLoadFailed', message: 'no such file' },
    })
  })

  it('reports a failed load after the rollback until the next canary loads', () => {
    const failed = {
      revision: canary,
      reason: 'CanaryLoadFailed',
      message: 'no',
      time: '2026-11-21T07:59:00Z',
    } as const
    const failure = { pod: 'c', message: 'no such file' }
    const broken = status({
      models: [loaded(), { name: 'u2netp', revision: canary, state: 'unavailable', failure }],
      rollout: { canary },
    })
    const back = status({ rollout: { failed }, previous: broken })
    expect(answerOf('RolledBack', back)).toMatchObject({ status: 'True', reason: 'CanaryLoadFailed' })
    expect(back.models[0]).toMatchObject({
      transition: 'BlockedByFailedLoad',
      lastFailure: { message: 'no such file' },
    })
    const next = 'cccccccc'
    const mended = status({ models: [loaded(), loaded(next)], rollout: { canary: next }, previous: back })
    expect(mended.models[0]).not.toHaveProperty('lastFailure')
  })

  it('dates a failure by its first report, from any pod', () => {
    const broken = (pod: string, previous?: PoolStatus) =>
      status({
        models: [{ name: 'u2netp', revision: stable, state: 'unavailable', failure: { pod, message: 'no\n  file' } }],
        ...(previous && { previous }),
        now: previous ? new Date(now.getTime() + 60_000) : now,
      })
    const first = broken('a')
    expect(broken('b', first).models[0]?.lastFailure).toEqual(first.models[0]?.lastFailure)
    expect(first.models[0]?.lastFailure?.message).toBe('no file')
  })

  it('reports the step of a rollout, and the takeover after the last step', () => {
    const at = (step: number, weight: number) =>
      answerOf('Progressing', status({ rollout: { canary, step, weight } })).message
    expect(at(-1, 0)).toContain('gets no requests until one of its pods is ready')
    expect(at(1, 50)).toContain('gets 50 % of the requests, step 2 of 2')
    expect(at(2, 80)).toContain('gets 80 % of the requests, and takes over')
  })

  it('reports that requests of a withdrawn revision move back to the old one', () => {
    const of = status({ rollout: { canary, step: 1, weight: 50 }, target: stable, models: [loaded(), loaded(canary)] })
    const message = `Requests move back from ${canary} to ${stable} as its pods become ready. Wait.`
    expect(answerOf('Progressing', of)).toEqual({ status: 'True', reason: 'RolloutInProgress', message })
    expect(answerOf('Ready', of).message).toBe(`1 pod serves requests. ${message}`)
    expect(of.models[0]).toMatchObject({ target: { revision: stable, state: 'Loaded' }, transition: 'InProgress' })
  })

  it('reports that the old revision keeps serving if the canary’s claim is missing', () => {
    const missingSources = [{ model: 'u2netp', message: 'there is no PersistentVolumeClaim next' }]
    const of = status({ rollout: { canary }, missingSources })
    expect(answerOf('ModelLoaded', of)).toMatchObject({ status: 'True', reason: 'Loaded' })
    expect(answerOf('ModelLoaded', of).message).toContain(`in revision ${stable}, which keeps serving`)
    expect(answerOf('Progressing', of)).toMatchObject({ status: 'False', reason: 'RolloutBlocked' })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'SourceMissing' })
    expect(of.models[0]).toMatchObject({ transition: 'InvalidSpec', lastFailure: { reason: 'SourceMissing' } })
    expect(answerOf('ModelLoaded', status({ missingSources }))).toMatchObject({
      status: 'False',
      reason: 'SourceMissing',
    })
  })

  it('reports a blocked rollback if pods of the old revision do not become ready', () => {
    const of = status({
      target: stable,
      models: [loaded(), loaded(canary)],
      pods: [pod('a'), pod('b', { ready: false, waiting: { reason: 'ImagePullBackOff', message: 'not found' } })],
      rollout: { canary, step: 1, weight: 50 },
    })
    expect(answerOf('Progressing', of)).toMatchObject({ status: 'False', reason: 'RolloutBlocked' })
    expect(answerOf('Progressing', of).message).toMatch(
      /^Pods of aaaaaaaa do not become ready, so as many pods of bbbbbbbb are kept/,
    )
  })

  it('records a decision once, if it differs from the previous one', () => {
    const first = status({ replicas: 1 })
    expect(first.scalingHistory).toMatchObject([{ from: 0, to: 1, outcome: 'Reached' }])
    const second = status({ replicas: 3, previous: first })
    expect(second.scalingHistory).toMatchObject([{ to: 1 }, { from: 1, to: 3, outcome: 'Pending' }])
    expect(status({ replicas: 3, previous: second }).scalingHistory).toHaveLength(2)
  })
})

describe('shouldWrite', () => {
  it('ignores the Lease, which a new leader writes', () => {
    const before = { ...status(), leaderLease: 'lease-uid' }
    expect(shouldWrite(before, status(), 59_999)).toBe(false)
  })

  const before = status()

  it('writes a first status at once', () => {
    expect(shouldWrite(undefined, before, 0)).toBe(true)
  })

  it('writes at once when a pod has become ready', () => {
    expect(shouldWrite(before, status({ pods: [pod('a'), pod('b')] }), 0)).toBe(true)
  })

  it('writes the demand every 15 s', () => {
    const after = status({ demand: { ...demand, arrivals3s: 9 }, startSeconds: 7 })
    expect(shouldWrite(before, after, 14_999)).toBe(false)
    expect(shouldWrite(before, after, 15_000)).toBe(true)
  })

  it('writes every minute if only the time of the reading is new', () => {
    const after = status({ demand: { ...demand, at: new Date(now.getTime() + 50_000) } })
    expect(shouldWrite(before, after, 59_999)).toBe(false)
    expect(shouldWrite(before, after, 60_000)).toBe(true)
  })

  it('compares with the API server’s response', () => {
    expect(shouldWrite(JSON.parse(JSON.stringify(before)), before, 0)).toBe(false)
  })
})
