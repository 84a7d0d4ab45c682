// The two images of the scenarios, and whether the cluster's nodes have them.
import type { KubeClient, Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'

export type Node = KubeObject & {
  spec?: { taints?: { key: string; value?: string; effect: string }[] }
  status?: {
    images?: { names?: string[] }[]
    allocatable?: Record<string, string>
    capacity?: Record<string, string>
    conditions?: { type: string; status: string }[]
  }
}

export const nodes: Resource<Node> = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', clusterScoped: true }

type Image = { readonly variable: string; readonly name: string; readonly file: string; readonly isNamed: boolean }

const image = (variable: string, name: string, file: string): Image => ({
  variable,
  name: process.env[variable] || name,
  file,
  isNamed: Boolean(process.env[variable]),
})

const fake = image('E2E_FAKE_IMAGE', 'localhost/matte/fake-triton:e2e', 'test/e2e/fake-triton/Dockerfile')
const triton = image('E2E_TRITON_IMAGE', 'localhost/matte/triton:e2e', 'models/Dockerfile')

/** Fake Triton for many pods: real gRPC, no inference. */
export const fakeImage = fake.name
/** Real Triton with this repository's models. */
export const tritonImage = triton.name

/** A kubelet reports only its 50 largest images, so others are unknown on such a node. */
const reportedMax = 50

/** Instructions for missing images; undefined if all are present, or named by a variable. */
export async function findMissingImages(kube: KubeClient): Promise<string | undefined> {
  const { items } = await kube.list(nodes)
  const reported = items.map(({ status }) => (status?.images ?? []).flatMap(({ names }) => names ?? []))
  if (reported.some((names) => names.length >= reportedMax)) return undefined
  const has = ({ name }: Image): boolean => reported.flat().some((full) => full === name || full.endsWith(`/${name}`))
  const missing = [fake, triton].filter((one) => !one.isNamed && !has(one))
  if (missing.length === 0) return undefined
  const how = missing.map(
    ({ name, file, variable }) =>
      `  docker build -f ${file} -t ${name} .\n` +
      `  kind load docker-image ${name}    # or k3d image import; or push it and set ${variable} to its name\n`,
  )
  const names = missing.map(({ name }) => name).join(' and ')
  return `no node of the cluster has ${names}. From the root of the repository:\n${how.join('')}`
}
