import { hpaScaler } from './hpa.ts'
import type { MakeScaler } from './scaler.ts'

/**
 * KEDA's scaler for NATS JetStream (keda.sh, scaler nats-jetstream): the consumer's lag over `lagThreshold`. The lag is
 * what is pending and what is delivered and not yet acked, so requests that wait and requests in flight. From one pod
 * on it is a metric of kind AverageValue in a HorizontalPodAutoscaler, read again for each of its decisions; KEDA's own
 * poll of 30 s only matters at zero. Its default threshold is 10; 2 is about as low as a slow model allows.
 */
export const keda =
  (lagThreshold: number): MakeScaler =>
  (setting, { phase }) =>
    hpaScaler(setting, { phase }, ({ waiting, busy, desired }) => {
      const lag = waiting + busy
      return { replicas: Math.ceil(lag / lagThreshold), ratio: lag / (lagThreshold * desired) }
    })
