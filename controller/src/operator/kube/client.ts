// The API server as this process uses it: one namespace, JSON, a deadline for every request. It never tries again by
// itself (but for a question on a dead idle connection): who asked knows whether the question still stands.
import type { Logger } from 'pino'
import type { ClusterMetrics } from './cluster-metrics.ts'
import { type Call, createCaller } from './http/call.ts'
import { readJsonLines } from './http/json-lines.ts'
import { KubeError, localError } from './http/kube-error.ts'
import { type ApiServerAccess, createTransport, type OpenAnswer } from './http/transport.ts'
import { requestOf } from './http/verbs.ts'
import type {
  Deployment,
  EndpointSlice,
  Event,
  KubeObject,
  Lease,
  Pod,
  PodDisruptionBudget,
  Service,
  Status,
} from './objects.ts'

export { KubeError }

export type Resource<T extends KubeObject> = {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  /** Its objects lie in no namespace. */
  readonly clusterScoped?: true
  /** Never there: it ties the resource to the type of its objects. */
  readonly object?: T
}

const v1 = <T extends KubeObject>(group: string, plural: string, kind: string): Resource<T> => ({
  group,
  version: 'v1',
  plural,
  kind,
})

export const pods = v1<Pod>('', 'pods', 'Pod')
export const services = v1<Service>('', 'services', 'Service')
export const events = v1<Event>('', 'events', 'Event')
export const deployments = v1<Deployment>('apps', 'deployments', 'Deployment')
export const endpointSlices = v1<EndpointSlice>('discovery.k8s.io', 'endpointslices', 'EndpointSlice')
export const podDisruptionBudgets = v1<PodDisruptionBudget>('policy', 'poddisruptionbudgets', 'PodDisruptionBudget')
export const leases = v1<Lease>('coordination.k8s.io', 'leases', 'Lease')

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** `object` has nothing but `metadata.resourceVersion`: all events up to it have been sent. */
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject }
  | { readonly type: 'ERROR'; readonly object: Status }

export type CallOptions = { readonly signal?: AbortSignal; readonly timeoutMs?: number }
type Subresource = { readonly subresource?: 'status' | 'scale' }

export type ListOptions = {
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string
  /** Objects a page. */
  readonly limit?: number | undefined
  readonly continue?: string | undefined
}
export type ListPage<T> = { readonly items: T[]; readonly resourceVersion: string; readonly continue?: string }

type WatchOptions = {
  readonly resourceVersion: string
  readonly labelSelector?: string | undefined
  /** When the server shall end the watch. */
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
  /** Called when the server has begun to answer, and with every piece that arrives, be it half a line. */
  readonly onData?: () => void
}

/** Every method throws KubeError. */
export type KubeClient = {
  readonly namespace: string
  readonly fieldManager: string
  /** A client of another namespace over the same connections; closing one closes all. */
  in(namespace: string): KubeClient
  /** Undefined: there is none (404). */
  get<T extends KubeObject>(resource: Resource<T>, name: string, options?: CallOptions): Promise<T | undefined>
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions & CallOptions): Promise<ListPage<T>>
  /** Ends when the server ends it; throws when it is cut, when `signal` is aborted, or when it is refused. */
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>
  /**
   * Server-side apply. What this manager applied before and now leaves out is removed. With `force`, the default,
   * fields that somebody else has set become ours. `metadata.resourceVersion`, when given, must still be current (else
   * 409), and `metadata.uid` must come with it: without one the API server would make a deleted object again. The
   * version '0' alone creates a custom resource and never changes one: if there is one, the answer is 422.
   * `fieldManager`: another manager than that of this client.
   */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options?: Subresource & CallOptions & { readonly force?: boolean; readonly fieldManager?: string },
  ): Promise<T>
  /** 409 (AlreadyExists) when there is one. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T>
  /** JSON merge patch; a `metadata.resourceVersion` in it must still be current (else 409). */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    patch: object,
    options?: Subresource & CallOptions,
  ): Promise<T>
  /** PUT of the whole object; 409 unless its `metadata.resourceVersion` is current. */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T>
  /** False: there was none, so it is deleted already. 409 when `uid` or `resourceVersion` is not that of today. */
  delete<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    options?: CallOptions & {
      readonly uid?: string
      readonly resourceVersion?: string
      readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
      /** In place of a pod's own; 0 deletes it at once, whatever it is doing. */
      readonly gracePeriodSeconds?: number
    },
  ): Promise<boolean>
  close(): void
}

/**
 * Deadlines of requests in milliseconds. A read takes milliseconds, and a list of thousands of pods takes seconds. A
 * write waits for admission webhooks, whose `timeoutSeconds` is 10 by default and 30 at most; the API server answers
 * after it.
 */
const timeouts = { read: 10_000, list: 30_000, write: 35_000 }

/** etcd keeps at most 1.5 MiB of an object; as JSON with its managed fields it may be some times as long. */
const lineMaxBytes = 8 * 1024 * 1024

type KubeClientOptions = {
  readonly config: ApiServerAccess
  readonly namespace: string
  /** Of every write, and the user agent: what we own in an object is what we last applied under this name. */
  readonly fieldManager: string
  readonly metrics: ClusterMetrics
  readonly logger: Logger
}

type Target = {
  readonly resource: Resource<KubeObject>
  readonly name?: string
  readonly subresource?: string | undefined
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
}

/** @throws Error when the configuration has no cluster that can be spoken to. */
export function createKubeClient(
  options: KubeClientOptions,
  transport = createTransport(options.config, options.fieldManager),
): KubeClient {
  const { namespace, fieldManager, metrics, logger } = options
  const { call, open } = createCaller(transport, metrics, logger)

  const to = (verb: Call['verb'], target: Target): Call => ({
    verb,
    path: buildPath(namespace, target),
    resource: [target.resource.plural, target.subresource].filter(Boolean).join('/'),
    name: target.name,
    timeoutMs: requestOf[verb].method === 'GET' ? timeouts.read : timeouts.write,
    // Leases are renewed on the connections of reads, which no admission webhook can occupy.
    isSlow: requestOf[verb].method !== 'GET' && target.resource.plural !== leases.plural,
  })

  const client: KubeClient = {
    namespace,
    fieldManager,
    in: (other) => (other === namespace ? client : createKubeClient({ ...options, namespace: other }, transport)),
    get: (resource, name, options) => unlessMissing(call({ ...to('get', { resource, name }), ...options })),
    list: async (resource, { signal, timeoutMs = timeouts.list, ...query } = {}) =>
      toPage(resource, await call({ ...to('list', { resource, query }), timeoutMs, signal })),
    watch: (resource, { signal, onData, ...options }) => {
      const query = { watch: true, allowWatchBookmarks: true, ...options }
      return readEvents(() => open({ ...to('watch', { resource, query }), signal }), onData)
    },
    apply: async (resource, object, { subresource, force = true, fieldManager: manager, ...options } = {}) => {
      const { name, resourceVersion, uid } = object.metadata
      if (resourceVersion !== undefined && resourceVersion !== '0' && uid === undefined) {
        throw new TypeError(`apply ${resource.kind} ${name}: give metadata.uid together with metadata.resourceVersion`)
      }
      const query = { fieldManager: manager ?? fieldManager, force }
      const target = to('apply', { resource, name, subresource, query })
      return await call({ ...target, body: object, ...options })
    },
    create: (resource, object, options) =>
      call({ ...to('create', { resource, query: { fieldManager } }), body: object, ...options }),
    mergePatch: (resource, name, body, { subresource, ...options } = {}) =>
      call({ ...to('patch', { resource, name, subresource, query: { fieldManager } }), body, ...options }),
    replace: (resource, object, options) => {
      const target = to('update', { resource, name: object.metadata.name, query: { fieldManager } })
      return call({ ...target, body: object, ...options })
    },
    delete: async (resource, name, { uid, resourceVersion, propagation, gracePeriodSeconds, ...options } = {}) => {
      const preconditions = { uid, resourceVersion }
      const body = { preconditions, propagationPolicy: propagation ?? 'Background', gracePeriodSeconds }
      return (await unlessMissing(call({ ...to('delete', { resource, name }), body, ...options }))) !== undefined
    },
    close: transport.close,
  }
  return client
}

/** Of a group that is not installed the API server answers 404 in plain text: that is an error and not an absence. */
const unlessMissing = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown) => {
    if (error instanceof KubeError && error.status === 404 && error.reason === 'NotFound') return undefined
    throw error
  })

function buildPath(namespace: string, { resource, name, subresource, query = {} }: Target): string {
  const { group, version, plural, clusterScoped } = resource
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const scope = clusterScoped ? [] : ['namespaces', namespace]
  const parts = [...scope, plural, name, subresource].filter((part) => part !== undefined)
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value))
  return `${[root, ...parts.map(encodeURIComponent)].join('/')}?${search}`
}

type RawList<T> = { items?: T[] | null; metadata?: { resourceVersion?: string; continue?: string } }

/** Objects in a list come without kind and version; they get those of the resource. */
function toPage<T extends KubeObject>(resource: Resource<T>, { items, metadata }: RawList<T>): ListPage<T> {
  const { group, version, kind, plural } = resource
  if (metadata?.resourceVersion === undefined) throw localError('BadAnswer', `list ${plural}: no resourceVersion`)
  const apiVersion = group === '' ? version : `${group}/${version}`
  return {
    items: (items ?? []).map((item) => ({ ...item, apiVersion, kind })),
    resourceVersion: metadata.resourceVersion,
    ...(metadata.continue && { continue: metadata.continue }),
  }
}

async function* readEvents<T>(open: () => Promise<OpenAnswer>, onData?: () => void): AsyncGenerator<WatchEvent<T>> {
  const answer = await open()
  answer.liftDeadline()
  onData?.()
  try {
    for await (const line of readJsonLines(answer.response, { lineMaxBytes, onData })) yield toEvent<T>(line)
  } catch (error) {
    throw answer.failure(error)
  } finally {
    answer.close()
  }
}

const eventTypes: readonly unknown[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']

function toEvent<T>(line: unknown): WatchEvent<T> {
  const { type, object } = (line ?? {}) as { type?: unknown; object?: unknown }
  if (!eventTypes.includes(type) || typeof object !== 'object' || object === null) {
    throw localError('BadAnswer', 'a line is no watch event')
  }
  return line as WatchEvent<T>
}
