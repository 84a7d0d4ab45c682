// `--confidence`: how often cut-outs of each confidence are right, in both halves, and the weights that the tune half
// gives. False if a report half has more than one wrong cut-out in twenty of those with 0.9 or more.
import type { Say } from '@matte/local/say'
import { type Model, openModel } from '../run/model.ts'
import { fitWeights, isRight } from './fit.ts'
import { type Measured, measurePictures } from './measure-pictures.ts'

const parts = ['tune', 'report'] as const
const ranges = [0.9, 0.8, 0.7, 0.5, 0.25, 0.1, 0]
const trustedFrom = 0.9
const wrongMax = 0.05
/** Measures of one view; a second view adds its agreement. */
const sharedMeasures = 4

export async function printConfidence(models: ReadonlyMap<string, string>, say: Say): Promise<boolean> {
  const opened = new Map<string, Model>()
  for (const [name, path] of models) opened.set(name, await openModel(path))
  const rows: (Measured & { readonly model: string })[] = []
  for (const part of parts) {
    for await (const row of measurePictures(part, opened, say)) rows.push(row)
  }
  for (const { close } of opened.values()) await close()
  let isMet = true
  for (const name of opened.keys()) {
    for (const views of [1, 2]) {
      const shown = rows.filter((row) => row.model === name && row.views === views)
      say(`\n${name || 'the product'}, ${views === 1 ? 'one view' : 'two views'}\n${formatCurve(shown)}`)
      isMet &&= wrongShare(shown) <= wrongMax
    }
  }
  say(`\nweights by the tune half: ${formatWeights(rows.filter(({ part }) => part === 'tune'))}`)
  say(`\n${isMet ? 'met   ' : 'MISSED'} at most ${wrongMax} of the report half with ${trustedFrom} or more are wrong`)
  return isMet
}

const headings = ['confidence', 'tune', 'right', 'none', 'report', 'right', 'none']

/** `none`: pictures without a subject in which one was found. */
function formatCurve(rows: readonly Measured[]): string {
  const lines = ranges.map((from, i) => {
    const below = ranges[i - 1] ?? Infinity
    const cells = parts.flatMap((part) => {
      const inRange = rows.filter((row) => row.part === part && row.confidence >= from && row.confidence < below)
      const full = inRange.filter(({ isEmpty }) => !isEmpty)
      const found = inRange.filter(({ isEmpty, measures }) => isEmpty && measures.length > 0)
      return [full.length, full.filter(isRight).length, found.length]
    })
    return [`≥ ${from}`, ...cells]
  })
  return [headings, ...lines].map((line) => line.map((cell) => String(cell).padStart(11)).join('')).join('\n')
}

function wrongShare(rows: readonly Measured[]): number {
  const trusted = rows.filter((row) => row.part === 'report' && !row.isEmpty && row.confidence >= trustedFrom)
  return trusted.filter((row) => !isRight(row)).length / Math.max(1, trusted.length)
}

/** One view has few wrong cut-outs to learn from, so its weights follow from the cut-outs of two views as well. */
function formatWeights(tune: readonly Measured[]): string {
  const oneView = tune.map((row) => ({ ...row, measures: row.measures.slice(0, sharedMeasures) }))
  const twoViews = tune.filter(({ views }) => views === 2)
  return [oneView, twoViews]
    .map(
      (rows) =>
        `[${fitWeights(rows)
          .map((weight) => Number(weight.toFixed(2)))
          .join(', ')}]`,
    )
    .join(', ')
}
