// TritonPools of the chart's values. They cannot be templates of the chart: Helm looks up every kind before it creates
// the first object, so a release cannot hold a definition and an object of it. A ConfigMap has the values, which the
// leader reads every few seconds, and as soon as one of these pools changes. It restores pools that were changed or
// deleted. The pools do not belong to the ConfigMap: without it nothing changes.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { type Loop, repeat } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Backoff, backoffMs } from '../kube/backoff.ts'
import { type KubeClient, KubeError } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import { type Leadership, NotLeaderError } from '../kube/leadership.ts'
import type { Reflector } from '../kube/reflector.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'
import { isRefusal } from '../reconcile/refusals.ts'
import { applyPool } from './apply-pool.ts'
import { type Applied, planValuesPools, type ValuesPlan, type WaitingPool } from './plan-values-pools.ts'
import { configMaps, originLabel, type PoolEntry, readEntries } from './pool-entries.ts'
import { buildValuesPool, otherOwners, type PoolsOrigin } from './values-pool.ts'
import { createValuesPoolMetrics } from './values-pool-metrics.ts'

type ValuesPoolsOptions = {
  readonly kube: KubeClient
  readonly origin: PoolsOrigin
  /** All pools of the namespace: those of another release count too. */
  readonly pools: Reflector<TritonPool>
  readonly leads: () => boolean
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly registry: Registry
  readonly logger: Logger
  readonly clock?: Clock
}

/** How soon a change of the values takes effect. */
const everyMs = 5_000
/** A status changes every few seconds; a successor that becomes Ready need not be noticed sooner. */
const pauseAtLeastMs = 500
const refusedForMs = 30_000
const backoff: Backoff = { baseMs: 1_000, maxMs: 15_000 }

type Memory = {
  readonly applied: Map<string, Applied & { readonly atMs: number }>
  /** Messages that were reported, by pool. */
  readonly reported: Map<string, string>
}

export function valuesPools(options: ValuesPoolsOptions): Loop {
  const { origin, pools, leads, registry, logger, clock = systemClock } = options
  const metrics = createValuesPoolMetrics(registry)
  const memory: Memory = { applied: new Map(), reported: new Map() }
  let failures = 0
  let passedMs = Number.NEGATIVE_INFINITY

  async function pass(signal: AbortSignal): Promise<number> {
    if (!leads()) {
      memory.applied.clear()
      memory.reported.clear()
      metrics.hide()
      return pauseAtLeastMs
    }
    const earlyMs = passedMs + pauseAtLeastMs - clock.monotonicMs()
    if (earlyMs > 0) return earlyMs
    passedMs = clock.monotonicMs()
    try {
      metrics.show(await applyValues({ ...options, clock }, memory, signal))
      failures = 0
      return everyMs
    } catch (error) {
      const isExpected = signal.aborted || error instanceof NotLeaderError
      if (!isExpected) logger.warn({ err: error, configmap: origin.configMap }, 'pools of the values not applied')
      failures += 1
      return backoffMs(failures, backoff)
    }
  }

  const applying = repeat({ name: 'values-pools', pass })
  pools.onChange((name, pool) => {
    if (memory.applied.has(name) || pool?.metadata.labels?.[originLabel] === origin.configMap) applying.wake()
  })
  return applying
}

type Deps = ValuesPoolsOptions & { readonly clock: Clock }

async function applyValues(deps: Deps, memory: Memory, signal: AbortSignal): Promise<ValuesPlan> {
  const { kube, origin, pools, clock } = deps
  const configMap = await kube.get(configMaps, origin.configMap, { signal })
  const entries = configMap && readEntries(configMap)
  forgetOld(memory, entries, clock.monotonicMs())
  const plan = (): ValuesPlan => planValuesPools({ origin, entries, pools: pools.items(), applied: memory.applied })
  const { disown, apply } = plan()
  for (const pool of disown) await disownPool(deps, pool)
  for (const entry of apply) await applyEntry(deps, memory, entry)
  const after = plan()
  for (const pool of after.delete) await deletePool(deps, pool)
  report(deps, memory, after)
  return after
}

function forgetOld({ applied, reported }: Memory, entries: readonly PoolEntry[] | undefined, nowMs: number): void {
  if (entries === undefined) return
  const names = new Set(entries.map(({ name }) => name))
  for (const [name, { refusal, atMs }] of applied) {
    if (!names.has(name) || (refusal !== undefined && nowMs - atMs >= refusedForMs)) applied.delete(name)
  }
  if (reported.size > names.size + 1_000) reported.clear()
}

/** Kubernetes would delete the pool with its owner. A chart up to 0.2 made the ConfigMap the owner. */
async function disownPool({ kube, leadership, logger }: Deps, pool: TritonPool): Promise<void> {
  const { name, resourceVersion } = pool.metadata
  await leadership.confirm()
  const patch = { metadata: { resourceVersion, ownerReferences: otherOwners(pool) } }
  if (await unlessOvertaken(kube.mergePatch(tritonPools, name, patch))) {
    logger.info({ pool: name }, 'pool belongs to the ConfigMap no more')
  }
}

async function applyEntry({ kube, leadership, origin, clock, logger }: Deps, memory: Memory, entry: PoolEntry) {
  const { name, text } = entry
  await leadership.confirm()
  try {
    const { metadata } = await applyPool(kube, buildValuesPool(origin, entry))
    const before = memory.applied.get(name)
    const isSame = before?.uid === metadata.uid && before?.generation === metadata.generation
    memory.applied.set(name, { text, uid: metadata.uid, generation: metadata.generation, atMs: clock.monotonicMs() })
    if (!isSame) logger.info({ pool: name, generation: metadata.generation }, 'pool of the values applied')
  } catch (error) {
    if (!isRefusal(error)) throw error
    const refusal = `The API server refuses the entry ${name} of triton.pools: ${error.message}`
    const atMs = clock.monotonicMs()
    memory.applied.set(name, { text, uid: undefined, generation: undefined, refusal, atMs })
  }
}

async function deletePool({ kube, leadership, logger }: Deps, { metadata }: TritonPool): Promise<void> {
  const { name, uid, resourceVersion } = metadata
  await leadership.confirm()
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  if (await unlessOvertaken(kube.delete(tritonPools, name, preconditions))) {
    logger.info({ pool: name }, 'pool deleted, which left the values')
  }
}

/** False if the pool was changed or deleted since it was read. The next pass decides again. */
const unlessOvertaken = (write: Promise<unknown>): Promise<boolean> =>
  write.then(
    () => true,
    (error: unknown) => {
      if (error instanceof KubeError && (error.status === 409 || error.status === 404)) return false
      throw error
    },
  )

/** Log and Event, once for each message. */
function report({ events, pools, kube, logger }: Deps, { reported }: Memory, { refused, waiting }: ValuesPlan): void {
  const notes = [
    ...refused.map((one) => ({ ...one, type: 'Warning' as const, reason: 'EntryRefused' })),
    ...waiting.map((one) => ({
      name: one.pool.metadata.name,
      message: waitingMessage(one),
      type: 'Normal' as const,
      reason: 'WaitsForSuccessor',
    })),
  ]
  const names = new Set(notes.map(({ name }) => name))
  for (const name of reported.keys()) if (!names.has(name)) reported.delete(name)
  for (const { name, message, type, reason } of notes) {
    if (reported.get(name) === message) continue
    reported.set(name, message)
    logger[type === 'Warning' ? 'warn' : 'info'](
      { pool: name, reason, message },
      'pool of the values not as the values',
    )
    events.record(pools.get(name) ?? missingPool(name, kube.namespace), { type, reason, message })
  }
}

const waitingMessage = ({ pool, successors }: WaitingPool): string =>
  `${pool.metadata.name} left triton.pools and serves until every pool there is Ready: ${successors.join(', ')}. ` +
  `To delete it now: kubectl delete tritonpool ${pool.metadata.name}`

/** An Event names its object, which may not exist yet. */
const missingPool = (name: string, namespace: string) => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name, namespace },
})
