import { describe, expect, it } from 'vitest'
import type { Reflector } from '../kube/reflector.ts'
import { leaseNameOf, ownPools, ownsPool, type Release } from './release.ts'
import { type TritonPool, withDefaults } from './triton-pool.ts'

const first: Release = { name: 'matte', unlabelledPools: true }
const second: Release = { name: 'other', unlabelledPools: false }

const pool = (release?: string): TritonPool => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name: 'demo', ...(release && { labels: { 'matte.dev/release': release } }) },
  spec: withDefaults({ models: [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }] }),
})

describe('a pool', () => {
  it.each<[string, string | undefined, Release | undefined, boolean]>([
    ['without the label', undefined, first, true],
    ['without the label', undefined, second, false],
    ['without the label', undefined, undefined, true],
    ['of release matte', 'matte', first, true],
    ['of release matte', 'matte', second, false],
    ['of release other', 'other', first, false],
    ['of release other', 'other', second, true],
    ['of release other', 'other', undefined, true],
  ])('%s (%s) is served by %o: %s', (_what, label, release, owned) => {
    expect(ownsPool(release, pool(label))).toBe(owned)
  })
})

it('releases in a namespace have different Leases; the one with unlabelled pools keeps the former name', () => {
  expect([undefined, first, second].map(leaseNameOf)).toEqual([
    'matte-controller',
    'matte-controller',
    'other-operator',
  ])
})

it('the pools of a release are those of the namespace except other releases’', () => {
  let items: readonly TritonPool[] = [pool('matte'), pool('other'), pool()]
  const listeners: ((name: string, object: TritonPool | undefined) => void)[] = []
  const all = {
    get: () => items[0],
    items: () => items,
    onChange: (listener) => void listeners.push(listener),
  } as Partial<Reflector<TritonPool>> as Reflector<TritonPool>
  const own = ownPools(all, second)
  expect(own.items()).toEqual([items[1]])
  expect(own.items()).toBe(own.items())
  expect(own.get('demo')).toBeUndefined()
  const seen: unknown[] = []
  own.onChange((_name, object) => seen.push(object))
  for (const item of items) for (const listener of listeners) listener('demo', item)
  expect(seen).toEqual([undefined, items[1], undefined])
  items = []
  expect(own.items()).toEqual([])
})
