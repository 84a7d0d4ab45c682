import type { MetricDefinition } from '@matte/core/runtime/metrics/define'
import { metricsByProcess } from '@matte/generate/metrics-document'
import type { ProcessName } from '../processes.ts'

/** Metrics that a process must expose, without those of Node.js. */
export const metricsOf = (process: ProcessName): readonly MetricDefinition[] =>
  [...metricsByProcess.all, ...metricsByProcess[process]].flatMap((group) => Object.values(group))
