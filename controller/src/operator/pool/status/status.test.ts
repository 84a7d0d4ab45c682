import { describe, expect, it } from 'vitest'
import { toKubeTime } from '../conditions.ts'
import type { PoolStatus, RolloutStatus } from '../pool-status.ts'
import type { ConditionType } from '../reasons.ts'
import { type PoolSpecInput, withDefaults } from '../triton-pool.ts'
import type { DemandObservation, PodObservation, PoolObservation } from './observation.ts'
import { buildStatus, shouldWrite } from './status.ts'
import type { StatusInput } from './status-input.ts'

const stable = 'aaaaaaaa'
const canary = 'bbbbbbbb'
const now = new Date('2026-11-21T08:00:00Z')
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000)

const demand: DemandObservation = {
  at: now,
  ageSeconds: 0,
  arrivals3s: 3,
  arrivals30s: 30,
  backlog: 0,
  batchSlots: 0,
  batchProcessing: 0,
  processing: 1,
  oldestSeconds: 0,
  serviceSeconds: 0.3123456,
  p95Seconds: undefined,
  missedShare: undefined,
}

const pod = (name: string, changes: Partial<PodObservation> = {}): PodObservation => ({
  name,
  revision: stable,
  phase: 'Running',
  ready: true,
  draining: false,
  createdAt: ago(60),
  restarts: 0,
  ...changes,
})

type Changes = {
  readonly spec?: Partial<PoolSpecInput>
  readonly rollout?: Partial<RolloutStatus>
  /** By default what is being tried, or was, else what serves. */
  readonly target?: string
  readonly replicas?: number
  readonly previous?: PoolStatus
  readonly decision?: Partial<StatusInput['decision']>
  readonly now?: Date
} & Partial<PoolObservation>

const modelSpec = { name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }
const loaded = (revision = stable) => ({ name: 'u2netp', revision, state: 'ready' }) as const

function status({
  spec,
  rollout,
  target = rollout?.failed?.revision ?? rollout?.canary ?? stable,
  replicas = 1,
  previous,
  decision,
  now: at = now,
  ...observed
}: Changes = {}): PoolStatus {
  return buildStatus({
    pool: {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name: 'pool', generation: 7 },
      spec: withDefaults({ models: [modelSpec], ...spec }),
    },
    observed: {
      pods: [pod('a')],
      deployments: [],
      models: [loaded()],
      demand,
      duplicates: [],
      missingSources: [],
      badSchedules: [],
      bounds: { minReplicas: 1, maxReplicas: 10 },
      slotsPerPod: 2,
      startSeconds: 6.2,
      stabilizationWindowSeconds: 69.3,
      ...observed,
    },
    decision: { replicas, rule: 'rate', sentence: 'So many.', inputs: { rate: 1 }, ...decision },
    target,
    rollout: { stable, weight: 0, step: -1, since: '2026-11-21T07:00:00Z', ...rollout },
    previous,
    leaderTerm: 3,
    now: at,
  })
}

const answerOf = (type: ConditionType, of: PoolStatus) => {
  const { status, reason, message } = of.conditions.find((condition) => condition.type === type) ?? {}
  return { status, reason, message }
}

describe('buildStatus', () => {
  it('gives all eight answers, each a sentence', () => {
    const { conditions } = status()
    expect(conditions).toHaveLength(8)
    for (const { message } of conditions) expect(message).toMatch(/^[A-Z0-9].*\.$/)
  })

  it('is the same when the same is observed again', () => {
    const first = status()
    expect(status({ previous: first, now: new Date(now.getTime() + 90_000) })).toEqual(first)
  })

  it('goes on from a status that has nothing but a leader’s term', () => {
    const fenced = { leaderTerm: 2, leaderLease: 'lease-uid' } as PoolStatus
    expect(status({ previous: fenced })).toEqual(status())
  })

  it('counts pods by what they do, and ended ones not at all', () => {
    const pods = [
      pod('a'),
      pod('b', { ready: false }),
      pod('c', { draining: true }),
      pod('d', { phase: 'Failed', ready: false }),
      pod('e', { phase: 'Succeeded', ready: false, draining: true }),
    ]
    expect(status({ pods, replicas: 2 })).toMatchObject({ replicas: 2, readyReplicas: 1, drainingReplicas: 1 })
  })

  it('leaves out values that are unknown and rounds the others', () => {
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

  it('reports a Kubernetes error and its back-off with the same message', () => {
    const waiting = (reason: string, message: string) =>
      status({ pods: [pod('a', { phase: 'Pending', ready: false, waiting: { reason, message } })] })
    const fault = 'failed to pull and unpack image "x": not found'
    const back = waiting('ImagePullBackOff', `Back-off pulling image "x": ErrImagePull: ${fault}`)
    expect(back).toEqual(waiting('ErrImagePull', fault))
    expect(answerOf('Ready', back)).toMatchObject({ status: 'False', reason: 'ImagePullFailed' })
  })

  it('reports a refusal with the same message though each attempt names another pod', () => {
    const refused = (name: string) =>
      status({
        replicas: 2,
        deployments: [
          {
            revision: stable,
            replicas: 2,
            replicaFailure: { reason: 'FailedCreate', message: `pods "${name}" is forbidden: exceeded quota: q` },
          },
        ],
      })
    expect(refused('a-1')).toEqual(refused('a-2'))
    expect(answerOf('Ready', refused('a-1'))).toMatchObject({ status: 'True', reason: 'QuotaRefused' })
  })

  it('has a reason of its own for a refusal that is no quota', () => {
    const replicaFailure = { reason: 'FailedCreate', message: 'violates PodSecurity "restricted:latest"' }
    const of = status({ pods: [], deployments: [{ revision: stable, replicas: 1, replicaFailure }] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'PodRefused' })
  })

  it.each([
    ['PodUnschedulable', { phase: 'Pending', unschedulable: '0/3 nodes are available: 3 Insufficient cpu.' }],
    ['ConfigMissing', { waiting: { reason: 'CreateContainerConfigError', message: 'secret "s" not found' } }],
    ['PodCrashing', { restarts: 1, waiting: { reason: 'CrashLoopBackOff' } }],
    ['PodCrashing', { restarts: 3, lastExit: { exitCode: 137, reason: 'OOMKilled' } }],
  ] as const)('says %s with what Kubernetes says', (reason, changes) => {
    const of = status({ pods: [pod('a', { ready: false, ...changes })] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason })
    expect(answerOf('Degraded', of)).toMatchObject({ status: 'True', reason })
  })

  it('names how a crash ended', () => {
    const lastExit = { exitCode: 137, reason: 'OOMKilled' }
    const of = status({ pods: [pod('a', { ready: false, restarts: 3, lastExit })] })
    expect(answerOf('Ready', of).message).toContain(
      'Pod a has restarted 3 times, last after exit code 137 (OOMKilled).',
    )
  })

  it('does not call a pod crashing for one restart that went well', () => {
    const of = status({ pods: [pod('a', { ready: false, restarts: 1, lastExit: { exitCode: 1 } })] })
    expect(answerOf('Ready', of)).toMatchObject({ reason: 'Starting' })
  })

  it('counts pods with the same problem and names one', () => {
    const waiting = { reason: 'ErrImagePull', message: 'not found' }
    const pods = ['c', 'b', 'a'].map((name) => pod(name, { ready: false, waiting }))
    expect(answerOf('Degraded', status({ pods })).message).toMatch(/^3 pods, such as a, cannot pull the image nvcr/)
  })

  it('reports three problems and counts the rest', () => {
    const duplicates = ['1', '2', '3', '4', '5'].map((modelVersion) => ({ modelVersion, pool: 'older' }))
    expect(answerOf('Degraded', status({ duplicates })).message).toMatch(/And 2 more\.$/)
  })

  it.each([
    ['DefaultConflict', { defaultConflict: 'older' }],
    ['DuplicateModelVersion', { duplicates: [{ modelVersion: 'u2netp', pool: 'older' }] }],
    ['ScheduleInvalid', { badSchedules: [{ name: 'night', message: 'timeZone Mars is not known' }] }],
  ] as const)('is ready with %s, and gives that as the reason', (reason, changes) => {
    const of = status(changes)
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason })
    expect(answerOf('Degraded', of)).toMatchObject({ status: 'True', reason })
  })

  it('is starting while a young pod runs, and without a known reason when it has run for long', () => {
    const young = status({ pods: [pod('a', { ready: false })], models: [] })
    expect(answerOf('Ready', young)).toMatchObject({ status: 'False', reason: 'Starting' })
    const old = status({ pods: [pod('a', { ready: false, createdAt: ago(121) })], models: [] })
    expect(answerOf('Ready', old)).toMatchObject({ status: 'False', reason: 'NoPodReady' })
  })

  it('is still starting after long when a model is being loaded', () => {
    const models = [{ name: 'u2netp', revision: stable, state: 'loading' }] as const
    const of = status({ pods: [pod('a', { ready: false, createdAt: ago(900) })], models })
    expect(answerOf('Ready', of).reason).toBe('Starting')
  })

  it('is not ready with a model of another shape, though Triton is', () => {
    const wrongShape = { pod: 'a', message: 'output alpha is FP32 [1,320,320], expected UINT8 [320,320]' }
    const of = status({ models: [{ ...loaded(), wrongShape }] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'ModelShapeWrong' })
    expect(answerOf('ModelLoaded', of)).toMatchObject({ status: 'False', reason: 'ModelShapeWrong' })
    expect(of.models[0]).toMatchObject({ target: { state: 'WrongShape' }, transition: 'BlockedByFailedLoad' })
  })

  it('is ready with one of two models of another shape', () => {
    const models = [modelSpec, { ...modelSpec, name: 'two', modelVersion: 'two' }]
    const wrongShape = { pod: 'a', message: 'no output alpha' }
    const of = status({ spec: { models }, models: [{ ...loaded(), name: 'two', wrongShape }, loaded()] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'ModelShapeWrong' })
    expect(answerOf('ModelLoaded', of).status).toBe('False')
  })

  it('says at zero that the source is missing rather than that all is well', () => {
    const missingSources = [{ model: 'u2netp', message: 'persistentvolumeclaims "models" not found' }]
    const of = status({ pods: [], replicas: 0, models: [], missingSources })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'SourceMissing' })
    expect(of.models[0]).toMatchObject({ transition: 'InvalidSpec', lastFailure: { reason: 'SourceMissing' } })
  })

  it('leaves the number to an external owner, and needs no demand then', () => {
    const spec: Partial<PoolSpecInput> = { replicas: 1, scaling: { owner: 'external' } }
    const of = status({ spec, demand: { ...demand, ageSeconds: 900 } })
    expect(answerOf('ScalingActive', of)).toMatchObject({ status: 'False', reason: 'ExternalOwner' })
    expect(answerOf('Degraded', of).status).toBe('False')
  })

  it('does not promise a pod at zero that only an external owner can ask for', () => {
    const spec: Partial<PoolSpecInput> = { replicas: 0, scaling: { owner: 'external' } }
    const of = status({ spec, pods: [], models: [], replicas: 0, decision: { rule: 'external' } })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'AtZero' })
    expect(answerOf('Ready', of).message).toContain('until it asks for one')
  })

  it('says that the demand was never read', () => {
    const of = status({ demand: undefined, decision: { rule: 'fallback' }, demandFailure: 'connect ECONNREFUSED' })
    expect(answerOf('ScalingActive', of)).toMatchObject({ status: 'False', reason: 'DemandStale' })
    expect(answerOf('Degraded', of).message).toMatch(/^The demand has never been read \(connect ECONNREFUSED\)\. /)
    expect(of).not.toHaveProperty('demand')
  })

  it.each([
    ['maximum', 'AtMaximum'],
    ['minimum', 'AtMinimum'],
    ['schedule', 'ScheduleBound'],
  ] as const)('says that the %s limits it', (limited, reason) => {
    const of = status({ decision: { limited }, bounds: { minReplicas: 2, maxReplicas: 9, schedules: ['day'] } })
    expect(answerOf('ScalingLimited', of)).toMatchObject({ status: 'True', reason })
  })

  it.each([
    ['ScaleDown', ['ScaleDown', undefined]],
    ['RevisionReplaced', ['ScaleDown', 'RevisionReplaced']],
    ['PodDeleted', [undefined]],
  ] as const)('says %s of draining pods', (reason, drains) => {
    const going = drains.map((drainReason, index) =>
      pod(`g${index}`, { draining: true, ...(drainReason && { drainReason }) }),
    )
    expect(answerOf('Draining', status({ pods: [pod('a'), ...going] }))).toMatchObject({ status: 'True', reason })
  })

  it('says of a canary that does not load that the old revision keeps serving', () => {
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

  it('reports a wrong checksum once, and not that its container exits', () => {
    const message = '/models/u2netp/1/model.onnx has sha256:1, and the spec asks for sha256:2'
    const bad = pod('c', {
      ready: false,
      phase: 'Pending',
      waiting: { reason: 'CrashLoopBackOff' },
      wrongFiles: [{ model: 'u2netp', message }],
    })
    const failure = { pod: 'c', message, reason: 'ChecksumMismatch' } as const
    const models = [{ name: 'u2netp', revision: stable, state: 'unavailable', failure } as const]
    const of = status({ pods: [bad], models })
    for (const type of ['Ready', 'ModelLoaded'] as const) {
      expect(answerOf(type, of)).toMatchObject({ status: 'False', reason: 'ChecksumMismatch' })
    }
    expect(answerOf('Degraded', of)).toEqual({
      status: 'True',
      reason: 'ChecksumMismatch',
      message:
        `Pod c has a file with another checksum than spec: model u2netp: ${message}. ` +
        'Put the right file in place, or correct the checksum.',
    })
    expect(of.models[0]).toMatchObject({
      transition: 'BlockedByFailedLoad',
      lastFailure: { pod: 'c', reason: 'ChecksumMismatch', message },
    })
  })

  it('keeps a failed load in sight after the canary was taken back, and forgets it when the next one loads', () => {
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

  it('says which step a rollout is at, and that it takes over behind the last', () => {
    const at = (step: number, weight: number) =>
      answerOf('Progressing', status({ rollout: { canary, step, weight } })).message
    expect(at(-1, 0)).toContain('gets no images until a pod of it is ready')
    expect(at(1, 50)).toContain('gets 50 % of the images, step 2 of 2')
    expect(at(2, 80)).toContain('gets 80 % of the images, and takes over')
  })

  it('says of a revision that is withdrawn that the old one takes its images back', () => {
    const of = status({ rollout: { canary, step: 1, weight: 50 }, target: stable, models: [loaded(), loaded(canary)] })
    const message = `${stable} takes its images back from ${canary} as its pods become ready. Wait.`
    expect(answerOf('Progressing', of)).toEqual({ status: 'True', reason: 'RolloutInProgress', message })
    expect(answerOf('Ready', of).message).toBe(`1 pod serves requests. ${message}`)
    expect(of.models[0]).toMatchObject({ target: { revision: stable, state: 'Loaded' }, transition: 'InProgress' })
  })

  it('says of a canary whose claim is missing that the old revision keeps serving', () => {
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

  it('names the init container that exits again and again, with its own restarts', () => {
    const initFailure = { container: 'fetch', restarts: 4, lastExit: { exitCode: 6, message: 'no such host' } }
    const waiting = { reason: 'CrashLoopBackOff' }
    const of = status({ pods: [pod('a', { ready: false, waiting, initFailure })] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'PodCrashing' })
    expect(answerOf('Ready', of).message).toContain(
      'Pod a has an init container, fetch, that has restarted 4 times, last after exit code 6: no such host.',
    )
    const first = pod('a', { ready: false, initFailure: { ...initFailure, restarts: 1 } })
    expect(answerOf('Ready', status({ pods: [first] }))).toMatchObject({ reason: 'Starting' })
  })

  it('reports an update that is refused, while the pool is ready', () => {
    const change = { what: 'update Service p', message: 'field is immutable', revision: stable }
    const of = status({ refusedChanges: [{ ...change, blocking: false, ofPods: false }] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'ChangeRefused' })
    expect(answerOf('Degraded', of).message).toMatch(/^Kubernetes refuses to update Service p: field is immutable\. /)
    expect(answerOf('Progressing', of)).toMatchObject({ status: 'False', reason: 'Settled' })
  })

  it('says that a way back is blocked when pods of the old revision do not come', () => {
    const seen = {
      target: stable,
      models: [loaded(), loaded(canary)],
      pods: [pod('a'), pod('b', { ready: false, waiting: { reason: 'ImagePullBackOff', message: 'not found' } })],
    }
    const tight = (seconds: number) => {
      const back = { kept: 1, leaving: 0, tight: true, readyBefore: 1, since: toKubeTime(ago(seconds)) }
      return answerOf('Progressing', status({ ...seen, rollout: { canary, step: 1, weight: 50, back } })).reason
    }
    expect(tight(600)).toBe('RolloutInProgress')
    expect(tight(601)).toBe('RolloutBlocked')
    const of = status({ ...seen, rollout: { canary, step: 1, weight: 50 } })
    expect(answerOf('Progressing', of)).toMatchObject({ status: 'False', reason: 'RolloutBlocked' })
    expect(answerOf('Progressing', of).message).toMatch(/^Pods of aaaaaaaa do not become ready, so bbbbbbbb goes on/)
  })

  it('bounds what it quotes', () => {
    const failure = { pod: 'a', message: 'x'.repeat(100_000) }
    const of = status({ models: [{ name: 'u2netp', revision: stable, state: 'unavailable', failure }] })
    expect(JSON.stringify(of).length).toBeLessThan(10_000)
  })

  it('records a decision once, when it differs from the one before', () => {
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

  it('writes the demand each 15 s', () => {
    const after = status({ demand: { ...demand, arrivals3s: 9 }, startSeconds: 7 })
    expect(shouldWrite(before, after, 14_999)).toBe(false)
    expect(shouldWrite(before, after, 15_000)).toBe(true)
  })

  it('writes each minute when nothing but the time of the reading is new', () => {
    const after = status({ demand: { ...demand, at: new Date(now.getTime() + 50_000) } })
    expect(shouldWrite(before, after, 59_999)).toBe(false)
    expect(shouldWrite(before, after, 60_000)).toBe(true)
  })

  it('compares with what the API server gives back', () => {
    expect(shouldWrite(JSON.parse(JSON.stringify(before)), before, 0)).toBe(false)
  })
})
