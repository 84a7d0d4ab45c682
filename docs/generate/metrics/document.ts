// docs/metrics.md, made from the definitions that the processes register.
import { kubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import { startMetrics } from '@matte/controller/operator/reconcile/observe/start-phases'
import { poolMetrics } from '@matte/controller/operator/reconcile/scale-metrics'
import { sweepMetrics } from '@matte/controller/sweep-metrics'
import { podMetrics } from '@matte/controller/worker/routing/pod-metrics'
import { taskMetrics } from '@matte/controller/worker/task-metrics'
import { claimMetrics } from '@matte/core/runtime/metrics/claim-metrics'
import type { MetricDefinition } from '@matte/core/runtime/metrics/define'
import { dependencyErrors } from '@matte/core/runtime/metrics/dependency-errors'
import { endingMetrics } from '@matte/core/task/run/ending-metrics'
import { deliveryMetrics } from '@matte/dispatcher/delivery-metrics'
import { replaceSection, toTable } from '../markdown.ts'

type Group = Readonly<Record<string, MetricDefinition>>

/** Every metric of ours, by the process that exposes it. */
const metricsByProcess: Readonly<Record<'api' | 'controller' | 'dispatcher', readonly Group[]>> = {
  api: [endingMetrics],
  controller: [
    taskMetrics,
    endingMetrics,
    claimMetrics('task'),
    sweepMetrics,
    podMetrics,
    { dependencyErrors },
    kubeMetrics,
    poolMetrics,
    startMetrics,
  ],
  dispatcher: [deliveryMetrics, claimMetrics('delivery')],
}

export function writeMetrics(before: string): string {
  return Object.entries(metricsByProcess).reduce(
    (text, [process, groups]) => replaceSection(text, process, table(groups)),
    before,
  )
}

function table(groups: readonly Group[]): string {
  const definitions = groups.flatMap((group) => Object.values(group)).sort((a, b) => (a.name < b.name ? -1 : 1))
  return toTable(
    ['metric', 'kind', 'labels', 'meaning'],
    definitions.map(({ name, kind, labels, help }) => [`\`${name}\``, kind, describeLabels(labels), help]),
  )
}

const describeLabels = (labels: MetricDefinition['labels']): string =>
  Object.entries(labels)
    .map(([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : values.join(', ')}`)
    .join('; ')
