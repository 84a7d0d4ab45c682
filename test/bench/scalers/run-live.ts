// One run: every scaler gets the same requests at the same time, each with its own pool, model and workspace.
import { join } from 'node:path'
import type { Resource } from '@matte/controller/operator/kube/client'
import { pods } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { type PoolSpecInput, type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { sql } from 'kysely'
import { scaledObjects } from '../../e2e/support/scalers/keda.ts'
import { startPrometheus } from '../../e2e/support/scalers/prometheus.ts'
import { quantile } from '../../e2e/support/scenario.ts'
import { smallPool } from '../../e2e/support/small-pool.ts'
import { lateSeconds } from '../../sim/pool.ts'
import type { Trace } from '../../sim/trace.ts'
import { until } from '../../support/until.ts'
import type { Caller } from '../accept/world.ts'
import { type ContestantName, contestants, scaledObjectOf } from './contestants.ts'
import type { LiveWorld } from './live-world.ts'
import { createSender, playTrace, type Sender } from './play-trace.ts'
import { startQueueMirror } from './queue-mirror.ts'
import { type PodRecord, servePods, startAfter } from './simulated-pods.ts'

export type Measured = {
  readonly requests: number
  readonly missed: number
  readonly failed: number
  readonly podSeconds: number
  /** From the creation of the first task of a pool at zero to its result. */
  readonly wakeSeconds: number
  /** Without waiting, as long as a tenth of the requests finds a free slot. */
  readonly p10Seconds: number
  readonly p50Seconds: number
  readonly p95Seconds: number
  readonly maxSeconds: number
  /** Pods that exist when the load begins, after the wake. */
  readonly podsAtBegin: number
  readonly podsStarted: number
  /** Pods removed before they served a request. */
  readonly podsThrownAway: number
  /** Median from a pod's creation to its readiness. */
  readonly startSeconds: number
  /** Mean of a request in its slot, as the worker reports it. */
  readonly slotSeconds: number
}

/** A scaler and the seconds that its pods take to start. */
export type Lane = { readonly name: ContestantName; readonly startSeconds: number }

export type LiveRun = {
  readonly trace: Trace
  readonly lanes: readonly Lane[]
  /** Makes the names of its objects unique. */
  readonly id: string
}

type Runner = Lane & {
  readonly pool: string
  readonly caller: Caller
  readonly sender: Sender
}

export type LaneResult = Lane & { readonly measured: Measured }

const autoscalers: Resource<KubeObject & { status?: { conditions?: { type: string; status: string }[] } }> = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
}

export async function runLive(live: LiveWorld, run: LiveRun): Promise<LaneResult[]> {
  const ends: (() => Promise<unknown>)[] = []
  try {
    return await measure(live, run, ends)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function measure(live: LiveWorld, run: LiveRun, ends: (() => Promise<unknown>)[]): Promise<LaneResult[]> {
  const { world, cluster } = live
  const origin = `http://127.0.0.1:${world.port}`
  const runners: Runner[] = []
  for (const [index, lane] of run.lanes.entries()) {
    const pool = `${lane.name}-${lane.startSeconds}-${run.id}`
    await applyPool(live, pool, lane)
    const caller = await live.caller(index)
    const sender = createSender(origin, caller, pool)
    ends.push(() => sender.close())
    runners.push({ ...lane, pool, caller, sender })
  }
  const operator = await live.startOperator()
  ends.push(() => operator.stop())
  ends.push(() => removePools(live, runners))
  const { namespace } = cluster
  const dir = join(world.dir, `prometheus-${run.id}`)
  const prometheus = await startPrometheus(dir, { healthUrl: operator.healthUrl, labels: { namespace } })
  ends.push(() => prometheus.stop())
  const watch = servePods(cluster.kube)
  ends.push(() => watch.stop())
  for (const runner of runners) await startScaler(live, runner, prometheus.url, ends)

  const first = await Promise.all(runners.map((runner) => wake(live, runner)))
  await until('every autoscaler has its metric', () => haveMetrics(live, runners), { timeoutMs: 120_000, everyMs: 500 })
  const begun = Date.now()
  await playTrace(
    run.trace,
    runners.map(({ sender }) => sender),
  )
  const records = watch.records().map((record) => ({ ...record }))
  const ended = begun + run.trace.seconds * 1_000
  await until('every task has ended', async () => (await countOpen(live)) === 0, { timeoutMs: 300_000, everyMs: 500 })
  return Promise.all(
    runners.map(async ({ name, startSeconds, pool, caller }, index) => {
      const requests = await readRequests(live, caller, begun)
      const slotSeconds = await readSlotSeconds(live, pool)
      const ofPool = records.filter((record) => record.pool === pool)
      const wakeSeconds = first[index] ?? Number.NaN
      const measured = { ...requests, ...summarize(ofPool, begun, ended), slotSeconds, wakeSeconds }
      return { name, startSeconds, measured }
    }),
  )
}

async function applyPool({ cluster, pool: fields }: LiveWorld, pool: string, { name, startSeconds }: Lane) {
  const spec: PoolSpecInput = {
    ...smallPool,
    ...fields,
    default: false,
    models: smallPool.models.map((model) => ({ ...model, modelVersion: pool })),
    slotsPerPod: 1,
    podPatch: startAfter(startSeconds),
    ...contestants[name].scaling,
  }
  await cluster.kube.apply(tritonPools, {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name: pool },
    spec,
  } as unknown as TritonPool)
}

async function startScaler(
  { world, cluster }: LiveWorld,
  { name, pool, caller, startSeconds }: Runner,
  prometheusUrl: string,
  ends: (() => Promise<unknown>)[],
): Promise<void> {
  if (contestants[name].scaledObject === undefined) return
  const { workspaceId } = caller
  const mirror = await startQueueMirror(world.env.NATS_URL ?? '', { db: world.db, workspaceId, name: pool })
  ends.push(() => mirror.stop())
  const object = scaledObjectOf(name, {
    namespace: cluster.namespace,
    pool,
    prometheusUrl,
    natsMonitor: `127.0.0.1:${world.natsMonitorPort}`,
    mirror,
    startSeconds,
  })
  await cluster.kube.create(scaledObjects, object as never)
  ends.push(async () => {
    await cluster.kube.delete(scaledObjects, pool)
    await until('KEDA has let the pool go', async () => (await cluster.kube.get(scaledObjects, pool)) === undefined)
  })
  await until(`KEDA takes the pool ${pool}`, async () => {
    const { status } = (await cluster.kube.get(scaledObjects, pool)) ?? {}
    return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  })
}

/** Seconds from the creation of the first task to its result. */
async function wake({ world }: LiveWorld, { pool, sender }: Runner): Promise<number> {
  // The API refuses the model until it knows the pool.
  const id = await until(`a task for ${pool} is accepted`, () => sender.send(), { everyMs: 250 })
  return until(
    `the first task of ${pool} has its result`,
    async () => {
      const task = await world.db
        .selectFrom('task')
        .select(['created_at', 'completed_at', 'status'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      if (task.completed_at === null) return undefined
      if (task.status !== 'succeeded') throw new Error(`it is ${task.status}`)
      return (task.completed_at.getTime() - task.created_at.getTime()) / 1_000
    },
    { timeoutMs: 240_000, everyMs: 100 },
  )
}

async function haveMetrics({ cluster }: LiveWorld, runners: readonly Runner[]): Promise<boolean> {
  const external = runners.filter(({ name }) => contestants[name].scaledObject !== undefined)
  const found = await Promise.all(
    external.map(async ({ pool }) => {
      const { status } = (await cluster.kube.get(autoscalers, `keda-hpa-${pool}`)) ?? {}
      return status?.conditions?.some(({ type, status: is }) => type === 'ScalingActive' && is === 'True')
    }),
  )
  return found.every(Boolean)
}

async function countOpen({ world }: LiveWorld): Promise<number> {
  const open = ['queued', 'processing'] as const
  return (await world.db.selectFrom('task').select('id').where('status', 'in', open).execute()).length
}

async function readRequests({ world }: LiveWorld, { workspaceId }: Caller, begun: number) {
  const tasks = await world.db
    .selectFrom('task')
    .select(['status', 'created_at', 'completed_at'])
    .where('workspace_id', '=', workspaceId)
    .where('created_at', '>=', new Date(begun))
    .execute()
  const times = tasks.map((task) => ((task.completed_at?.getTime() ?? 0) - task.created_at.getTime()) / 1_000)
  return {
    requests: tasks.length,
    missed: times.filter((seconds) => seconds > lateSeconds).length,
    failed: tasks.filter(({ status }) => status !== 'succeeded').length,
    p10Seconds: quantile(times, 0.1),
    p50Seconds: quantile(times, 0.5),
    p95Seconds: quantile(times, 0.95),
    maxSeconds: quantile(times, 1),
  }
}

async function readSlotSeconds({ world }: LiveWorld, pool: string): Promise<number> {
  const { rows } = await sql<{ mean: number }>`
    select sum(busy_seconds) / sum(done) as mean from inference_window where pool = ${pool}`.execute(world.db)
  return rows[0]?.mean ?? Number.NaN
}

/** Counts a pod from its creation until it is gone, within the trace. */
export function summarize(records: readonly PodRecord[], begun: number, ended: number) {
  const present = records.filter(({ createdAt, goneAt }) => createdAt < ended && (goneAt ?? ended) > begun)
  const podMs = present.reduce(
    (sum, { createdAt, goneAt }) => sum + Math.min(goneAt ?? ended, ended) - Math.max(createdAt, begun),
    0,
  )
  const starts = present.flatMap(({ createdAt, readyAt }) => (readyAt === undefined ? [] : [readyAt - createdAt]))
  return {
    podSeconds: podMs / 1_000,
    podsAtBegin: present.filter(({ createdAt }) => createdAt < begun).length,
    podsStarted: present.filter(({ createdAt }) => createdAt >= begun).length,
    podsThrownAway: present.filter(({ goneAt, served }) => goneAt !== undefined && served === 0).length,
    startSeconds: quantile(starts, 0.5) / 1_000,
  }
}

async function removePools({ cluster: { kube } }: LiveWorld, runners: readonly Runner[]): Promise<void> {
  for (const { pool } of runners) await kube.delete(tritonPools, pool)
  await until(
    'the pods are gone',
    async () => {
      const { items } = await kube.list(pods)
      for (const { metadata } of items) await kube.delete(pods, metadata.name, { gracePeriodSeconds: 0 })
      return items.length === 0 && (await kube.list(tritonPools)).items.length === 0
    },
    { timeoutMs: 120_000, everyMs: 500 },
  )
}
