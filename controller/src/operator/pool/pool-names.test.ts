import { describe, expect, it } from 'vitest'
import { ownerOfName, poolsByName } from './pool-names.ts'
import { type TritonPool, withDefaults } from './triton-pool.ts'

type Given = { readonly namespace: string; readonly name?: string; readonly at?: string; readonly isTaken?: boolean }

const poolOf = ({ namespace, name = 'hd', at = '10', isTaken = false }: Given): TritonPool => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name, namespace, uid: `${namespace}-${name}`, creationTimestamp: `2026-01-01T00:00:${at}Z` },
  spec: withDefaults({ models: [{ name: 'u2netp', modelVersion: name, source: { imagePath: '/models' } }] }),
  ...(isTaken && {
    status: {
      conditions: [{ type: 'Ready', status: 'False', reason: 'NameTaken', message: '', lastTransitionTime: '' }],
    } as NonNullable<TritonPool['status']>,
  }),
})

describe('of pools with one name', () => {
  it.each<[string, Given[], boolean, string | undefined]>([
    ['the only one is operated', [{ namespace: 'a' }], true, 'a'],
    ['the older one is operated', [{ namespace: 'a', at: '20' }, { namespace: 'b' }], true, 'b'],
    ['of one second the namespace decides', [{ namespace: 'b' }, { namespace: 'a' }], true, 'a'],
    ['the younger one follows when the older is gone', [{ namespace: 'a', isTaken: true }], true, 'a'],
    ['none follows while a namespace was never listed', [{ namespace: 'a', isTaken: true }], false, undefined],
    ['an operated one goes on while a namespace was never listed', [{ namespace: 'a' }], false, 'a'],
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

function given(isComplete = true) {
  const known = new Map<string, TritonPool>()
  const changes: ((key: string) => void)[] = []
  const syncs: (() => void)[] = []
  const state = { isComplete }
  const named = poolsByName({
    items: () => [...known.values()],
    forget: ({ metadata }) => void report(`${metadata.namespace}/${metadata.name}`),
    onChange: (listener) => void changes.push((key) => listener(key, known.get(key))),
    isComplete: () => state.isComplete,
    onSynced: (listener) => void syncs.push(listener),
  })
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
  it('have each name once, and the name moves to the younger pool when the older is deleted', () => {
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

  it('lose a pool of which the API server says that it is gone', () => {
    const { named, report } = given()
    report('b/hd', poolOf({ namespace: 'b', at: '20' }))
    report('a/hd', poolOf({ namespace: 'a' }))
    named.forget(poolOf({ namespace: 'a' }))
    expect(named.get('hd')?.metadata.namespace).toBe('b')
  })

  it('are the same array until one changes', () => {
    const { named, report } = given()
    report('a/hd', poolOf({ namespace: 'a' }))
    const before = named.items()
    report('b/hd', poolOf({ namespace: 'b', at: '20' }))
    expect(named.items()).toBe(before)
    report('a/hd', poolOf({ namespace: 'a' }))
    expect(named.items()).not.toBe(before)
  })

  it('gain a pool whose name was taken when the last namespace was listed without an older one', () => {
    const { report, complete } = given(false)
    expect(report('b/hd', poolOf({ namespace: 'b', isTaken: true }))).toEqual(['b/hd: taken'])
    expect(complete()).toEqual(['hd: b'])
  })
})
