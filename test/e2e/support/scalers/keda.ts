// KEDA's CustomResourceDefinitions and its ScaledObject.
import type { Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import type { Definition } from '../../../support/keda/definitions.ts'
import { until } from '../../../support/until.ts'
import type { Cluster } from '../cluster.ts'

type ScaledObject = KubeObject & {
  status?: { conditions?: { type: string; status: string; reason?: string; message?: string }[] }
}

export const scaledObjects: Resource<ScaledObject> = {
  group: 'keda.sh',
  version: 'v1alpha1',
  plural: 'scaledobjects',
  kind: 'ScaledObject',
}

const customDefinitions: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  clusterScoped: true,
}

/** Returns when its objects are served. `removeKeda` deletes them. */
export async function installKeda({ kube }: Cluster, definitions: readonly Definition[]): Promise<void> {
  for (const definition of definitions) await kube.apply(customDefinitions, definition)
  await until('KEDA’s objects are served', async () => (await kube.list(scaledObjects)).items.length === 0)
}

/** Requires a running KEDA, because its finalizers block the deletion otherwise. */
export async function removeKeda({ kube }: Cluster, definitions: readonly Definition[]): Promise<void> {
  const { items } = await kube.list(scaledObjects)
  for (const { metadata } of items) await kube.delete(scaledObjects, metadata.name)
  await until('KEDA has let its objects go', async () => (await kube.list(scaledObjects)).items.length === 0)
  for (const { metadata } of definitions) await kube.delete(customDefinitions, metadata.name)
}
