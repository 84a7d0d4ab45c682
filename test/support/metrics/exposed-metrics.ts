// What a process exposes at /metrics, held against its definitions: no name without one, none missing, no label and no
// value that is not listed. Everything that could grow with callers, keys or paths shows here.
import type { MetricDefinition } from '@matte/core/runtime/metrics/define'

type Series = { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }

export type Exposed = {
  /** Of ours, those of Node.js left out: also metrics that have no value yet. */
  readonly names: readonly string[]
  /** One for each line with a value, those of Node.js included; a histogram has one for each bucket, and two more. */
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

/** The values of a metric whose labels have these among them. */
export const valuesOf = ({ series }: Exposed, name: string, labels: Readonly<Record<string, string>> = {}): number[] =>
  series
    .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    .map(({ value }) => value)

/**
 * What is wrong, in sentences; empty when all is right. `optional`: metrics that a process has in some modes only, or
 * whose definitions come later.
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

/** A histogram's own name of one of its lines. */
function baseOf(name: string, known: ReadonlyMap<string, unknown>): string {
  return known.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
}

function parseLine(line: string): Series {
  const [, name = '', inner = '', value = ''] = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const labels = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text])
  return { name, labels: Object.fromEntries(labels), value: Number(value) }
}
