import type { Service } from '../kube/objects.ts'
import { revisionLabels, revisionName, revisionSelector } from '../pool/labels.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { ports } from './triton-arguments.ts'
import { ownerOf } from './triton-deployment.ts'

/** Headless Service; its EndpointSlices carry its labels and the state of each pod. */
export function buildTritonService(pool: TritonPool, revision: string): Service {
  const { name } = pool.metadata
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: revisionName(name, revision),
      labels: revisionLabels(name, revision),
      ownerReferences: ownerOf(pool),
    },
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: false,
      selector: revisionSelector(name, revision),
      ports: Object.entries(ports).map(([port, number]) => ({
        name: port,
        port: number,
        targetPort: number,
        protocol: 'TCP',
        ...(port === 'grpc' && { appProtocol: 'grpc' }),
      })),
    },
  }
}
