import { type Release, releaseLabel } from '../pool/release.ts'
import type { TritonPool } from '../pool/triton-pool.ts'

/**
 * The pool whose pods carry the label of a release that serves labelled pools alone; NetworkPolicies select by it. Pods
 * of the other release have no such label, so their templates stay as they were. A `podPatch` cannot change it.
 */
export function withPodRelease(pool: TritonPool, release: Release | undefined): TritonPool {
  const value = release === undefined || release.unlabelledPools ? undefined : release.name
  const patch = (pool.spec.podPatch ?? {}) as { metadata?: { labels?: Record<string, unknown> } }
  const { [releaseLabel]: patched, ...labels } = patch.metadata?.labels ?? {}
  if (patched === value) return pool
  const changed = { ...labels, ...(value !== undefined && { [releaseLabel]: value }) }
  const podPatch = { ...patch, metadata: { ...patch.metadata, labels: changed } }
  return { ...pool, spec: { ...pool.spec, podPatch: podPatch as NonNullable<TritonPool['spec']['podPatch']> } }
}
