import type { TritonPool } from '../pool/triton-pool.ts'
import { isObject, type Json, type JsonObject } from './merge-patch.ts'

/** In a merge patch null takes a field away. */
const noUserIds: JsonObject = { spec: { securityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } } }

/**
 * The pool as a platform needs it that gives each namespace user ids of its own and refuses pods that name others, such
 * as OpenShift. What the pool's podPatch says about ids stays.
 */
export function leaveUserIds(pool: TritonPool): TritonPool {
  const podPatch = layOver(noUserIds, (pool.spec.podPatch ?? {}) as JsonObject)
  return { ...pool, spec: { ...pool.spec, podPatch: podPatch as JsonObject } }
}

/** One merge patch over another: nulls stay, since they are what a patch takes away. */
function layOver(below: Json, above: Json): Json {
  if (!isObject(below) || !isObject(above)) return above
  const keys = [...new Set([...Object.keys(below), ...Object.keys(above)])]
  return Object.fromEntries(
    keys.map((key) => [key, key in above ? layOver(below[key] ?? null, above[key] ?? null) : (below[key] ?? null)]),
  )
}
