import { describe, expect, it } from 'vitest'
import { parseNamespaces } from './parse-namespaces.ts'

describe('KUBE_NAMESPACES', () => {
  it.each([
    ['team-a', ['team-a']],
    ['team-a, b2,team-a', ['team-a', 'b2']],
    ['a'.repeat(63), ['a'.repeat(63)]],
  ])('reads %s', (text, names) => {
    expect(parseNamespaces(text)).toEqual(names)
  })

  it.each(['', 'team-a,', 'Team', '-a', 'a/b', 'a'.repeat(64)])('rejects "%s"', (text) => {
    expect(() => parseNamespaces(text)).toThrow('is not a namespace name')
  })
})
