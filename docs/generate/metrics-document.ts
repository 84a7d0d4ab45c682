// docs/metrics.md, from the metric definitions that the processes register.

import { signInMetrics } from '@matte/api/auth/sign-in-metrics'
import { httpMetrics } from '@matte/api/http/metrics'
import { capacityMetrics } from '@matte/api/limit/capacity'
import { connectionMetrics } from '@matte/api/limit/connections'
import { sampleMetrics } from '@matte/api/samples/sample-metrics'
import { taskStreamMetrics, webhookStreamMetrics } from '@matte/api/stream/stream-metrics'
import { clusterMetrics, leaderMetrics } from '@matte/controller/operator/kube/kube-metrics'
import { startMetrics } from '@matte/controller/operator/reconcile/observe/start-phases'
import { poolMetrics } from '@matte/controller/operator/reconcile/scale-metrics'
import { recordMetrics } from '@matte/controller/operator/records/record-metrics'
import { valuesPoolMetrics } from '@matte/controller/operator/values-pools/values-pool-metrics'
import { sweepMetrics } from '@matte/controller/sweep-metrics'
import { podMetrics } from '@matte/controller/worker/routing/pod-metrics'
import { taskMetrics } from '@matte/controller/worker/task-metrics'
import { busMetrics } from '@matte/core/bus/bus-metrics'
import { databaseMetrics } from '@matte/core/db/database-metrics'
import { masterKeyMetrics } from '@matte/core/runtime/master-keys'
import { claimMetrics } from '@matte/core/runtime/metrics/claim-metrics'
import type { MetricDefinition } from '@matte/core/runtime/metrics/define'
import { edgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import { processMetrics } from '@matte/core/runtime/metrics/registry'
import { storeMetrics } from '@matte/core/storage/store-metrics'
import { endingMetrics } from '@matte/core/task/run/ending-metrics'
import { dueMetrics } from '@matte/core/webhook/due-metrics'
import { deliveryMetrics } from '@matte/dispatcher/delivery-metrics'
import { endpointMetrics } from '@matte/dispatcher/due/failing-endpoints'
import { notificationMetrics } from '@matte/dispatcher/due/notifications'
import { fetchMetrics } from '@matte/dispatcher/fetch/fetch-metrics'
import { mailMetrics } from '@matte/dispatcher/mail/mail-metrics'
import { paymentMetrics } from '@matte/people/payment/payment-deps'
import { replaceSection, toTable } from './markdown.ts'

type Group = Readonly<Record<string, MetricDefinition>>
type Process = 'api' | 'worker' | 'operator' | 'dispatcher'

/** Every metric of Matte by process; `all` applies to each. */
export const metricsByProcess: Readonly<Record<'all' | Process, readonly Group[]>> = {
  all: [processMetrics, edgeMetrics, databaseMetrics, busMetrics],
  api: [
    ...[httpMetrics, capacityMetrics, connectionMetrics, sampleMetrics, taskStreamMetrics, webhookStreamMetrics],
    ...[dueMetrics, storeMetrics, endingMetrics, signInMetrics, paymentMetrics, masterKeyMetrics],
  ],
  worker: [storeMetrics, taskMetrics, endingMetrics, claimMetrics, sweepMetrics, podMetrics, clusterMetrics],
  operator: [clusterMetrics, leaderMetrics, poolMetrics, recordMetrics, valuesPoolMetrics, startMetrics],
  dispatcher: [
    ...[deliveryMetrics, dueMetrics, claimMetrics, endpointMetrics, mailMetrics, notificationMetrics],
    ...[paymentMetrics, fetchMetrics, masterKeyMetrics],
  ],
}

const readers = ['alert', 'saturation', 'product'] as const

export function writeMetrics(before: string): string {
  const withProcesses = Object.entries(metricsByProcess).reduce(
    (text, [process, groups]) => replaceSection(text, process, processTable(groups)),
    before,
  )
  return readers.reduce((text, reader) => replaceSection(text, reader, readerTable(reader)), withProcesses)
}

const byName = (a: MetricDefinition, b: MetricDefinition): number => (a.name < b.name ? -1 : 1)

function processTable(groups: readonly Group[]): string {
  const definitions = groups.flatMap((group) => Object.values(group)).sort(byName)
  return toTable(
    ['metric', 'kind', 'unit', 'replicas', 'labels', 'meaning'],
    definitions.map((definition) => {
      const { name, kind, unit, labels, help } = definition
      return [`\`${name}\``, kind, unit, joinOf(definition), describeLabels(labels), help]
    }),
  )
}

/** Table of one reader over all processes; a metric of several processes is one row. */
function readerTable(reader: (typeof readers)[number]): string {
  const reporters = new Map<string, { readonly definition: MetricDefinition; readonly by: string[] }>()
  for (const [process, groups] of Object.entries(metricsByProcess)) {
    for (const definition of groups.flatMap((group) => Object.values(group))) {
      if (definition.reader !== reader) continue
      const known = reporters.get(definition.name)
      if (known === undefined) reporters.set(definition.name, { definition, by: [process] })
      else known.by.push(process)
    }
  }
  const rows = [...reporters.values()].sort((a, b) => byName(a.definition, b.definition))
  return toTable(
    ['metric', 'reported by', 'meaning'],
    rows.map(({ definition: { name, labels, help }, by }) => [`\`${name}${braces(labels)}\``, by.join(', '), help]),
  )
}

const braces = (labels: MetricDefinition['labels']): string => {
  const names = Object.keys(labels)
  return names.length === 0 ? '' : `{${names.join(',')}}`
}

const joinOf = ({ kind, joinedBy }: MetricDefinition): string => (kind === 'gauge' ? joinedBy : 'sum of rates')

const describeLabels = (labels: MetricDefinition['labels']): string =>
  Object.entries(labels)
    .map(([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : values.join(', ')}`)
    .join('; ')
