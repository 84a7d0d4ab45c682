// The cluster's external metrics API, served by a program on this machine: prometheus-adapter, or KEDA.
import { createSocket } from 'node:dgram'
import { endpointSlices, type Resource, services } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { testLabel } from '../../../support/config-map.ts'
import { until } from '../../../support/until.ts'
import type { Cluster } from '../cluster.ts'
import { nodes } from '../images.ts'

type ApiService = KubeObject & {
  readonly spec: object
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

export const externalMetricsName = 'v1beta1.external.metrics.k8s.io'
const apiServices: Resource<ApiService> = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  plural: 'apiservices',
  kind: 'APIService',
  clusterScoped: true,
}

/** Address of this machine as seen by the cluster's nodes. */
export async function machineAddress({ kube }: Cluster): Promise<string> {
  const { items } = await kube.list(nodes)
  const addresses = (items[0]?.status as { addresses?: { type: string; address: string }[] } | undefined)?.addresses
  const node = addresses?.find(({ type }) => type === 'InternalIP')?.address
  if (node === undefined) throw new Error('the node has no address')
  const socket = createSocket(node.includes(':') ? 'udp6' : 'udp4')
  try {
    // Sends nothing; the system only selects the route.
    await new Promise<void>((resolve) => socket.connect(9, node, resolve))
    return socket.address().address
  } finally {
    socket.close()
  }
}

/** Routes the cluster's external metrics to this port; returns a function that undoes it. */
export async function serveExternalMetrics(
  { kube }: Cluster,
  { address, port, namespace }: { readonly address: string; readonly port: number; readonly namespace: string },
): Promise<() => Promise<void>> {
  const name = 'external-metrics'
  const metadata = { name, labels: { [testLabel]: 'true' } }
  await kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ port: 443, targetPort: port, protocol: 'TCP' }] },
  } as never)
  await kube.create(endpointSlices, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { ...metadata.labels, 'kubernetes.io/service-name': name } },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: '', port, protocol: 'TCP' }],
  } as never)
  await kube.create(apiServices, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: externalMetricsName, labels: { [testLabel]: 'true' } },
    spec: {
      service: { name, namespace, port: 443 },
      group: 'external.metrics.k8s.io',
      version: 'v1beta1',
      // The certificate is self-signed; a cluster's own adapter has one signed by its authority.
      insecureSkipTLSVerify: true,
      groupPriorityMinimum: 100,
      versionPriority: 100,
    },
  })
  const remove = async (): Promise<void> => void (await kube.delete(apiServices, externalMetricsName))
  try {
    await until('the cluster serves external metrics', async () => {
      const { status } = (await kube.get(apiServices, externalMetricsName)) ?? {}
      return status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True')
    })
  } catch (error) {
    // It belongs to no namespace, so it would block the next run.
    await remove()
    throw error
  }
  return remove
}
