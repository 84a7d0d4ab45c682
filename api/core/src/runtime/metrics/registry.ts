import { collectDefaultMetrics, Registry } from 'prom-client'
import { version } from '../../version.ts'
import { gauge } from './define.ts'

export const processMetrics = {
  build: gauge({
    name: 'matte_build_info',
    help: 'Always 1; its label is the version of this process.',
    labels: { version: 'of the build' },
  }),
}

export function createRegistry(process: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ process })
  // Ten samples a second: the default of a hundred takes 3 ms of CPU a second. The percentiles then include the timer's
  // 100 ms.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  processMetrics.build.register(registry).set({ version }, 1)
  return registry
}
