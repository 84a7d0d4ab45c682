// A release of the chart in a separate namespace, where Pod Security enforces `restricted`. Controlled by helm and
// kubectl, as by a user.
import { randomBytes } from 'node:crypto'
import { chartDir, run, runOrThrow } from '../../chart/helm.ts'
import { until } from '../../support/until.ts'
import { untilPoolsReady } from '../pools-ready.ts'
import { removeDefinition } from './crd.ts'

export type Release = {
  readonly namespace: string
  kubectl(...args: string[]): Promise<string>
  helm(...args: string[]): Promise<string>
  /** The chart and the image under test, as arguments of Helm. */
  readonly chart: readonly string[]
  /** Creates objects. `kubectl apply` would copy each into an annotation, which images exceed. */
  create(object: object): Promise<void>
  /** Returns when its pods respond and its pools are Ready. */
  install(args?: readonly string[]): Promise<void>
  upgrade(args: readonly string[]): Promise<void>
  untilServing(): Promise<void>
  /** Names of a component's pods that are not terminating. */
  podsOf(component: string): Promise<readonly string[]>
  end(): Promise<void>
}

const name = 'matte'
/** Image under test, unless it is the chart's default. */
const image = process.env.MATTE_IMAGE_TAG === undefined ? [] : ['--set', `image.tag=${process.env.MATTE_IMAGE_TAG}`]
const seconds = '--timeout=240s'

export function openRelease(): Release {
  const namespace = `matte-cluster-${randomBytes(3).toString('hex')}`
  const kubectl = (...args: string[]): Promise<string> => runOrThrow('kubectl', ['-n', namespace, ...args])
  const helm = (...args: string[]): Promise<string> => runOrThrow('helm', [...args, '-n', namespace])

  async function untilServing(): Promise<void> {
    await kubectl('wait', 'job', '--all', '--for=condition=Complete', seconds)
    for (const component of ['api', 'worker', 'operator', 'dispatcher']) {
      await kubectl('rollout', 'status', `deploy/${name}-${component}`, seconds)
    }
    for (const server of ['postgresql', 'nats', 'object-store']) {
      await kubectl('rollout', 'status', `sts/${name}-${server}`, seconds)
    }
    await untilPoolsReady(kubectl)
  }

  return {
    namespace,
    kubectl,
    helm,
    untilServing,
    chart: [chartDir, ...image],
    create: async (object) => {
      await runOrThrow('kubectl', ['-n', namespace, 'create', '-f', '-'], JSON.stringify(object))
    },
    install: async (args = []) => {
      await createNamespace(namespace)
      await helm('install', name, chartDir, ...image, ...args)
      await untilServing()
    },
    upgrade: async (args) => {
      await helm('upgrade', name, chartDir, ...image, ...args)
      await untilServing()
    },
    podsOf: async (component) => {
      const { items } = JSON.parse(await kubectl('get', 'pods', '-l', selectorOf(component), '-o', 'json')) as PodList
      return items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name)
    },
    end: async () => {
      await run('helm', ['uninstall', name, '-n', namespace])
      await deleteNamespace(namespace)
      await removeDefinition().catch(() => undefined) // another release of the test is still there
    },
  }
}

type PodList = {
  readonly items: readonly { readonly metadata: { readonly name: string; deletionTimestamp?: string } }[]
}

export const selectorOf = (component: string): string =>
  component === 'triton' ? 'matte.dev/pool' : `app.kubernetes.io/component=${component}`

export async function createNamespace(namespace: string): Promise<void> {
  await runOrThrow('kubectl', ['create', 'namespace', namespace])
  await runOrThrow('kubectl', ['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted'])
}

/** Also ends pods with a long grace period. */
export async function deleteNamespace(namespace: string): Promise<void> {
  await run('kubectl', ['delete', 'namespace', namespace, '--wait=false'])
  await until(
    `namespace ${namespace} is gone`,
    async () => {
      await run('kubectl', ['-n', namespace, 'delete', 'pods', '--all', '--grace-period=0', '--force'])
      return (await run('kubectl', ['get', 'namespace', namespace])).failed
    },
    { timeoutMs: 240_000, everyMs: 1_000 },
  )
}
