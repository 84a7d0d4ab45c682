import { collectDefaultMetrics, Registry } from 'prom-client'
import manifest from '../../../../../package.json' with { type: 'json' }
import { gauge } from './define.ts'

/** All of this file; docs/metrics.md lists them. */
export const processMetrics = {
  build: gauge({
    name: 'matte_build_info',
    help: 'Always 1; its label is the version of this process.',
    labels: { version: 'of the build' },
  }),
}

/** A registry of the process's own; default Node metrics included, so that no module holds global state. */
export function createRegistry(process: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ process })
  // The timer behind the event loop's delay takes CPU each time: 3 ms a second by default, at a hundred times a second.
  // At ten times a second its percentiles read the 100 ms of the timer at least: what counts is what stands above.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  processMetrics.build.register(registry).set({ version: manifest.version }, 1)
  return registry
}
