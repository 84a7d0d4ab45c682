// Checks /metrics of a process against its definitions: no undefined name, none missing, no label or value that is not
// listed. This finds labels that grow with callers, keys or paths.
import type { MetricDefinition } from '@matte/core/runtime/metrics/define'

type Series = { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }

export type Exposed = {
  /** Our metrics, including those without a value yet. */
  readonly names: readonly string[]
  /** Lines with values, those of Node.js included; a histogram has one per bucket and two more. */
  readonly series: readonly Series[]
}

export async function scrape(healthUrl: string): Promise<Exposed> {
  const response = await fetch(`${healthUrl}/metrics`)
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`)
  return parseExposition(await response.text())
}

export function parseExposition(text: string): Exposed {
  const lines = text.split('\n')
  const typed = lines.flatMap((line) => /^# TYPE (\S+) /.exec(line)?.[1] ?? [])
  return {
    names: typed.filter((name) => !isOfNode(name)),
    series: lines.filter((line) => line !== '' && !line.startsWith('#')).map(parseLine),
  }
}

/** Values of a metric with at least these labels. */
export const valuesOf = ({ series }: Exposed, name: string, labels: Readonly<Record<string, string>> = {}): number[] =>
  series
    .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    .map(({ value }) => value)

/**
 * Problems in sentences; empty if there are none. `optional`: metrics that a process has in some modes only, or whose
 * definitions come later.
 */
export function findUndocumented(
  { names, series }: Exposed,
  definitions: readonly MetricDefinition[],
  optional: (name: string) => boolean = () => false,
): string[] {
  const known = new Map(definitions.map((definition) => [definition.name, definition]))
  const exposed = new Set(names)
  const wrong = series.flatMap(({ name, labels }) => {
    const definition = known.get(baseOf(name, known))
    return definition === undefined ? [] : wrongLabels(definition, labels)
  })
  return [
    ...names.filter((name) => !known.has(name) && !optional(name)).map((name) => `${name} has no definition`),
    ...[...known.keys()].filter((name) => !exposed.has(name) && !optional(name)).map((name) => `${name} is missing`),
    ...new Set(wrong),
  ]
}

function wrongLabels({ name, labels: listed }: MetricDefinition, labels: Series['labels']): string[] {
  return Object.entries(labels).flatMap(([label, value]) => {
    if (label === 'process' || label === 'le') return []
    const values = listed[label]
    if (values === undefined) return [`${name} has a label ${label}`]
    return typeof values === 'string' || values.includes(value) ? [] : [`${name} has ${label}="${value}"`]
  })
}

const isOfNode = (name: string): boolean => /^(process|nodejs)_/.test(name)

/** Name of the histogram that a line belongs to. */
function baseOf(name: string, known: ReadonlyMap<string, unknown>): string {
  return known.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
}

function parseLine(line: string): Series {
  const [, name = '', inner = '', value = ''] = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const labels = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text])
  return { name, labels: Object.fromEntries(labels), value: Number(value) }
}
