import { describe, expect, it } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

describe('BoundedMap', () => {
  it('forgets the entry that was set longest ago', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1).set('b', 2).set('c', 3)
    expect([...map]).toEqual([
      ['b', 2],
      ['c', 3],
    ])
  })

  it('counts an entry that is set again as the youngest, and one that is read as it was', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1).set('b', 2).set('a', 3)
    map.get('b')
    map.set('c', 4)
    expect([...map]).toEqual([
      ['a', 3],
      ['c', 4],
    ])
  })
})
