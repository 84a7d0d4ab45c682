import { expect, it } from 'vitest'
import { fitView, move, zoomAt } from './view.ts'

it('keeps the point below the pointer in its place', () => {
  const at = { x: 120, y: -30 }
  const before = zoomAt(fitView, 2, { x: 0, y: 0 })
  const after = zoomAt(before, 3, at)
  const pointOf = ({ x, y, scale }: typeof before) => [(at.x - x) / scale, (at.y - y) / scale]
  expect(pointOf(after)).toEqual(pointOf(before))
})

it('never shows less than the whole image, and does not move it then', () => {
  expect(zoomAt(fitView, 0.1, { x: 5, y: 5 })).toEqual(fitView)
  expect(move(fitView, { x: 50, y: 0 })).toEqual(fitView)
})

it('ends at 64 times', () => {
  expect(zoomAt(fitView, 1e6, { x: 0, y: 0 }).scale).toBe(64)
})
