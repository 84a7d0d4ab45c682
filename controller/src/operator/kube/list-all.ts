import type { KubeClient, Resource } from './client.ts'
import { KubeError } from './http/kube-error.ts'
import type { KubeObject } from './objects.ts'

type ListAllOptions = {
  readonly labelSelector?: string | undefined
  /** Objects a page. */
  readonly pageSize: number
  readonly signal: AbortSignal
}

export type Snapshot<T> = { readonly items: readonly T[]; readonly resourceVersion: string }

/** Tries to page through; the history that later pages are read from may end meanwhile. */
const pagedTriesMax = 2

/**
 * Every object of one moment, which is not before the call. When the pages' moment has left the server's history it
 * begins again, at last in one piece.
 */
export async function listAll<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource<T>,
  options: ListAllOptions,
): Promise<Snapshot<T>> {
  for (let tries = 0; ; tries += 1) {
    const paged = tries < pagedTriesMax
    try {
      return await listPages(kube, resource, options, paged)
    } catch (error) {
      if (!paged || !(error instanceof KubeError) || error.status !== 410) throw error
    }
  }
}

async function listPages<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource<T>,
  { labelSelector, pageSize, signal }: ListAllOptions,
  paged: boolean,
): Promise<Snapshot<T>> {
  const items: T[] = []
  let next: string | undefined
  for (;;) {
    const page = await kube.list(resource, {
      ...(labelSelector !== undefined && { labelSelector }),
      ...(paged && { limit: pageSize }),
      ...(next !== undefined && { continue: next }),
      signal,
    })
    items.push(...page.items)
    next = page.continue
    if (next === undefined) return { items, resourceVersion: page.resourceVersion }
  }
}
