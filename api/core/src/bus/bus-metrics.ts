import { gauge } from '../runtime/metrics/define.ts'

export const busMetrics = {
  connected: gauge({
    name: 'matte_nats_connected',
    help:
      '1 while this process is connected to NATS, else 0. Without NATS timers find work: tasks and deliveries ' +
      'start up to a second later.',
    reader: 'alert',
  }),
}
