// Client of the API server: one namespace, JSON, a deadline for each request. It never retries, because only the caller
// knows whether the request still makes sense. The exception is a read on a stale connection (transport.ts).
import type { Logger } from 'pino'
import { type Call, createCaller } from './http/call.ts'
import { readJsonLines } from './http/json-lines.ts'
import { KubeError, localError } from './http/kube-error.ts'
import { type ApiServerAccess, createTransport, type OpenAnswer, requestOf } from './http/transport.ts'
import type { ClusterMetrics } from './kube-metrics.ts'
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
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly clusterScoped?: true
  /** Ties the resource to the type of its objects; the value is never set. */
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
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject }
  | { readonly type: 'ERROR'; readonly object: Status }

export type CallOptions = { readonly signal?: AbortSignal; readonly timeoutMs?: number }
type Subresource = { readonly subresource?: 'status' | 'scale' }

export type ListOptions = {
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string
  readonly limit?: number | undefined
  readonly continue?: string | undefined
}
export type ListPage<T> = { readonly items: T[]; readonly resourceVersion: string; readonly continue?: string }

type WatchOptions = {
  readonly resourceVersion: string
  readonly labelSelector?: string | undefined
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
  /** Called when the response begins and for each chunk, even without a complete line. */
  readonly onData?: () => void
}

/** Client of one namespace. Every method throws KubeError. */
export type KubeClient = {
  readonly namespace: string
  readonly fieldManager: string
  /** A client of another namespace over the same connections. Closing one closes all. */
  in(namespace: string): KubeClient
  /** Undefined on 404. */
  get<T extends KubeObject>(resource: Resource<T>, name: string, options?: CallOptions): Promise<T | undefined>
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions & CallOptions): Promise<ListPage<T>>
  /** Returns when the server ends the watch. Throws if the connection breaks or `signal` is aborted. */
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>
  /**
   * Server-side apply. Fields that this manager applied before and now omits are removed. With `force` (the default) it
   * takes over fields of other managers. A given `metadata.resourceVersion` must be current (else 409) and needs
   * `metadata.uid`; without the uid the API server would recreate a deleted object. Version '0' only creates a custom
   * resource, and gets 422 if it exists. `fieldManager` replaces the client's own.
   */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options?: Subresource & CallOptions & { readonly force?: boolean; readonly fieldManager?: string },
  ): Promise<T>
  /** 409 (AlreadyExists) if the object exists. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T>
  /** JSON merge patch. A `metadata.resourceVersion` in it must be current (else 409). */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    patch: object,
    options?: Subresource & CallOptions,
  ): Promise<T>
  /** PUT of the whole object. 409 unless `metadata.resourceVersion` is current. */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T>
  /** False if the object does not exist. 409 if `uid` or `resourceVersion` does not match. */
  delete<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    options?: CallOptions & {
      readonly uid?: string
      readonly resourceVersion?: string
      readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
      /** Replaces the pod's own grace period; 0 deletes at once. */
      readonly gracePeriodSeconds?: number
    },
  ): Promise<boolean>
  close(): void
}

/** Milliseconds. A write waits for admission webhooks, whose `timeoutSeconds` is at most 30. */
const timeouts = { read: 10_000, list: 30_000, write: 35_000 }

/** etcd stores at most 1.5 MiB per object; its JSON with managed fields can be several times as long. */
const lineMaxBytes = 8 * 1024 * 1024

type KubeClientOptions = {
  readonly config: ApiServerAccess
  readonly namespace: string
  /** Field manager of every write, and the user agent. */
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

/** @throws Error if the configuration has no usable cluster */
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
    // Lease renewals use the connections of reads, which no admission webhook can occupy.
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

/** 404 of an API group that is not installed is plain text, and an error. */
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

/** Listed objects lack kind and version, so they get those of the resource. */
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
    throw localError('BadAnswer', 'a line is not a watch event')
  }
  return line as WatchEvent<T>
}

type ListAllOptions = {
  readonly labelSelector?: string | undefined
  readonly pageSize?: number | undefined
  readonly signal: AbortSignal
}

/** The page size of kubectl; about 3 MB of pods. */
const defaultPageSize = 500

/** Paged tries, each of which fails if the server compacts its history meanwhile. */
const pagedTriesMax = 2

/** Lists all objects at one moment. Starts over if the server has discarded the version of the pages (410). */
export async function listAll<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource<T>,
  { pageSize = defaultPageSize, ...options }: ListAllOptions,
): Promise<ListPage<T>> {
  for (let tries = 0; ; tries += 1) {
    const paged = tries < pagedTriesMax
    try {
      return await listPages(kube, resource, { ...options, limit: paged ? pageSize : undefined })
    } catch (error) {
      if (!paged || !(error instanceof KubeError) || error.status !== 410) throw error
    }
  }
}

async function listPages<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource<T>,
  options: ListOptions & CallOptions,
): Promise<ListPage<T>> {
  const items: T[] = []
  for (let next: string | undefined; ; ) {
    const page = await kube.list(resource, { ...options, continue: next })
    items.push(...page.items)
    next = page.continue
    if (next === undefined) return { items, resourceVersion: page.resourceVersion }
  }
}
