import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from './pool-status.ts'
import { type ServedPools, servedPools } from './served-pools.ts'
import { type TritonPool, withDefaults } from './triton-pool.ts'

function pool(
  name: string,
  age: number,
  versions: readonly string[],
  more: Partial<TritonPool['metadata']> = {},
  isDefault = false,
) {
  const models = versions.map((modelVersion) => ({
    name: `m-${modelVersion}`,
    modelVersion,
    source: { imagePath: '/models' },
  }))
  const creationTimestamp = new Date(Date.UTC(2026, 0, 10 - age)).toISOString()
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name, creationTimestamp, ...more },
    spec: withDefaults({ models, default: isDefault }),
  } satisfies TritonPool
}

describe('servedPools', () => {
  it('assigns a version that two pools name to the older, and reports the other', () => {
    const old = pool('b', 2, ['v1'])
    const young = pool('a', 1, ['v1', 'v2'])
    const served = servedPools([young, old])
    expect(served.of(old)).toEqual({ modelVersions: ['v1'], duplicates: [] })
    expect(served.of(young)).toEqual({ modelVersions: ['v2'], duplicates: [{ modelVersion: 'v1', pool: 'b' }] })
  })

  it('uses the older of two defaults, and reports the other', () => {
    const old = pool('b', 2, ['v1'], {}, true)
    const young = pool('a', 1, ['v2'], {}, true)
    const served = servedPools([young, old])
    expect(served.of(old).modelVersions).toEqual(['v1', 'service-v2'])
    expect(served.of(young)).toMatchObject({ modelVersions: ['v2'], defaultConflict: 'b' })
  })

  it('uses the first by name of pools created in the same second', () => {
    const served = servedPools([pool('b', 1, ['v1']), pool('a', 1, ['v1'])])
    expect(served.models).toMatchObject([{ name: 'v1', pool: 'a' }])
  })

  it('assigns nothing to a pool that is being deleted', () => {
    const going = pool('b', 2, ['v1'], { deletionTimestamp: '2026-01-10T00:00:00Z' }, true)
    const next = pool('a', 1, ['v1'], {}, true)
    const served = servedPools([going, next])
    expect(served.models.map(({ name, pool }) => `${name}@${pool}`)).toEqual(['v1@a', 'service-v2@a'])
    expect(served.of(next)).toEqual({ modelVersions: ['v1', 'service-v2'], duplicates: [] })
  })

  describe('while a pool changes its names', () => {
    const toModels = (versions: readonly string[]) =>
      versions.map((modelVersion) => ({ name: `m-${modelVersion}`, modelVersion, default: false }))
    /** Its pods serve v1 and both; spec asks for both and v2. */
    const changing = (rollout: Partial<RolloutStatus>): TritonPool => {
      const made = pool('a', 1, ['both', 'v2'], {}, true)
      const revisions = [
        { revision: 'old', models: toModels(['both', 'v1']) },
        { revision: 'new', models: toModels(['both', 'v2']) },
      ]
      return { ...made, status: { rollout: { weight: 0, step: -1, since: '', ...rollout }, revisions } }
    }
    const names = ({ models }: ServedPools) => models.map(({ name }) => name)

    it('uses the names of the serving revision until the canary is promoted', () => {
      const trying = changing({ stable: 'old', canary: 'new', weight: 50 })
      expect(names(servedPools([trying]))).toEqual(['both', 'v1', 'service-v2'])
      expect(names(servedPools([changing({ stable: 'new' })]))).toEqual(['both', 'v2', 'service-v2'])
    })

    it('drops the names of a rolled-back revision', () => {
      const returned = changing({
        stable: 'old',
        failed: { revision: 'new', reason: 'CanaryErrorRate', message: '', time: '' },
      })
      expect(names(servedPools([returned]))).toEqual(['both', 'v1', 'service-v2'])
      expect(servedPools([returned]).of(returned).modelVersions).toEqual(['both', 'v1', 'service-v2'])
    })

    it('assigns each revision its own names, and counts tasks of both', () => {
      const trying = changing({ stable: 'old', canary: 'new', weight: 50 })
      const served = servedPools([trying])
      const routed = (versions: readonly string[]) => served.routed(trying, toModels(versions))
      expect(routed(['both', 'v1']).map(({ modelVersions }) => modelVersions)).toEqual([['both', 'service-v2'], ['v1']])
      expect(routed(['both', 'v2']).map(({ modelVersions }) => modelVersions)).toEqual([['both', 'service-v2'], ['v2']])
      expect(served.of(trying).modelVersions).toEqual(['both', 'v1', 'service-v2', 'v2'])
    })

    it('leaves a name to a younger pool until its promotion, without a conflict', () => {
      const trying = changing({ stable: 'old', canary: 'new', weight: 90 })
      const younger = pool('b', 0, ['v2'])
      const served = servedPools([trying, younger])
      expect(served.models.find(({ name }) => name === 'v2')).toMatchObject({ pool: 'b' })
      const tried = served.routed(trying, toModels(['both', 'v2']))
      expect(tried.map(({ modelVersions }) => modelVersions)).toEqual([['both', 'service-v2']])
      expect(served.of(trying).duplicates).toEqual([])
      const after = servedPools([changing({ stable: 'new' }), younger])
      expect(after.models.find(({ name }) => name === 'v2')).toMatchObject({ pool: 'a' })
      expect(after.of(younger).duplicates).toEqual([{ modelVersion: 'v2', pool: 'a' }])
    })

    it('uses spec before the first revision', () => {
      expect(names(servedPools([pool('a', 1, ['v2'])]))).toEqual(['v2'])
    })
  })
})
