import { collectDefaultMetrics, Registry } from 'prom-client'

/** A registry of the process's own; default Node metrics included, so that no module holds global state. */
export function createRegistry(process: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ process })
  // The timer behind the event loop's delay takes CPU each time: 3 ms a second by default, at a hundred times a second.
  // At ten times a second its percentiles read the 100 ms of the timer at least: what counts is what stands above.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  return registry
}
