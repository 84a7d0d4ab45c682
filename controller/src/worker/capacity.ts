// Room for more tasks, per model version, from the pods' slots.
import { type Pod, type PodSource, takesRequests } from './routing/pod-source.ts'

/** Capacity of versions that share pods: during a change of model, the pods of both revisions. */
type Line = {
  readonly versions: string[]
  capacity: number
  readonly capacityOf: Map<string, number>
  readonly pool: PoolCapacity
}

type PoolCapacity = {
  readonly versions: string[]
  capacity: number
  readonly addresses: Set<string>
  readonly lines: Line[]
}

export function linesFrom(source: Pick<PodSource, 'pods'>, ahead: number): () => readonly Line[] {
  let seen: readonly Pod[] | undefined
  let lines: readonly Line[] = []
  return () => {
    const pods = source.pods()
    if (pods !== seen) {
      seen = pods
      lines = linesOf(pods, ahead)
    }
    return lines
  }
}

/** `ahead`: tasks per pod beyond its slots. */
export function linesOf(pods: readonly Pod[], ahead: number): Line[] {
  const pools = new Map<string, PoolCapacity>()
  for (const { address, modelVersions, pool: name, shape, podSlots } of pods.filter(takesRequests)) {
    const pool = pools.get(name) ?? { versions: [], capacity: 0, addresses: new Set<string>(), lines: [] }
    pools.set(name, pool)
    if (!pool.addresses.has(address)) pool.capacity += podSlots + ahead
    pool.addresses.add(address)
    const line = lineOf(pool, modelVersions)
    const capacity = shape.slots + ahead
    line.capacity += capacity
    for (const version of modelVersions) line.capacityOf.set(version, (line.capacityOf.get(version) ?? 0) + capacity)
    for (const { versions } of [line, pool]) {
      for (const version of modelVersions) if (!versions.includes(version)) versions.push(version)
    }
  }
  return [...pools.values()].flatMap(({ lines }) => lines)
}

function lineOf(pool: PoolCapacity, modelVersions: readonly string[]): Line {
  const [line = { versions: [], capacity: 0, capacityOf: new Map<string, number>(), pool }, ...others] =
    pool.lines.filter(({ versions }) => versions.some((version) => modelVersions.includes(version)))
  if (!pool.lines.includes(line)) pool.lines.push(line)
  for (const other of others) {
    line.capacity += other.capacity
    line.versions.push(...other.versions)
    for (const [version, capacity] of other.capacityOf) line.capacityOf.set(version, capacity)
    pool.lines.splice(pool.lines.indexOf(other), 1)
  }
  return line
}

export type Room = {
  readonly versions: readonly string[]
  /** For any of these versions; fewer than there is room for if they differ. */
  readonly tasks: number
}

/** Versions with room for another task; `inFlight` has the version of each task in flight. */
export function roomOf(lines: readonly Line[], inFlight: readonly string[]): Room {
  const count = (versions: readonly string[]): number => inFlight.filter((version) => versions.includes(version)).length
  const left = lines.flatMap(({ versions, capacity, capacityOf, pool }) => {
    const together = Math.min(capacity - count(versions), pool.capacity - count(pool.versions))
    return versions.map((version) => ({
      version,
      tasks: Math.min(together, (capacityOf.get(version) ?? 0) - count([version])),
    }))
  })
  const free = left.filter(({ tasks }) => tasks > 0)
  return {
    versions: free.map(({ version }) => version),
    tasks: free.length === 0 ? 0 : Math.min(...free.map(({ tasks }) => tasks)),
  }
}
