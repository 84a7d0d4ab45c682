// Records of the leader about its pools, for the console: a sample every 15 s and when the number of ready pods
// changes, every change of the wanted number, each new reason to keep it, and the steps of rollouts. Nothing here
// delays or fails a reconcile pass: records wait in a bounded queue. During an outage of the database decisions and
// steps wait, and samples are dropped. A former leader's records are fenced by the database (record-pool.ts).
import { isDatabaseUnavailable } from '@matte/core/db/database-errors'
import type { PoolRecord } from '@matte/core/pool/record-pool'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { pause } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { type Backoff, backoffMs } from '../kube/backoff.ts'
import type { Term } from '../kube/leadership.ts'
import { countPods } from '../pool/status/observation.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import type { Observed } from '../reconcile/gather.ts'
import type { PoolPlan } from '../reconcile/plan.ts'
import { buildClosedReport, buildReport, buildStep } from './build-report.ts'
import type { RecordMetrics, recordOutcomes } from './record-metrics.ts'

type GonePool = Pick<PoolRecord, 'namespace' | 'pool' | 'lease' | 'term'>

type PoolRecordsOptions = {
  /** Returns false if a later leader has written. */
  readonly write: (record: PoolRecord, ageSeconds: number) => Promise<boolean>
  readonly forget: (gone: GonePool) => Promise<void>
  readonly metrics: RecordMetrics
  readonly logger: Logger
  readonly clock?: Clock
}

const sampleEveryMs = 15_000
/** While pods become ready one after the other. */
const readyEveryMs = 1_000
/** A rule that alternates with another is recorded once a minute. */
const holdEveryMs = 60_000
const queueMax = 500
const backoff: Backoff = { baseMs: 1_000, maxMs: 15_000 }
/** At a stop, waiting records have this long. */
const lastWordsMs = 2_000

type Entry = ({ readonly record: PoolRecord } | { readonly gone: GonePool }) & { readonly atMs: number }

/** `rule`: of the last recorded reason. */
type Known = {
  readonly namespace: string
  readonly sampledAtMs: number
  readonly ready: number
  readonly rule: string
  readonly heldAtMs: number
}

export function poolRecords(options: PoolRecordsOptions) {
  const { write, forget, metrics, logger, clock = systemClock } = options
  const known = new Map<string, Known>()
  const giveUp = new AbortController()
  const count = (outcome: (typeof recordOutcomes)[number]): void => metrics.records.inc({ outcome })
  let waiting: Entry[] = []
  let isAway = false
  let stopped = false
  let writing: Promise<void> | undefined

  function add(entry: Entry): void {
    if (stopped || waiting.length >= queueMax || (isAway && isOnlySample(entry))) {
      count('dropped')
      return
    }
    waiting.push(entry)
    writing ??= writeAll()
  }

  async function writeAll(): Promise<void> {
    let failures = 0
    for (let [next] = waiting; next !== undefined && !giveUp.signal.aborted; [next] = waiting) {
      try {
        const isWritten = await writeOne(next)
        waiting.shift()
        if (isWritten !== undefined) count(isWritten ? 'written' : 'fenced')
        isAway = false
        failures = 0
      } catch (error) {
        isAway = isDatabaseUnavailable(error)
        failures += 1
        if (failures === 1) logger.warn({ err: error }, 'a record about a pool was not written')
        if (!isAway) {
          waiting.shift()
          count('failed')
          continue
        }
        const kept = waiting.filter((entry) => !isOnlySample(entry))
        for (let dropped = waiting.length - kept.length; dropped > 0; dropped--) count('dropped')
        waiting = kept
        await pause(backoffMs(failures, backoff), giveUp.signal)
      }
    }
    writing = undefined
  }

  async function writeOne(entry: Entry): Promise<boolean | undefined> {
    if ('record' in entry) return write(entry.record, Math.max(0, clock.monotonicMs() - entry.atMs) / 1_000)
    await forget(entry.gone)
    return undefined
  }

  type Changed = Pick<PoolRecord, 'decidedFrom' | 'step'> & { readonly term: Term }

  function record(observed: Observed, plan: PoolPlan, { term, decidedFrom, step }: Changed): void {
    const { pool } = observed
    const of = { namespace: namespaceOf(pool), pool: pool.metadata.name, lease: term.lease, term: term.count }
    const report = buildReport(observed, plan)
    add({ record: { ...of, report, isSample: true, decidedFrom, step }, atMs: clock.monotonicMs() })
  }

  return {
    name: 'pool-records',
    start: () => undefined,
    stop: async (): Promise<void> => {
      stopped = true
      const timer = setTimeout(() => giveUp.abort(), lastWordsMs)
      await writing
      clearTimeout(timer)
    },
    /** Every pass: records a sample that is due, and a new reason for the same number of pods. */
    observe: (observed: Observed, plan: PoolPlan, term: Term): void => {
      const { name } = observed.pool.metadata
      const { decision, from } = plan
      const nowMs = clock.monotonicMs()
      const before = known.get(name)
      // A change is recorded when Kubernetes has accepted it.
      const isHold = before !== undefined && decision.replicas === from && decision.rule !== before.rule
      const isNewHold = isHold && nowMs - before.heldAtMs >= holdEveryMs
      const { ready } = countPods(observed.observation.pods)
      const everyMs = ready === before?.ready ? sampleEveryMs : readyEveryMs
      if (before !== undefined && !isNewHold && nowMs - before.sampledAtMs < everyMs) return
      known.set(name, {
        namespace: namespaceOf(observed.pool),
        sampledAtMs: nowMs,
        ready,
        rule: before === undefined || isNewHold ? decision.rule : before.rule,
        heldAtMs: before === undefined || isNewHold ? nowMs : before.heldAtMs,
      })
      record(observed, plan, { term, decidedFrom: isNewHold ? from : undefined, step: undefined })
    },
    /** After the write of the status: records a change of the number of pods, and a step of the rollout. */
    decided: (observed: Observed, plan: PoolPlan, term: Term): void => {
      const step = buildStep(observed, plan)
      const { decision, from } = plan
      if (decision.replicas === from && step === undefined) return
      const { name } = observed.pool.metadata
      const nowMs = clock.monotonicMs()
      const { heldAtMs = nowMs } = known.get(name) ?? {}
      const { ready } = countPods(observed.observation.pods)
      const sampled = { namespace: namespaceOf(observed.pool), sampledAtMs: nowMs, ready }
      known.set(name, { ...sampled, rule: decision.rule, heldAtMs })
      record(observed, plan, { term, decidedFrom: decision.replicas === from ? undefined : from, step })
    },
    closed: (pool: TritonPool, message: string, term: Term): void => {
      const of = { namespace: namespaceOf(pool), pool: pool.metadata.name, lease: term.lease, term: term.count }
      const report = buildClosedReport(pool, message)
      const record = { ...of, report, isSample: false, decidedFrom: undefined, step: undefined }
      add({ record, atMs: clock.monotonicMs() })
    },
    /** The pool was deleted. */
    gone: (name: string, term: Term): void => {
      const namespace = known.get(name)?.namespace
      known.delete(name)
      if (namespace === undefined) return
      add({ gone: { namespace, pool: name, lease: term.lease, term: term.count }, atMs: clock.monotonicMs() })
    },
    /** At the end of a term. */
    clear: (): void => known.clear(),
  }
}

const isOnlySample = (entry: Entry): boolean =>
  'record' in entry &&
  entry.record.isSample &&
  entry.record.decidedFrom === undefined &&
  entry.record.step === undefined

const namespaceOf = ({ metadata }: TritonPool): string => metadata.namespace ?? 'default'
