import { gauge } from '../runtime/metrics/define.ts'

/** All of this file; docs/metrics.md lists them. */
export const busMetrics = {
  connected: gauge({
    name: 'matte_nats_connected',
    help:
      '1 while this process has a live connection to NATS, else 0. Without it work is found by timers: tasks and ' +
      'deliveries begin up to a second later.',
    reader: 'alert',
  }),
}
