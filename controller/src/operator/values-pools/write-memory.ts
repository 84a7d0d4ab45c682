// Answers of the API server to writes of pools of the values, kept for the term of a leader.
import type { TritonPool } from '../pool/triton-pool.ts'
import type { Applied } from './plan-values-pools.ts'

/** A pool whose owner or deletion the API server refuses. */
export type RefusedWrite = { readonly name: string; readonly message: string; readonly atMs: number }

export type WriteMemory = {
  readonly applied: Map<string, Applied & { readonly atMs: number }>
  /** Refused writes by kind of write and uid of the pool. */
  readonly refusedWrites: Map<string, RefusedWrite>
}

/** How long a refused write is not tried again. */
export const refusedForMs = 30_000

/** Forgets refused writes of pools that nothing is to be done about. */
export function forgetRefusedWrites(
  { refusedWrites }: WriteMemory,
  { disown, gone }: { readonly disown: readonly TritonPool[]; readonly gone: readonly TritonPool[] },
): void {
  const asked = new Set([
    ...disown.map(({ metadata }) => `disown ${metadata.uid}`),
    ...gone.map(({ metadata }) => `delete ${metadata.uid}`),
  ])
  for (const key of refusedWrites.keys()) if (!asked.has(key)) refusedWrites.delete(key)
}
