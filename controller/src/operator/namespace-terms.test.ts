import { describe, expect, it } from 'vitest'
import type { RefusedToken } from './fencing-tokens.ts'
import { KubeError } from './kube/client.ts'
import type { Term } from './kube/leadership.ts'
import { namespaceTerms } from './leader-term.ts'

const term: Term = { count: 4, lease: 'lease' }

const refusalOf = (pool: string): RefusedToken => ({
  pool,
  object: `TritonPool ${pool}`,
  revision: undefined,
  error: new KubeError(403, 'Forbidden', 'no'),
  closesPool: true,
})

/** Namespaces with written fencing tokens, and their pools that refuse theirs. */
function given(led: Readonly<Record<string, readonly string[]>>, all = ['home', 'team']) {
  return namespaceTerms(all, (namespace) => ({
    name: namespace,
    start: () => undefined,
    stop: () => undefined,
    current: () => (namespace in led ? term : undefined),
    refusedOf: (pool) => (led[namespace] ?? []).filter((name) => name === pool).map(refusalOf),
  }))
}

describe('the terms of the namespaces', () => {
  it.each<[string, Record<string, string[]>, string | undefined, boolean]>([
    ['cover pools of a namespace with tokens', { home: [] }, 'home', true],
    ['do not cover pools of a namespace without tokens', { home: [] }, 'team', false],
    ['do not cover pools of an unwatched namespace', { home: [] }, 'third', false],
    ['cover a deleted pool in any namespace', { team: [] }, undefined, true],
    ['cover nothing without a term', {}, undefined, false],
  ])('%s', (_what, led, namespace, leads) => {
    expect(given(led).of(namespace)).toBe(leads ? term : undefined)
  })

  it.each<[string, string | undefined, boolean]>([
    ['close a pool that refuses its token', 'team', true],
    ['do not close a pool of the same name in another namespace', 'home', false],
    ['do not close a deleted pool', undefined, false],
  ])('%s', (_what, namespace, isRefused) => {
    expect(given({ home: [], team: ['p'] }).refusedOf(namespace, 'p')).toEqual(isRefused ? [refusalOf('p')] : [])
  })

  it('lead if one of them leads', () => {
    expect(given({}).leads()).toBe(false)
    expect(given({ team: [] }).leads()).toBe(true)
  })
})
