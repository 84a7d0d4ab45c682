import { type HpaRules, hpaScaler } from './hpa.ts'
import type { MakeScaler } from './scaler.ts'

/**
 * KEDA's scaler for NATS JetStream (keda.sh, scaler nats-jetstream): the consumer's lag over `lagThreshold`. The lag is
 * the number of pending and unacknowledged messages: requests waiting and in flight. With at least one pod it is an
 * AverageValue metric of a HorizontalPodAutoscaler, read for each of its decisions; KEDA's own poll of 30 s matters
 * only at zero. The default threshold is 10; 2 is about as low as a slow model allows.
 */
export const keda =
  (lagThreshold: number, behaviour: Omit<HpaRules, 'phase'> = {}): MakeScaler =>
  (setting, { phase }) =>
    hpaScaler(setting, { phase, ...behaviour }, ({ waiting, busy, desired }) => {
      const lag = waiting + busy
      return { replicas: Math.ceil(lag / lagThreshold), ratio: lag / (lagThreshold * desired) }
    })
