import { type HpaRules, hpaScaler } from './hpa.ts'
import type { MakeScaler } from './scaler.ts'

type KedaRules = Omit<HpaRules, 'phase'> & {
  /** Whole seconds between the count of the lag and the decision. */
  readonly ageSeconds?: number
}

/**
 * KEDA's scaler for NATS JetStream (keda.sh, scaler nats-jetstream): the consumer's lag over `lagThreshold`. The lag is
 * the number of pending and unacknowledged messages: requests waiting and in flight. With at least one pod it is an
 * AverageValue metric of a HorizontalPodAutoscaler, read for each of its decisions; KEDA's own poll of 30 s matters
 * only at zero. The default threshold is 10; 2 is about as low as a slow model allows.
 */
export const keda =
  (lagThreshold: number, { ageSeconds = 0, ...behaviour }: KedaRules = {}): MakeScaler =>
  (setting, { phase }) => {
    const lags: number[] = []
    const scaler = hpaScaler(setting, { phase, ...behaviour }, ({ desired }) => {
      const lag = lags.at(-1 - ageSeconds) ?? 0
      return { replicas: Math.ceil(lag / lagThreshold), ratio: lag / (lagThreshold * desired) }
    })
    return (view) => {
      lags.push(view.waiting + view.busy)
      return scaler(view)
    }
  }
