import type { MetricDefinition } from '@matte/core/runtime/metrics/define'
import { metricsByProcess } from '@matte/generate/metrics/document'
import type { ProcessName } from '../processes.ts'

/** What a process has to expose, those of Node.js left out. */
export const metricsOf = (process: ProcessName): readonly MetricDefinition[] =>
  [...metricsByProcess.all, ...metricsByProcess[process]].flatMap((group) => Object.values(group))
