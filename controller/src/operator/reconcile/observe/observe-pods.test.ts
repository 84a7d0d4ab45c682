import { describe, expect, it } from 'vitest'
import type { Pod } from '../../kube/objects.ts'
import { observePod } from './observe-pods.ts'

const pod = (metadata: Partial<Pod['metadata']> = {}, status: Pod['status'] = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'a',
    creationTimestamp: '2026-11-21T12:00:00Z',
    labels: { 'matte.dev/revision': 'r1' },
    ...metadata,
  },
  spec: {},
  status,
})

const context = { usedRevisions: new Set(['r1']), emptyRevisions: new Set<string>(), slotsUsed: undefined }
const going = { deletionTimestamp: '2026-11-21T12:01:00Z' }
const ready = { conditions: [{ type: 'Ready', status: 'True' as const }] }
const container = { name: 'triton', ready: false, restartCount: 0 }

describe('observePod', () => {
  it('is not ready while it drains', () => {
    expect(observePod(pod({}, ready), context)).toMatchObject({ ready: true, draining: false })
    expect(observePod(pod(going, ready), context)).toMatchObject({ ready: false, draining: true })
  })

  it.each<[string, Partial<Pod['metadata']>, Partial<typeof context>, string | undefined]>([
    ['another client deleted it', {}, {}, undefined],
    [
      'it was chosen for removal',
      { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-1' } },
      {},
      'ScaleDown',
    ],
    ['no pod of its revision is desired', {}, { emptyRevisions: new Set(['r1']) }, 'ScaleDown'],
    ['its revision was replaced', {}, { usedRevisions: new Set(['r2']) }, 'RevisionReplaced'],
  ])('reports why it drains: %s', (_what, metadata, more, reason) => {
    expect(observePod(pod({ ...going, ...metadata }), { ...context, ...more }).drainReason).toBe(reason)
  })

  it('reports the waiting reason of a container, except normal phases of a start', () => {
    const waiting = (reason: string) => ({
      containerStatuses: [{ ...container, state: { waiting: { reason, message: 'x' } } }],
    })
    expect(observePod(pod({}, waiting('ContainerCreating')), context).waiting).toBeUndefined()
    expect(observePod(pod({}, waiting('ImagePullBackOff')), context).waiting).toEqual({
      reason: 'ImagePullBackOff',
      message: 'x',
    })
  })

  it('reports why it is unscheduled', () => {
    const conditions = [
      { type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable', message: '0/1 nodes' },
    ]
    expect(observePod(pod({}, { conditions }), context).unschedulable).toBe('0/1 nodes')
  })

  it('reports models whose checksum differs, also while the container backs off', () => {
    const init = { name: 'checksums', ready: false, restartCount: 1 }
    const message = 'a: /models/a/1/model.onnx has sha256:1, and the spec asks for sha256:2\nb: there is no file x\n'
    const terminated = { exitCode: 1, reason: 'Error', message }
    const wrongFiles = [
      { model: 'a', message: '/models/a/1/model.onnx has sha256:1, and the spec asks for sha256:2' },
      { model: 'b', message: 'there is no file x' },
    ]
    for (const state of [{ state: { terminated } }, { state: { running: {} }, lastState: { terminated } }]) {
      const status = { initContainerStatuses: [{ ...init, ...state }] }
      expect(observePod(pod({}, status), context).wrongFiles).toEqual(wrongFiles)
    }
    const mended = { state: { terminated: { exitCode: 0 } }, lastState: { terminated } }
    const status = { initContainerStatuses: [{ ...init, ...mended }] }
    expect(observePod(pod({}, status), context).wrongFiles).toBeUndefined()
  })

  it('reports the failed init container until it succeeds', () => {
    const init = { name: 'fetch', ready: false, restartCount: 2 }
    const terminated = { exitCode: 6, reason: 'Error', message: 'no such host' }
    const waiting = { reason: 'CrashLoopBackOff' }
    const failureOf = (state: object) =>
      observePod(pod({}, { initContainerStatuses: [{ ...init, ...state }] }), context).initFailure
    const initFailure = { container: 'fetch', restarts: 2, lastExit: terminated }
    expect(failureOf({ state: { waiting }, lastState: { terminated } })).toEqual(initFailure)
    expect(failureOf({ state: { running: {} }, lastState: { terminated } })).toEqual(initFailure)
    expect(failureOf({ state: { terminated } })).toEqual(initFailure)
    expect(failureOf({ state: { terminated: { exitCode: 0 } }, lastState: { terminated } })).toBeUndefined()
    expect(failureOf({ state: { running: {} }, ready: true, lastState: { terminated } })).toBeUndefined()
    expect(failureOf({ state: { waiting: { reason: 'PodInitializing' } } })).toBeUndefined()
  })

  it('reports how often Triton exited, and how', () => {
    const lastState = { terminated: { exitCode: 137, reason: 'OOMKilled' } }
    const status = { containerStatuses: [{ ...container, restartCount: 3, lastState }] }
    expect(observePod(pod({}, status), context)).toMatchObject({
      lastExit: { exitCode: 137, reason: 'OOMKilled' },
      restarts: 3,
    })
  })
})
