import { describe, expect, it } from 'vitest'
import { extendTo, moveFocus, noSelection, selectAll, toggle } from './selection.ts'

const order = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const idsOf = ({ ids }: { readonly ids: ReadonlySet<string> }) => [...ids].sort()

describe('the selection of tasks', () => {
  it('takes a task in and out', () => {
    const one = toggle(noSelection, 'b')
    expect(idsOf(one)).toEqual(['b'])
    expect(idsOf(toggle(one, 'b'))).toEqual([])
  })

  it('extends a range in both directions from where it began', () => {
    const began = toggle(noSelection, 'd')
    const down = extendTo(began, 'f', order)
    expect(idsOf(down)).toEqual(['d', 'e', 'f'])
    expect(idsOf(extendTo(down, 'b', order))).toEqual(['b', 'c', 'd', 'e', 'f'])
  })

  it('begins a range at the task itself if the first end is gone', () => {
    expect(idsOf(extendTo(toggle(noSelection, 'z'), 'c', order))).toEqual(['c', 'z'])
    expect(idsOf(extendTo(noSelection, 'c', order))).toEqual(['c'])
  })

  it('takes every loaded task', () => {
    expect(idsOf(selectAll(order))).toEqual(order)
  })
})

describe('the keyboard of the grid', () => {
  const grid = { columns: 3, count: 7 }

  it.each([
    ['ArrowRight', 2, 3],
    ['ArrowLeft', 0, 0],
    ['ArrowRight', 6, 6],
    ['ArrowDown', 1, 4],
    ['ArrowDown', 5, 5],
    ['ArrowUp', 4, 1],
    ['ArrowUp', 1, 1],
    ['PageDown', 0, 6],
    ['PageUp', 6, 0],
    ['Home', 5, 0],
    ['End', 1, 6],
    ['x', 1, undefined],
  ])('%s at %i goes to %s', (key, at, to) => {
    expect(moveFocus(key, at, grid)).toBe(to)
  })

  it('goes nowhere in an empty grid', () => {
    expect(moveFocus('End', 0, { columns: 3, count: 0 })).toBeUndefined()
  })
})
