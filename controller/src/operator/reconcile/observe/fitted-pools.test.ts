import { expect, it } from 'vitest'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { poolOf } from '../plan.fixtures.ts'
import { fitPools } from './fitted-pools.ts'
import { liveIndex } from './live-index.ts'

it('fills in defaults of fields that an older definition lacks', () => {
  const current = poolOf()
  const { maxSurge: _, maxUnavailable: __, strategy: ___, ...rollout } = current.spec.rollout
  const stored = { ...current, spec: { ...current.spec, rollout } } as TritonPool
  const reflector = { items: () => [stored], onChange: () => undefined, forget: () => undefined }
  const pools = liveIndex(reflector, ({ metadata }) => metadata.name)
  const fitted = fitPools(pools, { platform: { userIds: true, ipv6: false } })
  expect(fitted.get('p')?.spec).toEqual(current.spec)
  expect(fitted.of('p').map(({ spec }) => spec.rollout.maxSurge)).toEqual([1])
})
