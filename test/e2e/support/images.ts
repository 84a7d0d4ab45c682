// The two images that the scenarios run in the cluster, and whether its nodes have them.
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

const fake = image('E2E_FAKE_IMAGE', 'matte/fake-triton:e2e', 'test/e2e/fake-triton/Dockerfile')
const triton = image('E2E_TRITON_IMAGE', 'matte/triton:e2e', 'test/e2e/triton/Dockerfile')

/** Pods by the dozen: real gRPC, no inference. */
export const fakeImage = fake.name
/** The real server with this repository's models in it. */
export const tritonImage = triton.name

/** A kubelet tells of its 50 largest images only: of a node that tells of so many, nothing is known of the others. */
const toldMax = 50

/** How to come by what no node has; undefined when all is there, or when somebody has said where it is to be had. */
export async function findMissingImages(kube: KubeClient): Promise<string | undefined> {
  const { items } = await kube.list(nodes)
  const told = items.map(({ status }) => (status?.images ?? []).flatMap(({ names }) => names ?? []))
  if (told.some((names) => names.length >= toldMax)) return undefined
  const has = ({ name }: Image): boolean => told.flat().some((full) => full === name || full.endsWith(`/${name}`))
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
