import { type Release, releaseLabel } from '../pool/release.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { isObject, type Json, type JsonObject } from './json.ts'

const noUserIds: JsonObject = { spec: { securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } } }

export const listenAnnotation = 'matte.dev/listen'

export type Platform = {
  /** Whether pods set a user. Platforms such as OpenShift assign user ids instead. */
  readonly userIds: boolean
  /** Whether Triton also listens on IPv6, which the nodes must support. */
  readonly ipv6: boolean
}

/** Adapts the pool to the platform; settings of the pool itself win. */
export function fitToPlatform(pool: TritonPool, { userIds, ipv6 }: Platform): TritonPool {
  const own = (pool.spec.podPatch ?? {}) as JsonObject
  const podPatch = (userIds ? own : layOver(noUserIds, own)) as JsonObject
  const annotations = ipv6 ? { [listenAnnotation]: 'ipv6', ...pool.metadata.annotations } : pool.metadata.annotations
  return {
    ...pool,
    metadata: { ...pool.metadata, ...(annotations && { annotations }) },
    spec: { ...pool.spec, ...(pool.spec.podPatch || !userIds ? { podPatch } : {}) },
  }
}

/** Combines two merge patches; nulls stay, because they remove fields. */
function layOver(below: Json, above: Json): Json {
  if (!isObject(below) || !isObject(above)) return above
  const keys = [...new Set([...Object.keys(below), ...Object.keys(above)])]
  return Object.fromEntries(
    keys.map((key) => [key, key in above ? layOver(below[key] ?? null, above[key] ?? null) : (below[key] ?? null)]),
  )
}

/** Labels the pods of a release that serves only labelled pools, for NetworkPolicies. */
export function withPodRelease(pool: TritonPool, release: Release | undefined): TritonPool {
  const value = release === undefined || release.unlabelledPools ? undefined : release.name
  const patch = (pool.spec.podPatch ?? {}) as { metadata?: { labels?: Record<string, unknown> } }
  const { [releaseLabel]: patched, ...labels } = patch.metadata?.labels ?? {}
  if (patched === value) return pool
  const changed = { ...labels, ...(value !== undefined && { [releaseLabel]: value }) }
  const podPatch = { ...patch, metadata: { ...patch.metadata, labels: changed } }
  return { ...pool, spec: { ...pool.spec, podPatch: podPatch as NonNullable<TritonPool['spec']['podPatch']> } }
}
