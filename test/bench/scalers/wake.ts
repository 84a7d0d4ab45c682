// `make bench ARGS=wake`: a request to a pool at zero, with the real Triton on the CPU and its image on the node. Each
// phase until the result, and the share of it that is Matte's: all but Kubernetes' and Triton's.
import { type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import type { Say } from '@matte/local/say'
import { tritonImage } from '../../e2e/support/images.ts'
import { readMetrics } from '../../e2e/support/metrics.ts'
import { median } from '../../e2e/support/scenario.ts'
import { smallPool } from '../../e2e/support/small-pool.ts'
import { lemur } from '../../support/photos.ts'
import { until } from '../../support/until.ts'
import type { Row } from '../row.ts'
import { createLiveWorld, type LiveWorld } from './live-world.ts'
import { createSender, type Sender } from './play-trace.ts'
import { watchMoments } from './wake-moments.ts'

type WakeOptions = { readonly rounds: number; readonly dir: string; readonly say: Say }

const pool = 'wake'
/** Target of Matte's share. */
const ownSecondsMax = 0.5

const owners = { matte: 'Matte', kubernetes: 'Kubernetes', triton: 'Triton' } as const
const phases = {
  'task created → pod asked for': 'matte',
  '→ pod created': 'kubernetes',
  '→ scheduled': 'kubernetes',
  '→ container running': 'kubernetes',
  '→ Triton reports ready': 'triton',
  '→ pod ready by the kubelet’s probes': 'kubernetes',
  '→ endpoint known to the worker': 'matte',
  '→ task claimed': 'matte',
  'inference in Triton': 'triton',
  'other work until the result': 'matte',
} as const satisfies Record<string, keyof typeof owners>
type Phase = keyof typeof phases
const phaseNames = Object.keys(phases) as Phase[]
/** Seconds of each phase. */
type Wake = Readonly<Record<Phase, number>>

export async function measureWake({ rounds, dir, say }: WakeOptions): Promise<Row[]> {
  const live = await createLiveWorld({ parent: dir, say, withKeda: false, isSimulated: false, image: lemur() })
  let stopOperator: (() => Promise<void>) | undefined
  try {
    const { kube } = live.cluster
    await kube.apply(tritonPools, {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name: pool },
      spec: {
        ...smallPool,
        image: tritonImage,
        // The configurations of this repository are complete.
        autoCompleteConfig: false,
        resources: { requests: { cpu: '100m', memory: '200Mi' } },
        models: smallPool.models.map((model) => ({ ...model, modelVersion: pool })),
        scaling: { minReplicas: 0, maxReplicas: 3, stabilizationWindowSeconds: 5 },
      },
    } as unknown as TritonPool)
    const operator = await live.startOperator()
    stopOperator = () => operator.stop()
    const sender = createSender(`http://127.0.0.1:${live.world.port}`, await live.caller(0), pool)
    const wakes: Wake[] = []
    for (let round = 1; round <= rounds; round++) {
      const wake = await wakeOnce(live, sender)
      say(`wake ${round}: ${phaseNames.map((phase) => `${phase} ${wake[phase].toFixed(2)} s`).join(', ')}`)
      wakes.push(wake)
    }
    await sender.close()
    await kube.delete(tritonPools, pool)
    return toRows(wakes)
  } finally {
    await stopOperator?.()
    await live.remove()
  }
}

async function wakeOnce({ cluster: { kube }, world, worker }: LiveWorld, sender: Sender): Promise<Wake> {
  await until(
    'the pool is at zero',
    async () => {
      const { status } = (await kube.get(tritonPools, pool)) ?? {}
      return status?.desiredReplicas === 0 && status.replicas === 0 && (status.drainingReplicas ?? 0) === 0
    },
    { timeoutMs: 120_000, everyMs: 200 },
  )
  const inferBefore = (await readMetrics(worker)).sum('matte_task_stage_seconds_sum', { stage: 'infer' })
  const known = worker.log().length
  const watch = await watchMoments(kube, pool)
  try {
    // The API refuses the model until it knows the pool.
    const id = await until('the task is accepted', () => sender.send(), { everyMs: 250 })
    const task = await until(
      'the task has its result',
      async () => {
        const row = await world.db
          .selectFrom('task')
          .select(['created_at', 'started_at', 'completed_at'])
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
        return row.started_at !== null && row.completed_at !== null && row
      },
      { timeoutMs: 240_000 },
    )
    const { moments } = watch
    const infer = (await readMetrics(worker)).sum('matte_task_stage_seconds_sum', { stage: 'infer' }) - inferBefore
    const line = worker
      .log()
      .slice(known)
      .find(({ msg }) => msg === 'pod ready')
    const times = [
      task.created_at.getTime(),
      moments.decided,
      moments.created,
      moments.scheduled,
      moments.running,
      // Unobserved if the pod was ready between two polls.
      moments.answers ?? moments.ready,
      moments.ready,
      line && new Date(line.time as number | string).getTime(),
      task.started_at?.getTime(),
      task.completed_at?.getTime(),
    ].map((time) => time ?? Number.NaN)
    const seconds = times.slice(1).map((time, index) => (time - (times[index] ?? Number.NaN)) / 1_000)
    const work = seconds.pop() ?? Number.NaN
    const values = [...seconds, infer, work - infer]
    return Object.fromEntries(phaseNames.map((phase, index) => [phase, values[index] ?? Number.NaN])) as Wake
  } finally {
    await watch.stop()
  }
}

function toRows(wakes: readonly Wake[]): Row[] {
  const ownedBy = (wake: Wake, owner: keyof typeof owners): number =>
    phaseNames.reduce((sum, phase) => sum + (phases[phase] === owner ? wake[phase] : 0), 0)
  const middle = (of: (wake: Wake) => number): number => median(wakes.map(of))
  const total = middle((wake) => phaseNames.reduce((sum, phase) => sum + wake[phase], 0))
  const own = middle((wake) => ownedBy(wake, 'matte'))
  const row = (name: string, seconds: number): Row => ({
    name,
    ratio: seconds / total,
    detail: `${seconds.toFixed(2)} s`,
  })
  return [
    ...phaseNames.map((phase) =>
      row(
        `${phase} (${owners[phases[phase]]})`,
        middle((wake) => wake[phase]),
      ),
    ),
    ...Object.entries(owners).map(([owner, name]) =>
      row(
        `all of ${name}`,
        middle((wake) => ownedBy(wake, owner as keyof typeof owners)),
      ),
    ),
    {
      name: `Matte's share ÷ ${ownSecondsMax} s`,
      ratio: own / ownSecondsMax,
      target: { atMost: 1 },
      detail: `${own.toFixed(2)} s of ${total.toFixed(2)} s, median of ${wakes.length}`,
    },
  ]
}
