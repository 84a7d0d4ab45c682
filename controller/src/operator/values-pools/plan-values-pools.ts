import { releaseLabel } from '../pool/release.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { hasConfigMapOwner, isFrom, originLabel, type PoolEntry, type PoolsOrigin } from './pool-entries.ts'

/** Number of entries that the chart wrote. A ConfigMap without it, or with another number, is incomplete. */
export const countAnnotation = 'matte.dev/pools'

export type Applied = {
  readonly text: string
  readonly uid: string | undefined
  readonly generation: number | undefined
  readonly refusal?: string
}

type PlanInput = {
  readonly origin: PoolsOrigin
  /** Undefined if the ConfigMap does not exist; then nothing changes. */
  readonly entries: readonly PoolEntry[] | undefined
  readonly count: string | undefined
  readonly pools: readonly TritonPool[]
  readonly applied: ReadonlyMap<string, Applied>
}

export type WaitingPool = { readonly pool: TritonPool; readonly successors: readonly string[] }

export type ValuesPlan = {
  readonly disown: readonly TritonPool[]
  readonly apply: readonly PoolEntry[]
  readonly refused: readonly { readonly name: string; readonly message: string }[]
  /** Pools that left the values and serve until every pool of the values is Ready. */
  readonly waiting: readonly WaitingPool[]
  readonly kept: readonly { readonly name: string; readonly message: string }[]
  readonly delete: readonly TritonPool[]
  readonly gone: readonly TritonPool[]
  readonly current: readonly string[]
}

export function planValuesPools(input: PlanInput): ValuesPlan {
  const { origin, entries, count, pools } = input
  const own = pools.filter((pool) => isFrom(origin, pool) && !isGoing(pool))
  const disown = own.filter(hasConfigMapOwner)
  if (entries === undefined) {
    return { disown, apply: [], refused: [], waiting: [], kept: [], delete: [], gone: [], current: [] }
  }
  const byName = new Map(pools.map((pool) => [pool.metadata.name, pool]))
  const refused = entries.flatMap((entry) => {
    const message = refusalOf(input, entry, byName.get(entry.name))
    return message === undefined ? [] : [{ name: entry.name, message }]
  })
  const rejected = new Set(refused.map(({ name }) => name))
  const isCurrent = (entry: PoolEntry): boolean => hasValues(input, entry, byName.get(entry.name))
  const waits = (entry: PoolEntry): boolean =>
    rejected.has(entry.name) || !isCurrent(entry) || !isReady(byName.get(entry.name))
  const successors = entries.filter(waits).map(({ name }) => name)
  const gone = own.filter(({ metadata }) => !entries.some(({ name }) => name === metadata.name))
  const isComplete = count === String(entries.length)
  return {
    disown,
    apply: entries.filter(
      (entry) => !rejected.has(entry.name) && !isCurrent(entry) && !isGoing(byName.get(entry.name)),
    ),
    refused,
    waiting: isComplete && successors.length > 0 ? gone.map((pool) => ({ pool, successors })) : [],
    kept: isComplete ? [] : gone.map(({ metadata: { name } }) => ({ name, message: keptMessage(input, name) })),
    delete: isComplete && successors.length === 0 ? gone : [],
    gone,
    current: entries.filter((entry) => !rejected.has(entry.name) && isCurrent(entry)).map(({ name }) => name),
  }
}

const isGoing = (pool: TritonPool | undefined): boolean => pool?.metadata.deletionTimestamp !== undefined

function refusalOf({ origin, applied }: PlanInput, entry: PoolEntry, pool: TritonPool | undefined): string | undefined {
  const { name, text, spec } = entry
  if (spec === undefined) return `The entry ${name} of ConfigMap ${origin.configMap} is not a JSON object. Correct it.`
  if (pool !== undefined && !isFrom(origin, pool)) return foreignMessage(origin, pool)
  const last = applied.get(name)
  return last?.text === text ? last.refusal : undefined
}

function foreignMessage({ release, configMap }: PoolsOrigin, { metadata: { name, labels = {} } }: TritonPool): string {
  const other = labels[releaseLabel]
  if (other !== undefined && other !== release) {
    return `TritonPool ${name} belongs to release ${other}. Rename the entry in triton.pools of release ${release}.`
  }
  const from = labels[originLabel]
  const whence = from === undefined ? 'is not from the chart' : `comes from ConfigMap ${from}`
  return (
    `TritonPool ${name} exists and ${whence}. Rename the entry in triton.pools, or hand the pool over: ` +
    `kubectl label tritonpool ${name} ${originLabel}=${configMap} --overwrite`
  )
}

function keptMessage({ origin: { configMap }, entries = [], count }: PlanInput, name: string): string {
  const says = count === undefined ? 'is missing' : `says ${count}`
  return (
    `${name} is not in ConfigMap ${configMap}, which has ${entries.length} entries, while its annotation ` +
    `${countAnnotation} ${says}, so the pool is not deleted. Apply the chart again. ` +
    `To delete the pool now: kubectl delete tritonpool ${name}`
  )
}

function hasValues({ origin, applied }: PlanInput, { name, text }: PoolEntry, pool: TritonPool | undefined): boolean {
  const last = applied.get(name)
  if (pool === undefined || last === undefined || last.refusal !== undefined || isGoing(pool)) return false
  const { uid, generation, labels = {} } = pool.metadata
  const isLabelled = labels[originLabel] === origin.configMap && labels[releaseLabel] === origin.release
  return last.text === text && last.uid === uid && last.generation === generation && isLabelled
}

/** Requires the minimum of ready pods, because a renamed pool has no demand yet. */
function isReady(pool: TritonPool | undefined): boolean {
  const { bounds, readyReplicas = 0 } = pool?.status ?? {}
  if (readyReplicas < (bounds?.minReplicas ?? 0)) return false
  const ready = pool?.status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' && ready.observedGeneration === pool?.metadata.generation
}
