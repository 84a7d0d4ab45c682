// Checks queries against the definitions of the metrics, because a query with a wrong name silently returns no data.
import type { MetricDefinition } from '@matte/core/runtime/metrics/define'
import { metricsOf } from '../../support/metrics/documented-metrics.ts'

const definitions = new Map<string, MetricDefinition>(
  (['api', 'worker', 'operator', 'dispatcher'] as const)
    .flatMap(metricsOf)
    .map((definition) => [definition.name, definition]),
)

/** Labels of every series, from the registry, Prometheus or the kind of metric. */
const common = ['namespace', 'pod', 'job', 'process', 'le']

/** Names in the query that no process exports: metrics, labels, and values of labels with fixed values. */
export function findUnknown(promql: string): string[] {
  return [...promql.matchAll(/\b(matte_\w+)(?:\{([^}]*)\})?/g)].flatMap(([, name = '', matchers = '']) => {
    const definition = definitions.get(name) ?? definitions.get(name.replace(/_(bucket|sum|count)$/, ''))
    if (definition === undefined) return [`there is no ${name}`]
    return [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].flatMap(
      ([, label = '', operator = '', value = '']) => {
        if (common.includes(label)) return []
        const values = definition.labels[label]
        if (values === undefined) return [`${name} has no label ${label}`]
        if (typeof values === 'string') return []
        const pattern = operator.includes('~') ? new RegExp(`^(?:${value})$`) : undefined
        const isKnown = values.some((one) => (pattern ? pattern.test(one) : one === value))
        return isKnown ? [] : [`${name}{${label}} is never ${value}`]
      },
    )
  })
}
