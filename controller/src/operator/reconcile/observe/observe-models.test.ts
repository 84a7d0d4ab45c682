import { describe, expect, it } from 'vitest'
import type { PodObservation } from '../../pool/status/observation.ts'
import { isSpoilt, observeModels, type PodModels } from './observe-models.ts'

const models = () => [{ name: 'u2netp', modelVersion: 'fast', default: false }]

type More = Omit<Partial<PodModels>, 'pod'> & { readonly pod?: Partial<PodObservation> }

const told = (more: More = {}): PodModels => ({
  saysReady: more.pod?.ready ?? false,
  usable: new Set(),
  fault: undefined,
  index: undefined,
  ...more,
  pod: {
    name: 'a',
    revision: 'r1',
    phase: 'Running',
    ready: false,
    draining: false,
    createdAt: new Date(0),
    restarts: 0,
    ...more.pod,
  },
})

const index = (...models: { name: string; state?: string; reason?: string }[]) => ({ kind: 'index', models }) as const
const see = (...pods: PodModels[]) => observeModels(models, pods)[0]

describe('isSpoilt', () => {
  it.each<[string, More, boolean]>([
    ['is not asked yet', { pod: { ready: true } }, false],
    ['has the model', { pod: { ready: true }, usable: new Set(['u2netp']) }, false],
    ['lacks the model', { pod: { ready: true }, index: index({ name: 'other' }) }, true],
    ['has a model of another shape', { pod: { ready: true }, fault: 'alpha is FP32' }, true],
  ])('judges a ready pod that %s', (_what, more, expected) => {
    expect(isSpoilt(models(), told(more))).toBe(expected)
  })
})

describe('observeModels', () => {
  it('is ready when a pod can be sent images', () => {
    expect(see(told(), told({ pod: { ready: true }, usable: new Set(['u2netp']) }))).toMatchObject({ state: 'ready' })
  })

  it('believes Kubernetes of pods that nobody connects to', () => {
    expect(see(told({ pod: { ready: true }, usable: undefined }))).toMatchObject({ state: 'ready' })
  })

  it('is loading while nobody answers in a pod that runs', () => {
    expect(see(told({ index: { kind: 'silent' } }))).toMatchObject({ state: 'loading' })
    expect(see(told({ index: index({ name: 'u2netp', state: 'LOADING' }) }))).toMatchObject({ state: 'loading' })
  })

  it("is not there when Triton says so, in Triton's words", () => {
    const broken = told({ index: index({ name: 'u2netp', state: 'UNAVAILABLE', reason: 'bad file' }) })
    expect(see(told(), broken)).toMatchObject({ state: 'unavailable', failure: { pod: 'a', message: 'bad file' } })
  })

  it('is not there when the repository has no such folder, although the pod says that it is ready', () => {
    const seen = see(told({ pod: { ready: true }, index: index({ name: 'other', state: 'READY' }) }))
    expect(seen?.failure?.message).toContain('no folder u2netp')
  })

  it('is not there when there is no repository', () => {
    expect(see(told({ index: { kind: 'refused', message: 'Server not ready' } }))?.failure?.message).toContain(
      'repository',
    )
  })

  it('is not there when its file is not the one that the spec names', () => {
    const wrongFiles = [{ model: 'u2netp', message: 'has sha256:1' }]
    expect(see(told({ pod: { phase: 'Pending', wrongFiles } }))).toMatchObject({
      state: 'unavailable',
      failure: { pod: 'a', message: 'has sha256:1', reason: 'ChecksumMismatch' },
    })
    const other = [{ model: 'other', message: 'has sha256:1' }]
    expect(see(told({ pod: { phase: 'Pending', wrongFiles: other } }))).toMatchObject({ state: 'unknown' })
  })

  it('has a wrong shape when our own look at a ready pod says so', () => {
    const wrong = told({ pod: { ready: true }, fault: 'alpha is FP32' })
    expect(see(wrong)).toMatchObject({ wrongShape: { pod: 'a', message: 'alpha is FP32' } })
  })

  it('is that of the revision, not that of another which spec asks for by now', () => {
    const modelsOf = (revision: string) =>
      models().map((model) => ({ ...model, name: revision === 'r2' ? 'hd' : 'u2netp' }))
    const pods = [
      told({ pod: { ready: true, revision: 'r1' }, usable: new Set(['u2netp']) }),
      told({ pod: { revision: 'r2' }, index: index({ name: 'u2netp', state: 'READY' }) }),
    ]
    expect(observeModels(modelsOf, pods)).toMatchObject([
      { revision: 'r1', name: 'u2netp', modelVersion: 'fast', state: 'ready' },
      { revision: 'r2', name: 'hd', modelVersion: 'fast', state: 'unavailable' },
    ])
  })

  it('is told apart by revision, and pods on their way out say nothing', () => {
    const usable = new Set(['u2netp'])
    const pods = [
      told({ pod: { ready: true, revision: 'r1' }, usable }),
      told({ pod: { revision: 'r2' } }),
      told({ pod: { ready: true, draining: true, revision: 'r2' }, usable }),
    ]
    expect(observeModels(models, pods).map(({ revision, state }) => `${revision} ${state}`)).toEqual([
      'r1 ready',
      'r2 loading',
    ])
  })
})
