import type { Scores } from '../metrics/measure.ts'

export type Row = { readonly picture: string; readonly kind: string; readonly variant: string; readonly scores: Scores }

export type MetricName = keyof Scores

/** What each is divided by stays out of the division where higher is better. */
export const metricNames = ['mad', 'mse', 'sad', 'grad', 'conn', 'fringe', 'iou', 'boundary'] as const

const isHigherBetter = (metric: MetricName): boolean => metric === 'iou' || metric === 'boundary'

/** The mean over pictures, as the benchmark has it; undefined when none has the number. */
export function meanOf(rows: readonly Row[], metric: MetricName): number | undefined {
  const values = rows.map(({ scores }) => scores[metric]).filter((value) => value !== null)
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The variant that the others are divided by. */
export const plain = 'resize'

/** A block for each kind and one for all: numbers of `resize`, those of the others ÷ them; iou and boundary as they are. */
export function formatTables(rows: readonly Row[]): string {
  const kinds = [...new Set(rows.map(({ kind }) => kind))]
  const blocks = kinds.map((kind) =>
    formatTable(
      kind,
      rows.filter((row) => row.kind === kind),
    ),
  )
  return [...blocks, formatTable('all', rows)].join('\n\n')
}

function formatTable(title: string, rows: readonly Row[]): string {
  const base = rows.filter(({ variant }) => variant === plain)
  const pictures = new Set(rows.map(({ picture }) => picture)).size
  const head = [`${title} (${pictures})`.padEnd(24), ...metricNames.map((name) => name.padStart(9))].join('')
  const variants = [...new Set(rows.map(({ variant }) => variant))]
  const lines = variants.map((variant) => {
    const own = rows.filter((row) => row.variant === variant)
    const cells = metricNames.map((metric) => formatCell(meanOf(own, metric), meanOf(base, metric), metric, variant))
    return [`  ${variant}`.padEnd(24), ...cells.map((cell) => cell.padStart(9))].join('')
  })
  return [head, ...lines].join('\n')
}

function formatCell(value: number | undefined, base: number | undefined, metric: MetricName, variant: string): string {
  if (value === undefined) return '–'
  if (isHigherBetter(metric)) return value.toFixed(3)
  if (variant === plain || !base) return value.toPrecision(3)
  return `×${(value / base).toFixed(3)}`
}

/** A picture's error ÷ that of plain resizing, the highest first; `least` keeps noise on easy pictures out. */
export function worstPictures(rows: readonly Row[], variant: string, metric: 'mad' | 'grad', least: number) {
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
