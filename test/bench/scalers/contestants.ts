// The scalers that run side by side, each with a pool of its name. docs/autoscaling.md names the sources of the
// settings.
import type { PoolSpecInput } from '@matte/controller/operator/pool/triton-pool'
import { maxReplicas } from './live-trace.ts'

export const contestantNames = ['matte', 'keda-jetstream', 'keda-prometheus', 'hpa-queue'] as const
export type ContestantName = (typeof contestantNames)[number]

type Signals = {
  readonly namespace: string
  readonly pool: string
  readonly prometheusUrl: string
  /** `host:port` of NATS' monitoring, and the mirror of the pool's queue. */
  readonly natsMonitor: string
  readonly mirror: { readonly stream: string; readonly consumer: string }
  readonly startSeconds: number
}

type Contestant = {
  readonly scaling: Pick<PoolSpecInput, 'scaling' | 'replicas'>
  /** Spec of its ScaledObject without target and bounds; absent for Matte. */
  readonly scaledObject?: (signals: Signals) => object
}

const external = { scaling: { owner: 'external' }, replicas: 0 } as const

/** Lets the autoscaler reach the maximum in one decision. */
const fastScaleUp = {
  stabilizationWindowSeconds: 0,
  policies: [{ type: 'Pods', value: maxReplicas, periodSeconds: 15 }],
}

/** Requests that wait or are in flight per pod. */
const lagThreshold = '2'

const demand = ({ namespace, pool }: Signals, term: string): string =>
  `max(matte_pool_demand{namespace="${namespace}",pool="${pool}",term="${term}"})`

export const contestants: Readonly<Record<ContestantName, Contestant>> = {
  matte: { scaling: { scaling: { minReplicas: 0, maxReplicas } } },
  'keda-jetstream': {
    scaling: external,
    scaledObject: ({ natsMonitor, mirror }) => ({
      pollingInterval: 3,
      cooldownPeriod: 300,
      // Scale-down keeps the autoscaler's default window of 300 s.
      advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleUp: fastScaleUp } } },
      triggers: [
        {
          type: 'nats-jetstream',
          metadata: {
            natsServerMonitoringEndpoint: natsMonitor,
            account: '$G',
            stream: mirror.stream,
            consumer: mirror.consumer,
            lagThreshold,
            activationLagThreshold: '0',
          },
        },
      ],
    }),
  },
  // charts/matte/examples/external-scaler/keda.yaml
  'keda-prometheus': {
    scaling: external,
    scaledObject: (signals) => ({
      pollingInterval: 5,
      cooldownPeriod: 300,
      fallback: { failureThreshold: 3, replicas: 2, behavior: 'currentReplicasIfHigher' },
      advanced: {
        horizontalPodAutoscalerConfig: {
          behavior: {
            scaleUp: fastScaleUp,
            scaleDown: { stabilizationWindowSeconds: Math.round(60 + 1.5 * signals.startSeconds) },
          },
        },
      },
      triggers: [
        {
          type: 'prometheus',
          metricType: 'AverageValue',
          metadata: {
            serverAddress: signals.prometheusUrl,
            query: demand(signals, 'wantedPods'),
            threshold: '1',
            activationThreshold: '0',
            ignoreNullValues: 'false',
          },
        },
      ],
    }),
  },
  // The autoscaler's default behaviour. KEDA serves its metric, and scales from zero.
  'hpa-queue': {
    scaling: external,
    scaledObject: (signals) => ({
      triggers: [
        {
          type: 'prometheus',
          metricType: 'AverageValue',
          metadata: {
            serverAddress: signals.prometheusUrl,
            query: `${demand(signals, 'backlog')} + ${demand(signals, 'processing')}`,
            threshold: lagThreshold,
            activationThreshold: '0',
            ignoreNullValues: 'false',
          },
        },
      ],
    }),
  },
}

export const scaledObjectOf = (name: ContestantName, signals: Signals): object | undefined => {
  const { scaledObject } = contestants[name]
  return (
    scaledObject && {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: { name: signals.pool },
      spec: {
        scaleTargetRef: { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', name: signals.pool },
        minReplicaCount: 0,
        maxReplicaCount: maxReplicas,
        ...scaledObject(signals),
      },
    }
  )
}
