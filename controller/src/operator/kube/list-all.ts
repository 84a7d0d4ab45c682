import type { CallOptions, KubeClient, ListOptions, ListPage, Resource } from './client.ts'
import { KubeError } from './http/kube-error.ts'
import type { KubeObject } from './objects.ts'

type ListAllOptions = {
  readonly labelSelector?: string | undefined
  /** Objects a page. */
  readonly pageSize?: number | undefined
  readonly signal: AbortSignal
}

/** As kubectl and the controllers have it: some 3 MB of pods a page. */
const defaultPageSize = 500

/** Tries to page through; the history that later pages are read from may end meanwhile. */
const pagedTriesMax = 2

/**
 * Every object of one moment, which is not before the call. When the pages' moment has left the server's history it
 * begins again, at last in one piece.
 */
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
