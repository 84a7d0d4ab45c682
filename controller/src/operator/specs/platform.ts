import type { TritonPool } from '../pool/triton-pool.ts'
import { isObject, type Json, type JsonObject } from './merge-patch.ts'

/** In a merge patch null takes a field away. */
const noUserIds: JsonObject = { spec: { securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } } }

/** On a pool: `ipv6` has its pods listen on IPv6 as well. */
export const listenAnnotation = 'matte.dev/listen'

export type Platform = {
  /** Whether pods name a user. Otherwise the platform gives each namespace ids of its own, as OpenShift does. */
  readonly userIds: boolean
  /** Whether Triton listens on IPv6 as well. It cannot where the nodes have none. */
  readonly ipv6: boolean
}

/** The pool as the platform needs it. What the pool itself says about either stays. */
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

/** One merge patch over another: nulls stay, since they are what a patch takes away. */
function layOver(below: Json, above: Json): Json {
  if (!isObject(below) || !isObject(above)) return above
  const keys = [...new Set([...Object.keys(below), ...Object.keys(above)])]
  return Object.fromEntries(
    keys.map((key) => [key, key in above ? layOver(below[key] ?? null, above[key] ?? null) : (below[key] ?? null)]),
  )
}
