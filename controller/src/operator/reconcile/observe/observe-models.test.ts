import { describe, expect, it } from 'vitest'
import type { PodObservation } from '../../pool/status/observation.ts'
import { hasBrokenModel, observeModels, type PodReport } from './observe-models.ts'

const models = () => [{ name: 'u2netp', modelVersion: 'fast', default: false }]

type More = Omit<Partial<PodReport>, 'pod'> & { readonly pod?: Partial<PodObservation> }

const report = (more: More = {}): PodReport => ({
  saysReady: more.pod?.ready ?? false,
  usable: new Set(),
  error: undefined,
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
const see = (...pods: PodReport[]) => observeModels(models, pods)[0]

describe('hasBrokenModel', () => {
  it.each<[string, More, boolean]>([
    ['was not probed yet', { pod: { ready: true } }, false],
    ['has the model', { pod: { ready: true }, usable: new Set(['u2netp']) }, false],
    ['lacks the model', { pod: { ready: true }, index: index({ name: 'other' }) }, true],
    [
      'has a model of another shape',
      { pod: { ready: true }, error: { reason: 'ModelShapeWrong', message: 'alpha is FP32' } },
      true,
    ],
  ])('reports a ready pod that %s', (_what, more, expected) => {
    expect(hasBrokenModel(models(), report(more))).toBe(expected)
  })
})

describe('observeModels', () => {
  it('is ready if a pod accepts requests', () => {
    expect(see(report(), report({ pod: { ready: true }, usable: new Set(['u2netp']) }))).toMatchObject({
      state: 'ready',
    })
  })

  it('uses Kubernetes’ readiness for pods without a connection', () => {
    expect(see(report({ pod: { ready: true }, usable: undefined }))).toMatchObject({ state: 'ready' })
  })

  it('is loading while a running pod does not answer', () => {
    expect(see(report({ index: { kind: 'silent' } }))).toMatchObject({ state: 'loading' })
    expect(see(report({ index: index({ name: 'u2netp', state: 'LOADING' }) }))).toMatchObject({ state: 'loading' })
  })

  it("is unavailable with Triton's message if Triton reports so", () => {
    const broken = report({ index: index({ name: 'u2netp', state: 'UNAVAILABLE', reason: 'bad file' }) })
    expect(see(report(), broken)).toMatchObject({ state: 'unavailable', failure: { pod: 'a', message: 'bad file' } })
  })

  it('is unavailable without a folder in the repository, although the pod is ready', () => {
    const seen = see(report({ pod: { ready: true }, index: index({ name: 'other', state: 'READY' }) }))
    expect(seen?.failure?.message).toContain('no folder u2netp')
  })

  it('is unavailable without a repository', () => {
    expect(see(report({ index: { kind: 'refused', message: 'Server not ready' } }))?.failure?.message).toContain(
      'repository',
    )
  })

  it('is unavailable if its checksum differs from spec', () => {
    const wrongFiles = [{ model: 'u2netp', message: 'has sha256:1' }]
    expect(see(report({ pod: { phase: 'Pending', wrongFiles } }))).toMatchObject({
      state: 'unavailable',
      failure: { pod: 'a', message: 'has sha256:1', reason: 'ChecksumMismatch' },
    })
    const other = [{ model: 'other', message: 'has sha256:1' }]
    expect(see(report({ pod: { phase: 'Pending', wrongFiles: other } }))).toMatchObject({ state: 'unknown' })
  })

  it('has a wrong shape if this process finds one in a ready pod', () => {
    const wrong = report({ pod: { ready: true }, error: { reason: 'LicenceRefused', message: 'under GPL' } })
    expect(see(wrong)).toMatchObject({ wrongShape: { pod: 'a', reason: 'LicenceRefused', message: 'under GPL' } })
  })

  it('is the model of its revision, not the one in a changed spec', () => {
    const modelsOf = (revision: string) =>
      models().map((model) => ({ ...model, name: revision === 'r2' ? 'hd' : 'u2netp' }))
    const pods = [
      report({ pod: { ready: true, revision: 'r1' }, usable: new Set(['u2netp']) }),
      report({ pod: { revision: 'r2' }, index: index({ name: 'u2netp', state: 'READY' }) }),
    ]
    expect(observeModels(modelsOf, pods)).toMatchObject([
      { revision: 'r1', name: 'u2netp', modelVersion: 'fast', state: 'ready' },
      { revision: 'r2', name: 'hd', modelVersion: 'fast', state: 'unavailable' },
    ])
  })

  it('has the forms of its revision’s pods that are not draining', () => {
    const serving = (form: 'int8' | 'fp32', pod: Partial<PodObservation> = {}) => {
      const forms = new Map([['u2netp', { form, views: 1 }]] as const)
      return report({ pod: { ready: true, ...pod }, usable: new Set(['u2netp']), forms })
    }
    const draining = serving('fp32', { draining: true })
    expect(see(serving('int8'), report(), serving('fp32'), draining)).toMatchObject({
      forms: [
        { form: 'int8', views: 1 },
        { form: 'fp32', views: 1 },
      ],
    })
  })

  it('is separate for each revision, without draining pods', () => {
    const usable = new Set(['u2netp'])
    const pods = [
      report({ pod: { ready: true, revision: 'r1' }, usable }),
      report({ pod: { revision: 'r2' } }),
      report({ pod: { ready: true, draining: true, revision: 'r2' }, usable }),
    ]
    expect(observeModels(models, pods).map(({ revision, state }) => `${revision} ${state}`)).toEqual([
      'r1 ready',
      'r2 loading',
    ])
  })
})
