import { describe, expect, it } from 'vitest'
import type { PoolSpecInput } from '../triton-pool.ts'
import { ago, answerOf, demand, loaded, modelSpec, pod, stable, status } from './status.fixtures.ts'

describe('the conditions', () => {
  it('reports a Kubernetes error and its back-off with the same message', () => {
    const waiting = (reason: string, message: string) =>
      status({ pods: [pod('a', { phase: 'Pending', ready: false, waiting: { reason, message } })] })
    const fault = 'failed to pull and unpack image "x": not found'
    const back = waiting('ImagePullBackOff', `Back-off pulling image "x": ErrImagePull: ${fault}`)
    expect(back).toEqual(waiting('ErrImagePull', fault))
    expect(answerOf('Ready', back)).toMatchObject({ status: 'False', reason: 'ImagePullFailed' })
  })

  it('reports repeated refusals with the same message, although each names another pod', () => {
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

  it('has another reason for a refusal that is not a quota’s', () => {
    const replicaFailure = { reason: 'FailedCreate', message: 'violates PodSecurity "restricted:latest"' }
    const of = status({ pods: [], deployments: [{ revision: stable, replicas: 1, replicaFailure }] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'PodRefused' })
  })

  it.each([
    ['PodUnschedulable', { phase: 'Pending', unschedulable: '0/3 nodes are available: 3 Insufficient cpu.' }],
    ['ConfigMissing', { waiting: { reason: 'CreateContainerConfigError', message: 'secret "s" not found' } }],
    ['PodCrashing', { restarts: 1, waiting: { reason: 'CrashLoopBackOff' } }],
    ['PodCrashing', { restarts: 3, lastExit: { exitCode: 137, reason: 'OOMKilled' } }],
  ] as const)('reports %s with the message of Kubernetes', (reason, changes) => {
    const of = status({ pods: [pod('a', { ready: false, ...changes })] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason })
    expect(answerOf('Degraded', of)).toMatchObject({ status: 'True', reason })
  })

  it.each([
    ['RolloutPaused', 'Unknown'],
    ['RolloutQueued', 'True'],
  ] as const)('reports why a rollout is held: %s', (reason, progressing) => {
    const of = status({ held: { reason, message: 'Revision bbbbbbbb is held.' } })
    expect(answerOf('Progressing', of)).toEqual({ status: progressing, reason, message: 'Revision bbbbbbbb is held.' })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason })
  })

  it('reports an annotation that has no effect', () => {
    const ignoredAnnotations = [{ annotation: 'matte.dev/pause', message: 'its value "yes" is not "true" or "false"' }]
    const of = status({ ignoredAnnotations })
    expect(answerOf('Degraded', of)).toMatchObject({ status: 'True', reason: 'AnnotationIgnored' })
    expect(answerOf('Degraded', of).message).toMatch(/^The annotation matte.dev\/pause has no effect: its value "yes"/)
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True' })
  })

  it('reports how a container crashed', () => {
    const lastExit = { exitCode: 137, reason: 'OOMKilled' }
    const of = status({ pods: [pod('a', { ready: false, restarts: 3, lastExit })] })
    expect(answerOf('Ready', of).message).toContain(
      'Pod a has restarted 3 times, last after exit code 137 (OOMKilled).',
    )
  })

  it('does not report a single successful restart as a crash', () => {
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
  ] as const)('is ready with the reason %s', (reason, changes) => {
    const of = status(changes)
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason })
    expect(answerOf('Degraded', of)).toMatchObject({ status: 'True', reason })
  })

  it('is Starting with a young pod, and has no known reason with an old one', () => {
    const young = status({ pods: [pod('a', { ready: false })], models: [] })
    expect(answerOf('Ready', young)).toMatchObject({ status: 'False', reason: 'Starting' })
    const old = status({ pods: [pod('a', { ready: false, createdAt: ago(121) })], models: [] })
    expect(answerOf('Ready', old)).toMatchObject({ status: 'False', reason: 'NoPodReady' })
  })

  it('is still Starting with an old pod that loads a model', () => {
    const models = [{ name: 'u2netp', revision: stable, state: 'loading' }] as const
    const of = status({ pods: [pod('a', { ready: false, createdAt: ago(900) })], models })
    expect(answerOf('Ready', of).reason).toBe('Starting')
  })

  it('is not ready with a model of another shape, although Triton is', () => {
    const wrongShape = {
      pod: 'a',
      message: 'output alpha is FP32 [1,320,320], expected UINT8 [320,320]',
      reason: 'ModelShapeWrong',
    } as const
    const of = status({ models: [{ ...loaded(), wrongShape }] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'ModelShapeWrong' })
    expect(answerOf('ModelLoaded', of)).toMatchObject({ status: 'False', reason: 'ModelShapeWrong' })
    expect(of.models[0]).toMatchObject({ target: { state: 'WrongShape' }, transition: 'BlockedByFailedLoad' })
  })

  it('is not ready with a refused licence, and names it', () => {
    const message = 'model u2netp is licensed under GPL-3.0-only, and only these are allowed: MIT'
    const of = status({ models: [{ ...loaded(), wrongShape: { pod: 'a', message, reason: 'LicenceRefused' } }] })
    for (const type of ['Ready', 'ModelLoaded'] as const) {
      expect(answerOf(type, of)).toMatchObject({ status: 'False', reason: 'LicenceRefused' })
      expect(answerOf(type, of).message).toContain('under GPL-3.0-only')
    }
    expect(answerOf('Degraded', of)).toMatchObject({ status: 'True', reason: 'LicenceRefused' })
    expect(of.models[0]).toMatchObject({
      target: { state: 'LicenceRefused' },
      lastFailure: { reason: 'LicenceRefused' },
    })
  })

  it('is not ready if the licence in spec is refused, so there are no pods', () => {
    const replicaFailure = { reason: 'LicenceRefused', message: 'model u2netp is licensed under GPL-3.0-only' }
    const of = status({ pods: [], models: [], deployments: [{ revision: stable, replicas: 1, replicaFailure }] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'LicenceRefused' })
    expect(answerOf('Ready', of).message).toContain('This install refuses the pods: model u2netp')
  })

  it('is ready if only one of two models has another shape', () => {
    const models = [modelSpec, { ...modelSpec, name: 'two', modelVersion: 'two' }]
    const wrongShape = { pod: 'a', message: 'no output alpha', reason: 'ModelShapeWrong' } as const
    const of = status({ spec: { models }, models: [{ ...loaded(), name: 'two', wrongShape }, loaded()] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'ModelShapeWrong' })
    expect(answerOf('ModelLoaded', of).status).toBe('False')
  })

  it('reports a missing source at zero pods', () => {
    const missingSources = [{ model: 'u2netp', message: 'persistentvolumeclaims "models" not found' }]
    const of = status({ pods: [], replicas: 0, models: [], missingSources })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'False', reason: 'SourceMissing' })
    expect(of.models[0]).toMatchObject({ transition: 'InvalidSpec', lastFailure: { reason: 'SourceMissing' } })
  })

  it('needs no demand with an external owner', () => {
    const spec: Partial<PoolSpecInput> = { replicas: 1, scaling: { owner: 'external' } }
    const of = status({ spec, demand: { ...demand, ageSeconds: 900 } })
    expect(answerOf('ScalingActive', of)).toMatchObject({ status: 'False', reason: 'ExternalOwner' })
    expect(answerOf('Degraded', of).status).toBe('False')
  })

  it.each([
    ['a quota', {}, { reason: 'FailedCreate', message: 'pods "a" is forbidden: exceeded quota: q' }],
    ['a missing node', { pods: [pod('a', { ready: false, unschedulable: '0/3 nodes are available' })] }],
    ['too few pods', { pods: [], replicas: 40, decision: { rule: 'external' } }],
  ] as const)('advises an external owner without naming bounds: %s', (_what, changes, replicaFailure = undefined) => {
    const deployments = [{ revision: stable, replicas: 2, ...(replicaFailure && { replicaFailure }) }]
    const spec: Partial<PoolSpecInput> = { replicas: 2, scaling: { owner: 'external' } }
    const of = status({ spec, deployments, ...changes })
    const words = of.conditions.map(({ message }) => message).join(' ')
    expect(words).not.toMatch(/(max|min)Replicas/)
    expect(of).not.toHaveProperty('bounds')
    if (replicaFailure) expect(words).toContain('have the external owner ask for fewer pods')
  })

  it('promises no pod at zero with an external owner', () => {
    const spec: Partial<PoolSpecInput> = { replicas: 0, scaling: { owner: 'external' } }
    const of = status({ spec, pods: [], models: [], replicas: 0, decision: { rule: 'external' } })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'AtZero' })
    expect(answerOf('Ready', of).message).toContain('until it asks for one')
  })

  it('reports that the demand was never read', () => {
    const of = status({ demand: undefined, decision: { rule: 'fallback' }, demandFailure: 'connect ECONNREFUSED' })
    expect(answerOf('ScalingActive', of)).toMatchObject({ status: 'False', reason: 'DemandStale' })
    expect(answerOf('Degraded', of).message).toMatch(/^The demand has never been read \(connect ECONNREFUSED\)\. /)
    expect(of).not.toHaveProperty('demand')
  })

  it.each([
    ['maximum', 'AtMaximum'],
    ['minimum', 'AtMinimum'],
    ['schedule', 'ScheduleBound'],
  ] as const)('reports the %s as the limit', (limited, reason) => {
    const of = status({ decision: { limited }, bounds: { minReplicas: 2, maxReplicas: 9, schedules: ['day'] } })
    expect(answerOf('ScalingLimited', of)).toMatchObject({ status: 'True', reason })
  })

  it.each([
    ['ScaleDown', ['ScaleDown', undefined]],
    ['RevisionReplaced', ['ScaleDown', 'RevisionReplaced']],
    ['PodDeleted', [undefined]],
  ] as const)('reports %s for draining pods', (reason, drains) => {
    const going = drains.map((drainReason, index) =>
      pod(`g${index}`, { draining: true, ...(drainReason && { drainReason }) }),
    )
    expect(answerOf('Draining', status({ pods: [pod('a'), ...going] }))).toMatchObject({ status: 'True', reason })
  })

  it('reports a wrong checksum once, and not the exit of its container', () => {
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
        `Pod c has a file whose checksum differs from spec: model u2netp: ${message}. ` +
        'Replace the file, or correct the checksum.',
    })
    expect(of.models[0]).toMatchObject({
      transition: 'BlockedByFailedLoad',
      lastFailure: { pod: 'c', reason: 'ChecksumMismatch', message },
    })
  })

  it('names the init container that keeps exiting, with its restarts', () => {
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

  it('reports a refused update of a ready pool', () => {
    const change = { what: 'update Service p', message: 'field is immutable', revision: stable }
    const of = status({ refusedChanges: [{ ...change, blocking: false, ofPods: false }] })
    expect(answerOf('Ready', of)).toMatchObject({ status: 'True', reason: 'ChangeRefused' })
    expect(answerOf('Degraded', of).message).toMatch(/^Kubernetes refuses to update Service p: field is immutable\. /)
    expect(answerOf('Progressing', of)).toMatchObject({ status: 'False', reason: 'Settled' })
  })

  it('limits the length of quoted messages', () => {
    const failure = { pod: 'a', message: 'x'.repeat(100_000) }
    const of = status({ models: [{ name: 'u2netp', revision: stable, state: 'unavailable', failure }] })
    expect(JSON.stringify(of).length).toBeLessThan(10_000)
  })
})
