// Finds pods of a release whose image no node can pull, for `helm test`.
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'

type ContainerStatus = {
  readonly image: string
  readonly state?: { readonly waiting?: { readonly reason?: string } }
}

export type Pod = {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly status?: {
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
  }
}

type Cluster = {
  readonly origin: string
  readonly namespace: string
  readonly token: string
  readonly ca: string | undefined
}

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Reasons that persist until the image, its name or the registry access changes. */
const lastingReasons = new Set(['ImagePullBackOff', 'ErrImageNeverPull', 'InvalidImageName'])

/** Uses this pod's service account. @throws Error when the pod has none */
export async function openCluster(namespace: string): Promise<Cluster> {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = process.env
  return {
    origin: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace,
    token: await readFile(`${serviceAccount}/token`, 'utf8'),
    ca: await readFile(`${serviceAccount}/ca.crt`, 'utf8'),
  }
}

type Options = {
  readonly release: string
  readonly signal: AbortSignal
  readonly warn: (text: string) => void
  readonly pollMs?: number
}

/** Never resolves; abort by `signal`. @throws Error with the pod, its image and the command that loads it */
export async function rejectOnMissingImage(
  cluster: Cluster,
  { release, signal, warn, pollMs = 2_000 }: Options,
): Promise<never> {
  const dispatcher = new Agent({ connect: { ...(cluster.ca && { ca: cluster.ca }) } })
  signal.addEventListener('abort', () => void dispatcher.destroy().catch(() => {}))
  for (;;) {
    const pods = await listPods(cluster, { dispatcher, signal }).catch((error: Error) => error)
    if (pods instanceof Error) {
      if (!signal.aborted) warn(`cannot look for missing images: ${pods.message}`)
      return await new Promise(() => {})
    }
    const [missing] = findMissingImages(pods, release)
    if (missing) throw new Error(missing)
    await pause(pollMs, undefined, { signal, ref: false })
  }
}

/** One sentence per container; only pods of the release and its pools count. */
export function findMissingImages(pods: readonly Pod[], release: string): string[] {
  return pods
    .filter(({ metadata: { labels = {} } }) => labels[instanceLabel] === release || poolLabel in labels)
    .flatMap(({ metadata, status }) =>
      [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
        .filter(({ state }) => lastingReasons.has(state?.waiting?.reason ?? ''))
        .map(
          ({ image, state }) =>
            `pod ${metadata.name} cannot pull ${image} (${state?.waiting?.reason}). ${advise(image)}`,
        ),
    )
}

const instanceLabel = 'app.kubernetes.io/instance'
const poolLabel = 'matte.dev/pool'

/** Images under localhost/ come from no registry. */
const advise = (image: string): string =>
  image.startsWith('localhost/')
    ? `Load it on every node, for example by "kind load docker-image ${image}", or push it and set image.registry.`
    : 'Correct its name, or give the nodes access to its registry.'

async function listPods(
  { origin, namespace, token }: Cluster,
  options: { dispatcher: Agent; signal: AbortSignal },
): Promise<readonly Pod[]> {
  const answer = await request(`${origin}/api/v1/namespaces/${namespace}/pods`, {
    ...options,
    headers: { authorization: `Bearer ${token.trim()}` },
  })
  const body = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`the API server answered ${answer.statusCode}`)
  return (JSON.parse(body) as { readonly items: readonly Pod[] }).items
}
