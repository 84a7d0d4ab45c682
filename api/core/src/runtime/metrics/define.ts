// Definitions of metrics: name, help, unit and labels. Processes register them, docs/metrics.md is generated from them,
// and tests compare both.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Values of each label, or a sentence that says what bounds them. */
type Labels = Readonly<Record<string, readonly string[] | string>>

/** First reader of a metric: the person on call, the capacity planner, or the product owner. */
type Reader = 'alert' | 'saturation' | 'product'

type Facts<L extends Labels> = {
  /** `matte_<noun>_<what>_<unit>`; a counter ends in `_total`. */
  readonly name: `matte_${string}`
  readonly help: string
  readonly labels?: L
  readonly reader?: Reader
  readonly unit?: string
}

/** How to combine replicas: `max` if every replica reports the same database value. */
type Joined = { readonly joinedBy?: 'sum' | 'max' }

type Label<L extends Labels> = Extract<keyof L, string>

export type MetricDefinition = {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  readonly labels: Labels
  readonly reader: Reader | undefined
  readonly unit: string
  readonly joinedBy: 'sum' | 'max'
}

/** Label values that this process uses; others get no initial series. */
type Used<L extends Labels> = Partial<Record<Label<L>, readonly string[]>>

type Definition<Metric, Options extends unknown[] = []> = MetricDefinition & {
  /** Registers the metric. If all labels have value lists, every combination starts at 0. */
  readonly register: (registry: Registry, ...options: Options) => Metric
}

/** Bucket bounds in seconds, dense around the promised two seconds. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60]

export function counter<const L extends Labels = Record<never, never>>(
  facts: Facts<L>,
): Definition<Counter<Label<L>>, [used?: Used<L>]> {
  return {
    ...describe('counter', facts),
    register: (registry, used) => {
      const metric = new Counter<Label<L>>(configure(facts, registry))
      for (const labels of combinations(facts, used)) metric.inc(labels, 0)
      return metric
    },
  }
}

/** A gauge without a value until it is set or collected. */
export function gauge<const L extends Labels = Record<never, never>>(
  facts: Facts<L> & Joined,
): Definition<Gauge<Label<L>>, [collect?: (metric: Gauge<Label<L>>) => void]> {
  return {
    ...describe('gauge', facts),
    register: (registry, collect) =>
      new Gauge<Label<L>>({
        ...configure(facts, registry),
        ...(collect && {
          collect() {
            collect(this)
          },
        }),
      }),
  }
}

export function histogram<const L extends Labels = Record<never, never>>(
  facts: Facts<L> & { readonly buckets?: readonly number[] },
): Definition<Histogram<Label<L>>> {
  return {
    ...describe('histogram', facts),
    register: (registry) => {
      const buckets = [...(facts.buckets ?? durationBuckets)]
      const metric = new Histogram<Label<L>>({ ...configure(facts, registry), buckets })
      if (facts.labels) for (const labels of combinations(facts)) metric.zero(labels)
      return metric
    },
  }
}

function describe(kind: MetricDefinition['kind'], facts: Facts<Labels> & Joined): MetricDefinition {
  const { name, help, labels = {}, reader, unit = unitOf(name), joinedBy = 'sum' } = facts
  return { kind, name, help, labels, reader, unit, joinedBy }
}

const unitOf = (name: string): string => /_(seconds|bytes|connections)(_total)?$/.exec(name)?.[1] ?? 'count'

const configure = <L extends Labels>({ name, help, labels }: Facts<L>, registry: Registry) => ({
  name,
  help,
  labelNames: Object.keys(labels ?? {}) as Label<L>[],
  registers: [registry],
})

function combinations<L extends Labels>(
  { labels }: Facts<L>,
  used: Partial<Record<string, readonly string[]>> = {},
): Partial<Record<Label<L>, string>>[] {
  return Object.entries(labels ?? {}).reduce<Partial<Record<string, string>>[]>(
    (made, [label, values]) => {
      if (typeof values === 'string') return []
      const those = used[label] ?? values
      return made.flatMap((one) => those.map((value) => ({ ...one, [label]: value })))
    },
    [{}],
  )
}
