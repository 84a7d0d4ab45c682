import { describe, expect, it } from 'vitest'
import type { TritonPool } from '../pool/triton-pool.ts'
import { type Applied, planValuesPools } from './plan-values-pools.ts'
import { readEntries } from './pool-entries.ts'

const origin = { release: 'matte', configMap: 'matte-pools' }
const text = '{"models":[]}'
const own = { 'matte.dev/from': 'matte-pools', 'matte.dev/release': 'matte' }
const old = { 'matte.dev/from': 'matte-pools' }
const configMapOwner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'matte-pools', uid: 'c' }

type Given = {
  readonly labels?: Record<string, string>
  readonly generation?: number
  readonly ready?: 'True' | 'False'
  readonly readyFor?: number
  readonly deleting?: boolean
  /** Ready pods, and minReplicas. */
  readonly pods?: readonly [number, number]
  readonly owners?: (typeof configMapOwner)[]
}

function pool(name: string, given: Given = {}): TritonPool {
  const { labels = own, generation = 1, ready = 'True', readyFor = generation, deleting, owners, pods } = given
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: {
      name,
      uid: name,
      generation,
      labels,
      ...(deleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      ...(owners && { ownerReferences: owners }),
    },
    spec: {},
    status: {
      ...(pods && { readyReplicas: pods[0], bounds: { minReplicas: pods[1], maxReplicas: 20 } }),
      conditions: [{ type: 'Ready', status: ready, observedGeneration: readyFor }],
    },
  } as unknown as TritonPool // the plan reads only these fields
}

const entriesOf = (data: Record<string, string>) =>
  readEntries({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'matte-pools' }, data })
const named = (...names: string[]) => entriesOf(Object.fromEntries(names.map((name) => [name, text])))
const appliedTo = (...names: string[]) =>
  new Map(names.map((name): [string, Applied] => [name, { text, uid: name, generation: 1 }]))

/** The names in a plan. */
function plan(input: Partial<Parameters<typeof planValuesPools>[0]>) {
  const made = planValuesPools({
    ...{ origin, entries: [], pools: [], applied: new Map() },
    count: String(input.entries?.length ?? 0),
    ...input,
  })
  return {
    apply: made.apply.map(({ name }) => name),
    delete: made.delete.map(({ metadata }) => metadata.name),
    waiting: made.waiting.map(({ pool: { metadata }, successors }) => `${metadata.name} for ${successors.join()}`),
    kept: made.kept.map(({ message }) => message),
    refused: made.refused.map(({ message }) => message),
    disown: made.disown.map(({ metadata }) => metadata.name),
  }
}
const nothing = { apply: [], delete: [], waiting: [], kept: [], refused: [], disown: [] }

describe('a pool of the values', () => {
  const entries = named('a')
  const applied = appliedTo('a')
  const createdBefore = new Map([['a', { text, uid: 'before', generation: 1 }]])
  it.each<[string, TritonPool[], Map<string, Applied>, string[]]>([
    ['is applied if it does not exist', [], new Map(), ['a']],
    ['is applied again if it was deleted', [], applied, ['a']],
    ['is applied by a new leader', [pool('a')], new Map(), ['a']],
    ['is not applied again without a change', [pool('a')], applied, []],
    ['is applied again after a change', [pool('a', { generation: 2 })], applied, ['a']],
    ['is applied again after a change of its labels', [pool('a', { labels: old })], applied, ['a']],
    ['is applied again after another client recreated it', [pool('a')], createdBefore, ['a']],
    ['waits for the end of its deletion', [pool('a', { deleting: true })], applied, []],
  ])('%s', (_what, pools, memory, apply) => {
    expect(plan({ entries, pools, applied: memory })).toEqual({ ...nothing, apply })
  })

  it('is applied again if the values changed', () => {
    const changed = entriesOf({ a: '{"models":[],"slotsPerPod":2}' })
    expect(plan({ entries: changed, pools: [pool('a')], applied })).toEqual({ ...nothing, apply: ['a'] })
  })
})

describe('an entry', () => {
  it.each(['', 'models: []', '[]', '"a"', 'null'])(
    'with the entry %j is refused, and the others are applied',
    (bad) => {
      const made = plan({ entries: entriesOf({ bad, good: text }) })
      expect(made).toMatchObject({ apply: ['good'], refused: [expect.stringContaining('not a JSON object')] })
    },
  )

  it.each<[string, Record<string, string>, string]>([
    ["another release's", { ...old, 'matte.dev/release': 'other' }, 'belongs to release other'],
    ['from another ConfigMap', { 'matte.dev/from': 'other-pools' }, 'comes from ConfigMap other-pools'],
    ["a user's", {}, 'is not from the chart'],
    ["a user's of this release", { 'matte.dev/release': 'matte' }, 'is not from the chart'],
  ])('never takes over a pool that is %s', (_what, labels, message) => {
    const made = plan({ entries: named('a', 'b'), pools: [pool('a', { labels })], applied: appliedTo('a') })
    expect(made).toMatchObject({ apply: ['b'], refused: [expect.stringContaining(message)] })
  })

  it('that the API server refused is retried only after a change', () => {
    const applied = new Map([['a', { text, uid: undefined, generation: undefined, refusal: 'wrong' }]])
    expect(plan({ entries: named('a'), applied })).toEqual({ ...nothing, refused: ['wrong'] })
    expect(plan({ entries: entriesOf({ a: '{}' }), applied })).toEqual({ ...nothing, apply: ['a'] })
  })
})

describe('a pool that left the values', () => {
  const pools = (successor: Given) => [pool('gone'), pool('next', successor)]
  it.each<[string, Given]>([
    ['is not Ready', { ready: 'False' }],
    ['was Ready for an earlier generation', { readyFor: 0 }],
    ['was changed since it was applied', { generation: 2 }],
    ['is being deleted', { deleting: true }],
    ['has fewer ready pods than minReplicas', { pods: [9, 10] }],
  ])('serves while its successor %s', (_what, successor) => {
    const made = plan({ entries: named('next'), pools: pools(successor), applied: appliedTo('next') })
    expect(made).toMatchObject({ delete: [], waiting: ['gone for next'] })
  })

  it('serves while its successor has not been created', () => {
    expect(plan({ entries: named('next'), pools: [pool('gone')] })).toMatchObject({
      delete: [],
      waiting: ['gone for next'],
    })
  })

  it('serves while an entry is refused', () => {
    const entries = [...named('next'), ...entriesOf({ wrong: '-' })]
    expect(plan({ entries, pools: pools({}), applied: appliedTo('next') })).toMatchObject({
      delete: [],
      waiting: ['gone for wrong'],
    })
  })

  it('is deleted when every pool of the values is Ready', () => {
    for (const successor of [{}, { pods: [10, 10] }, { pods: [0, 0] }] satisfies Given[]) {
      const made = plan({ entries: named('next'), pools: pools(successor), applied: appliedTo('next') })
      expect(made).toEqual({ ...nothing, delete: ['gone'] })
    }
  })

  it('is deleted at once if no pool is left in the values', () => {
    expect(plan({ entries: [], pools: [pool('gone', { ready: 'False' })] })).toEqual({ ...nothing, delete: ['gone'] })
  })

  it.each<[string, string | undefined, string]>([
    ['has no number of entries', undefined, 'is missing'],
    ['has another number of entries', '2', 'says 2'],
  ])('stays while the ConfigMap %s, and the entries are applied', (_what, count, says) => {
    const kept = [expect.stringMatching(new RegExp(`^gone is not in .*which has 1 entries.*${says}`))]
    const ready = plan({ entries: named('next'), count, pools: pools({}), applied: appliedTo('next') })
    expect(ready).toEqual({ ...nothing, kept })
    expect(plan({ entries: named('next'), count, pools: [pool('gone')] })).toEqual({
      ...nothing,
      apply: ['next'],
      kept,
    })
  })

  it.each<[string, Given]>([
    ["is a user's", { labels: {} }],
    ["is a user's of this release", { labels: { 'matte.dev/release': 'matte' } }],
    ["is another release's", { labels: { 'matte.dev/from': 'other-pools', 'matte.dev/release': 'other' } }],
    [
      'has the ConfigMap of this release and the label of another',
      { labels: { ...own, 'matte.dev/release': 'other' } },
    ],
    ['is being deleted', { deleting: true }],
  ])('stays if it %s', (_what, given) => {
    expect(plan({ entries: [], pools: [pool('gone', given)] })).toEqual(nothing)
  })
})

describe('without the ConfigMap', () => {
  it('no pool is applied or deleted', () => {
    expect(plan({ entries: undefined, pools: [pool('a'), pool('b')] })).toEqual(nothing)
  })
})

it('a pool of an older chart loses its owner, whatever its entry is', () => {
  const owned = pool('a', { labels: old, owners: [configMapOwner] })
  for (const entries of [undefined, [], named('a'), entriesOf({ a: '-' })]) {
    expect(plan({ entries, pools: [owned] }).disown).toEqual(['a'])
  }
  expect(plan({ pools: [pool('b', { labels: {}, owners: [configMapOwner] })] })).toEqual(nothing)
})
