// TritonPools of the chart's values. Helm cannot create them: it looks up every kind first, so a release cannot contain
// a definition and an object of it. The leader reads them from a ConfigMap every few seconds, and when one of these
// pools changes, and restores changed or deleted pools. If the ConfigMap is deleted, the pools stay.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { type Loop, repeat } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Backoff, backoffMs } from '../kube/backoff.ts'
import type { KubeClient } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import { type Leadership, NotLeaderError } from '../kube/leadership.ts'
import type { Reflector } from '../kube/reflector.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { countAnnotation, planValuesPools, type ValuesPlan, type WaitingPool } from './plan-values-pools.ts'
import { configMaps, originLabel, type PoolEntry, type PoolsOrigin, readEntries } from './pool-entries.ts'
import { createValuesPoolMetrics, type ValuesPoolMetrics } from './values-pool-metrics.ts'
import {
  applyEntry,
  deletePool,
  disownPool,
  forgetRefusedWrites,
  refusedForMs,
  type WriteMemory,
  writeEach,
} from './write-values.ts'

type ValuesPoolsOptions = {
  readonly kube: KubeClient
  readonly origin: PoolsOrigin
  readonly pools: Reflector<TritonPool>
  readonly leads: () => boolean
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly registry: Registry
  readonly logger: Logger
  readonly clock?: Clock
}

const everyMs = 5_000
/** Limits passes, because a status changes every few seconds. */
const pauseAtLeastMs = 500
const backoff: Backoff = { baseMs: 1_000, maxMs: 15_000 }

type Memory = WriteMemory & {
  readonly reported: Map<string, string>
}

export function valuesPools(options: ValuesPoolsOptions): Loop {
  const { origin, pools, leads, registry, logger, clock = systemClock } = options
  const metrics = createValuesPoolMetrics(registry)
  const memory: Memory = { applied: new Map(), refusedWrites: new Map(), reported: new Map() }
  let failures = 0
  let passedMs = Number.NEGATIVE_INFINITY

  async function pass(signal: AbortSignal): Promise<number> {
    if (!leads()) {
      memory.applied.clear()
      memory.refusedWrites.clear()
      memory.reported.clear()
      metrics.hide()
      return pauseAtLeastMs
    }
    const earlyMs = passedMs + pauseAtLeastMs - clock.monotonicMs()
    if (earlyMs > 0) return earlyMs
    passedMs = clock.monotonicMs()
    try {
      await applyValues({ ...options, clock, metrics }, memory, signal)
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

type Deps = ValuesPoolsOptions & { readonly clock: Clock; readonly metrics: ValuesPoolMetrics }

/** @throws Error, the first that is no refusal, after trying and reporting all pools */
async function applyValues(deps: Deps, memory: Memory, signal: AbortSignal): Promise<void> {
  const { kube, origin, pools, clock, metrics } = deps
  const configMap = await kube.get(configMaps, origin.configMap, { signal })
  const entries = configMap && readEntries(configMap)
  forgetOld(memory, entries, clock.monotonicMs())
  const count = configMap?.metadata.annotations?.[countAnnotation]
  const plan = (): ValuesPlan =>
    planValuesPools({ origin, entries, count, pools: pools.items(), applied: memory.applied })
  const before = plan()
  forgetRefusedWrites(memory, { disown: before.disown, gone: before.gone })
  const failures = [
    await writeEach(deps, before.disown, (pool) => disownPool(deps, memory, pool)),
    await writeEach(deps, before.apply, (entry) => applyEntry(deps, memory, entry)),
  ]
  const after = plan()
  failures.push(await writeEach(deps, after.delete, (pool) => deletePool(deps, memory, pool)))
  report(deps, memory, after)
  metrics.show(after, [...memory.refusedWrites.values()])
  const failure = failures.find((error) => error !== undefined)
  if (failure !== undefined) throw failure
}

function forgetOld({ applied, reported }: Memory, entries: readonly PoolEntry[] | undefined, nowMs: number): void {
  if (entries === undefined) return
  const names = new Set(entries.map(({ name }) => name))
  for (const [name, { refusal, atMs }] of applied) {
    if (!names.has(name) || (refusal !== undefined && nowMs - atMs >= refusedForMs)) applied.delete(name)
  }
  if (reported.size > names.size + 1_000) reported.clear()
}

function report(
  { events, pools, kube, logger }: Deps,
  { reported, refusedWrites }: Memory,
  { refused, kept, waiting }: ValuesPlan,
): void {
  const notes = [
    ...refused.map((one) => ({ ...one, type: 'Warning' as const, reason: 'EntryRefused' })),
    ...[...refusedWrites.values()].map(({ name, message }) => ({
      name,
      message,
      type: 'Warning' as const,
      reason: 'WriteRefused',
    })),
    ...kept.map((one) => ({ ...one, type: 'Warning' as const, reason: 'ValuesIncomplete' })),
    ...waiting.map((one) => ({
      name: one.pool.metadata.name,
      message: waitingMessage(one),
      type: 'Normal' as const,
      reason: 'WaitsForSuccessor',
    })),
  ]
  const keys = new Set(notes.map(({ reason, name }) => `${reason} ${name}`))
  for (const key of reported.keys()) if (!keys.has(key)) reported.delete(key)
  for (const { name, message, type, reason } of notes) {
    const key = `${reason} ${name}`
    if (reported.get(key) === message) continue
    reported.set(key, message)
    logger[type === 'Warning' ? 'warn' : 'info']({ pool: name, reason, message }, 'pool differs from the values')
    events.record(pools.get(name) ?? missingPool(name, kube.namespace), { type, reason, message })
  }
}

const waitingMessage = ({ pool, successors }: WaitingPool): string =>
  `${pool.metadata.name} is no longer in triton.pools and serves until every pool there is Ready: ${successors.join(', ')}. ` +
  `To delete it now: kubectl delete tritonpool ${pool.metadata.name}`

const missingPool = (name: string, namespace: string) => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name, namespace },
})
