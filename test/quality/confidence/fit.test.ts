import { expect, it } from 'vitest'
import { fitWeights } from './fit.ts'
import type { Measured } from './measure-pictures.ts'

/** A right cut-out has `odds` to one where the measure is 1, and one to `odds` where it is -1. */
function rowsWith(odds: number): Measured[] {
  const row = (measure: number, isRight: boolean): Measured => ({
    ...{ name: 'a', part: 'tune', views: 1, isEmpty: false, confidence: 0 },
    ...{ measures: [measure, 5], iou: isRight ? 0.85 : 0.84 },
  })
  return [1, -1].flatMap((measure) =>
    Array.from({ length: 1_000 * (odds + 1) }, (_, i) =>
      row(measure, i % (odds + 1) === 0 ? measure < 0 : measure > 0),
    ),
  )
}

it('finds the weights of the odds, and none for a measure that is always the same', () => {
  const [constant = Number.NaN, weight = Number.NaN, always = Number.NaN] = fitWeights(rowsWith(3))
  expect(weight).toBeCloseTo(Math.log(3), 2)
  expect(constant + 5 * always).toBeCloseTo(0, 5)
})

it('learns nothing from pictures in which nothing was found', () => {
  const rows = rowsWith(3)
  const nothing = rows.map((row) => ({ ...row, measures: [] }))
  expect(fitWeights([...rows, ...nothing])).toEqual(fitWeights(rows))
})
