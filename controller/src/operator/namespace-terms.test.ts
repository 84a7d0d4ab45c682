import { describe, expect, it } from 'vitest'
import { KubeError } from './kube/client.ts'
import type { Term } from './kube/fencing-token.ts'
import { namespaceTerms } from './namespace-terms.ts'
import type { RefusedToken } from './reconcile/refused/refused-change.ts'

const term: Term = { count: 4, lease: 'lease' }

const refusalOf = (pool: string): RefusedToken => ({
  pool,
  object: `TritonPool ${pool}`,
  revision: undefined,
  error: new KubeError(403, 'Forbidden', 'no'),
  closesPool: true,
})

/** Namespaces in which the fencing tokens are written, and the pools there that refuse theirs. */
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
    ['lead the pools of a namespace with tokens', { home: [] }, 'home', true],
    ['leave those of another namespace', { home: [] }, 'team', false],
    ['leave those of a namespace that is not watched', { home: [] }, 'third', false],
    ['forget a pool that is gone in any of them', { team: [] }, undefined, true],
    ['forget nothing without a term', {}, undefined, false],
  ])('%s', (_what, led, namespace, leads) => {
    expect(given(led).of(namespace)).toBe(leads ? term : undefined)
  })

  it.each<[string, string | undefined, boolean]>([
    ['close a pool in its namespace', 'team', true],
    ['leave a pool of the same name elsewhere', 'home', false],
    ['leave a pool that is gone', undefined, false],
  ])('%s', (_what, namespace, isRefused) => {
    expect(given({ home: [], team: ['p'] }).refusedOf(namespace, 'p')).toEqual(isRefused ? [refusalOf('p')] : [])
  })

  it('lead when one of them does', () => {
    expect(given({}).leads()).toBe(false)
    expect(given({ team: [] }).leads()).toBe(true)
  })
})
