import { describe, expect, it } from 'vitest'
import { installedModels, type ServedPool } from './installed-models.ts'

const pool = (name: string, versions: readonly string[], isDefault = false, leading = ''): ServedPool => ({
  pool: name,
  isDefault,
  models: versions.map((modelVersion) => ({
    modelVersion,
    tritonModel: `${name}-${modelVersion}`,
    isDefault: modelVersion === leading,
  })),
})

/** `version@pool:model`, with a star at the default. */
const installed = (...pools: readonly ServedPool[]): string[] =>
  installedModels(pools).map(
    ({ name, pool: of, tritonModel, isDefault }) => `${name}@${of}:${tritonModel}${isDefault ? '*' : ''}`,
  )

describe('installedModels', () => {
  it('lists every version of every pool, and the default pool’s first model as service-v2', () => {
    expect(installed(pool('a', ['v1', 'v2']), pool('b', ['v3', 'v4'], true))).toEqual([
      'v1@a:a-v1',
      'v2@a:a-v2',
      'v3@b:b-v3*',
      'v4@b:b-v4',
      'service-v2@b:b-v3',
    ])
  })

  it('prefers the model that its pool marks as default', () => {
    expect(installed(pool('a', ['v1', 'v2'], true, 'v2'))).toEqual(['v1@a:a-v1', 'v2@a:a-v2*', 'service-v2@a:a-v2'])
  })

  it('prefers a version named service-v2, then a pool of that name, then the default pool', () => {
    expect(installed(pool('a', ['v1'], true), pool('service-v2', ['v2']))).toEqual([
      'v1@a:a-v1*',
      'v2@service-v2:service-v2-v2',
      'service-v2@service-v2:service-v2-v2',
    ])
    expect(installed(pool('service-v2', ['v1']), pool('b', ['service-v2']))).toEqual([
      'v1@service-v2:service-v2-v1',
      'service-v2@b:b-service-v2',
    ])
  })

  it('lets the older of two pools win, for a version and for the default', () => {
    expect(installed(pool('old', ['v1'], true), pool('new', ['v1', 'v2'], true))).toEqual([
      'v1@old:old-v1*',
      'v2@new:new-v2',
      'service-v2@old:old-v1',
    ])
  })

  it('has no service-v2 without a default pool or a pool of that name', () => {
    expect(installed(pool('a', ['v1']))).toEqual(['v1@a:a-v1'])
    expect(installed()).toEqual([])
  })
})
