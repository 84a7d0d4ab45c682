import { describe, expect, it } from 'vitest'
import type { Term } from './kube/fencing-token.ts'
import { namespaceTerms } from './namespace-terms.ts'

const term: Term = { count: 4, lease: 'lease' }

/** Namespaces in which the fencing tokens are written, and the pools there that refuse theirs. */
function given(led: Readonly<Record<string, readonly string[]>>, all = ['home', 'team']) {
  return namespaceTerms(all, (namespace) => {
    const current = (): Term | undefined => (namespace in led ? term : undefined)
    return {
      name: namespace,
      start: () => undefined,
      stop: () => undefined,
      current,
      of: (pool) => (led[namespace]?.includes(pool) ? undefined : current()),
    }
  })
}

describe('the terms of the namespaces', () => {
  it.each<[string, Record<string, string[]>, string, string | undefined, boolean]>([
    ['lead a pool of a namespace with tokens', { home: [] }, 'p', 'home', true],
    ['leave a pool of another namespace', { home: [] }, 'p', 'team', false],
    ['leave a pool that refuses its token', { home: ['p'] }, 'p', 'home', false],
    ['lead a pool of the same name elsewhere', { home: ['p'], team: [] }, 'p', 'team', true],
    ['forget a pool that is gone in any of them', { team: [] }, 'p', undefined, true],
    ['forget nothing without a term', {}, 'p', undefined, false],
  ])('%s', (_what, led, pool, namespace, leads) => {
    expect(given(led).of(pool, namespace)).toBe(leads ? term : undefined)
  })

  it('lead when one of them does', () => {
    expect(given({}).leads()).toBe(false)
    expect(given({ team: [] }).leads()).toBe(true)
    expect(given({ team: [] }).in('home')).toBeUndefined()
  })
})
