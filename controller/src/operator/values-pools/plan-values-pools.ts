// Plan for the pools of the chart's values, as a pure function: pools to apply, to delete, and to keep for now.
import { releaseLabel } from '../pool/release.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { originLabel, type PoolEntry } from './pool-entries.ts'
import { hasConfigMapOwner, isFrom, type PoolsOrigin } from './values-pool.ts'

/** The chart's number of entries. A ConfigMap with another number, or without it, is not the chart's as it wrote it. */
export const countAnnotation = 'matte.dev/pools'

/** The last answer of the API server to applying an entry. */
export type Applied = {
  readonly text: string
  readonly uid: string | undefined
  readonly generation: number | undefined
  /** The API server rejected the text for this reason. */
  readonly refusal?: string
}

type PlanInput = {
  readonly origin: PoolsOrigin
  /** Undefined: the ConfigMap does not exist, which changes nothing. */
  readonly entries: readonly PoolEntry[] | undefined
  /** The chart's number of entries; undefined in a ConfigMap of an older chart, and in one that is not the chart's. */
  readonly count: string | undefined
  /** All pools of the namespace. */
  readonly pools: readonly TritonPool[]
  readonly applied: ReadonlyMap<string, Applied>
}

export type WaitingPool = { readonly pool: TritonPool; readonly successors: readonly string[] }

export type ValuesPlan = {
  /** Pools that Kubernetes would delete together with the ConfigMap. */
  readonly disown: readonly TritonPool[]
  readonly apply: readonly PoolEntry[]
  readonly refused: readonly { readonly name: string; readonly message: string }[]
  /** Pools that left the values and serve until every pool of the values is Ready. */
  readonly waiting: readonly WaitingPool[]
  /** Pools that left the values of a ConfigMap that is not complete. */
  readonly kept: readonly { readonly name: string; readonly message: string }[]
  readonly delete: readonly TritonPool[]
  /** Pools that left the values, deleted now or later. */
  readonly gone: readonly TritonPool[]
  /** Entries whose pool has the values' spec. */
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
    `${countAnnotation} ${says}. So the pool is not deleted. Apply the chart again. ` +
    `To delete the pool now: kubectl delete tritonpool ${name}`
  )
}

/** The pool is as it was when the entry was applied, and has the labels. */
function hasValues({ origin, applied }: PlanInput, { name, text }: PoolEntry, pool: TritonPool | undefined): boolean {
  const last = applied.get(name)
  if (pool === undefined || last === undefined || last.refusal !== undefined || isGoing(pool)) return false
  const { uid, generation, labels = {} } = pool.metadata
  const isLabelled = labels[originLabel] === origin.configMap && labels[releaseLabel] === origin.release
  return last.text === text && last.uid === uid && last.generation === generation && isLabelled
}

/** With as many ready pods as its least number in force, which a renamed pool has in place of its demand. */
function isReady(pool: TritonPool | undefined): boolean {
  const { bounds, readyReplicas = 0 } = pool?.status ?? {}
  if (readyReplicas < (bounds?.minReplicas ?? 0)) return false
  const ready = pool?.status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' && ready.observedGeneration === pool?.metadata.generation
}
