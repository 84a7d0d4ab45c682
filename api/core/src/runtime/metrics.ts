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

/** Bucket bounds in seconds: the promise is two seconds, so they are dense around it. */
export const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60]
