import { describe, expect, it } from 'vitest'
import { ownPools, type Release } from './pool/release.ts'
import { type TritonPool, withDefaults } from './pool/triton-pool.ts'
import { ownerOfName, poolsByName } from './pool-names.ts'

type Given = {
  readonly namespace: string
  readonly name?: string
  readonly at?: string
  readonly isTaken?: boolean
  readonly release?: string
}

const poolOf = ({ namespace, name = 'hd', at = '10', isTaken = false, release }: Given): TritonPool => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: {
    name,
    namespace,
    uid: `${namespace}-${name}`,
    creationTimestamp: `2026-01-01T00:00:${at}Z`,
    ...(release && { labels: { 'matte.dev/release': release } }),
  },
  spec: withDefaults({ models: [{ name: 'u2netp', modelVersion: name, source: { imagePath: '/models' } }] }),
  ...(isTaken && {
    status: {
      conditions: [{ type: 'Ready', status: 'False', reason: 'NameTaken', message: '', lastTransitionTime: '' }],
    } as NonNullable<TritonPool['status']>,
  }),
})

describe('among pools with the same name', () => {
  it.each<[string, Given[], boolean, string | undefined]>([
    ['the only one is operated', [{ namespace: 'a' }], true, 'a'],
    ['the older one is operated', [{ namespace: 'a', at: '20' }, { namespace: 'b' }], true, 'b'],
    ['the namespace decides between pools of the same second', [{ namespace: 'b' }, { namespace: 'a' }], true, 'a'],
    ['the younger one is operated after the older is deleted', [{ namespace: 'a', isTaken: true }], true, 'a'],
    [
      'no younger one is operated before all namespaces are listed',
      [{ namespace: 'a', isTaken: true }],
      false,
      undefined,
    ],
    ['an operated one stays so before all namespaces are listed', [{ namespace: 'a' }], false, 'a'],
    [
      'the younger one is never first',
      [
        { namespace: 'a', isTaken: true },
        { namespace: 'b', at: '20' },
      ],
      false,
      'b',
    ],
  ])('%s', (_what, pools, isComplete, owner) => {
    expect(ownerOfName(pools.map(poolOf), isComplete)?.metadata.namespace).toBe(owner)
  })
})

function given({ isComplete = true, release }: { isComplete?: boolean; release?: Release } = {}) {
  const known = new Map<string, TritonPool>()
  const changes: ((key: string) => void)[] = []
  const syncs: (() => void)[] = []
  const state = { isComplete }
  const pools: Parameters<typeof poolsByName>[0] & Parameters<typeof ownPools>[0] = {
    get: (key) => known.get(key),
    items: () => [...known.values()],
    forget: ({ metadata }) => void report(`${metadata.namespace}/${metadata.name}`),
    onChange: (listener) => void changes.push((key) => listener(key, known.get(key))),
    isComplete: () => state.isComplete,
    onSynced: (listener) => void syncs.push(listener),
  }
  const named = poolsByName(ownPools(pools, release))
  const heard: string[] = []
  named.onChange((name, pool) => void heard.push(`${name}: ${pool?.metadata.namespace}`))
  named.onTaken((key) => void heard.push(`${key}: taken`))
  const report = (key: string, pool?: TritonPool): string[] => {
    if (pool === undefined) known.delete(key)
    else known.set(key, pool)
    for (const change of changes) change(key)
    return heard.splice(0)
  }
  const complete = (): string[] => {
    state.isComplete = true
    for (const sync of syncs) sync()
    return heard.splice(0)
  }
  return { named, report, complete }
}

describe('the operated pools of several namespaces', () => {
  it('have each name once; it moves to the younger pool when the older is deleted', () => {
    const { named, report } = given()
    expect(report('b/hd', poolOf({ namespace: 'b', at: '20' }))).toEqual(['hd: b'])
    expect(report('a/hd', poolOf({ namespace: 'a' }))).toEqual(['hd: a', 'b/hd: taken'])
    expect(report('a/other', poolOf({ namespace: 'a', name: 'other' }))).toEqual(['other: a'])
    expect(named.items().map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(['a/hd', 'a/other'])
    expect(report('a/hd')).toEqual(['hd: b'])
    expect(named.get('hd')?.metadata.namespace).toBe('b')
    expect(report('b/hd')).toEqual(['hd: undefined'])
    expect(named.items()).toHaveLength(1)
  })

  it('lose a pool that the API server reports as gone', () => {
    const { named, report } = given()
    report('b/hd', poolOf({ namespace: 'b', at: '20' }))
    report('a/hd', poolOf({ namespace: 'a' }))
    named.forget(poolOf({ namespace: 'a' }))
    expect(named.get('hd')?.metadata.namespace).toBe('b')
  })

  it('include a pool although an older one of another release has its name', () => {
    const { named, report } = given({ release: { name: 'second', unlabelledPools: false } })
    expect(report('team/hd', poolOf({ namespace: 'team' }))).toEqual([])
    expect(report('home/hd', poolOf({ namespace: 'home', at: '20', release: 'second' }))).toEqual(['hd: home'])
    expect(named.items()).toHaveLength(1)
    expect(report('team/hd', poolOf({ namespace: 'team', release: 'second' }))).toEqual(['hd: team', 'home/hd: taken'])
    expect(report('team/hd', poolOf({ namespace: 'team', release: 'first' }))).toEqual(['hd: home'])
  })

  it('are the same array until a pool changes', () => {
    const { named, report } = given()
    report('a/hd', poolOf({ namespace: 'a' }))
    const before = named.items()
    report('b/hd', poolOf({ namespace: 'b', at: '20' }))
    expect(named.items()).toBe(before)
    report('a/hd', poolOf({ namespace: 'a' }))
    expect(named.items()).not.toBe(before)
  })

  it('regain a pool with a taken name once all namespaces are listed without an older one', () => {
    const { report, complete } = given({ isComplete: false })
    expect(report('b/hd', poolOf({ namespace: 'b', isTaken: true }))).toEqual(['b/hd: taken'])
    expect(complete()).toEqual(['hd: b'])
  })
})
