import type { Scores } from '../metrics/measure.ts'

export type Row = { readonly picture: string; readonly kind: string; readonly variant: string; readonly scores: Scores }

const metricNames = ['mad', 'mse', 'sad', 'grad', 'conn', 'fringe', 'iou', 'boundary'] as const

const isHigherBetter = (metric: keyof Scores): boolean => metric === 'iou' || metric === 'boundary'

/** Mean over pictures, as in the benchmark; undefined when none has the number. */
export function meanOf(rows: readonly Row[], metric: keyof Scores): number | undefined {
  const values = rows.map(({ scores }) => scores[metric]).filter((value) => value !== null)
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The variant that others are divided by. */
export const plain = 'resize'

/** If the stretched mask has less of the subject than this, the network is at fault. */
const foundMin = 0.5

/** One block per kind and one for all: errors of `resize`, and the others' as ratios. */
export function formatTables(rows: readonly Row[]): string {
  const kinds = [...new Set(rows.map(({ kind }) => kind))]
  const blocks = kinds.map((kind) =>
    formatTable(
      kind,
      rows.filter((row) => row.kind === kind),
    ),
  )
  const isFound = ({ variant, scores }: Row): boolean => variant === plain && scores.iou >= foundMin
  const found = new Set(rows.filter(isFound).map(({ picture }) => picture))
  const foundRows = rows.filter(({ picture }) => found.has(picture))
  if (foundRows.length > 0 && foundRows.length < rows.length) {
    blocks.push(formatTable('all with a found subject', foundRows))
  }
  return [...blocks, formatTable('all', rows)].join('\n\n')
}

function formatTable(title: string, rows: readonly Row[]): string {
  const pictures = new Set(rows.map(({ picture }) => picture)).size
  const head = [`${title} (${pictures})`.padEnd(30), ...metricNames.map((name) => name.padStart(9))].join('')
  const variants = [...new Set(rows.map(({ variant }) => variant))]
  const lines = variants.map((variant) => {
    const own = rows.filter((row) => row.variant === variant)
    // Some programs skip pictures.
    const done = new Set(own.map(({ picture }) => picture))
    const base = rows.filter((row) => row.variant === plain && done.has(row.picture))
    const cells = metricNames.map((metric) => {
      const value = meanOf(own, metric)
      return isHigherBetter(metric) ? formatPlain(value?.toFixed(3)) : formatError(value, meanOf(base, metric), variant)
    })
    const name = done.size === pictures ? variant : `${variant} (${done.size})`
    return [`  ${name}`.padEnd(30), ...cells.map((cell) => cell.padStart(9))].join('')
  })
  return [head, ...lines].join('\n')
}

const formatPlain = (text: string | undefined): string => text ?? '–'

function formatError(value: number | undefined, base: number | undefined, variant: string): string {
  if (value === undefined || variant === plain || !base) return formatPlain(value?.toPrecision(3))
  return `×${(value / base).toFixed(3)}`
}

/** Smaller errors count as none. */
const leastErrors = { mad: 0.002, grad: 0.5 } as const

/** A picture's error relative to plain resizing, highest first. */
export function worstPictures(rows: readonly Row[], variant: string, metric: 'mad' | 'grad') {
  const least = leastErrors[metric]
  const base = new Map(rows.filter((row) => row.variant === plain).map((row) => [row.picture, row.scores[metric]]))
  return rows
    .filter((row) => row.variant === variant)
    .map(({ picture, scores }) => {
      const before = base.get(picture) ?? Number.NaN
      return {
        picture,
        value: scores[metric],
        before,
        ratio: Math.max(scores[metric], least) / Math.max(before, least),
      }
    })
    .sort((a, b) => b.ratio - a.ratio)
}
