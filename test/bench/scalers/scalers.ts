// `make bench ARGS=scalers`: Matte, KEDA and a HorizontalPodAutoscaler side by side in the cluster of the kube context,
// under the simulator's loads, beside the simulator's own answer for the same requests.
import type { Say } from '@matte/local/say'
import { serviceSpread, traceNames } from '../../sim/trace.ts'
import type { Row } from '../row.ts'
import { type ContestantName, contestantNames } from './contestants.ts'
import { makeLiveTrace } from './live-trace.ts'
import { createLiveWorld } from './live-world.ts'
import { type Lane, type Measured, runLive } from './run-live.ts'
import { type Range, simulate } from './simulate.ts'

export type ScalersOptions = {
  /** Names of loads, separated by commas; one run each. */
  readonly loads: string
  /** Seconds of a pod's start, separated by commas; all run at the same time. */
  readonly starts: string
  /** Names of scalers, separated by commas. */
  readonly names: string
  /** Rounds have the seeds 1, 2, …; `seed` is the first one. */
  readonly rounds: number
  readonly seed: number
  /** `--horizontal-pod-autoscaler-sync-period` of the cluster, for the simulation. */
  readonly syncSeconds: number
  readonly dir: string
  readonly say: Say
}

type Totals = { requests: number; missed: number; podSeconds: number }

export async function measureScalers(options: ScalersOptions): Promise<Row[]> {
  const { rounds, seed: first, syncSeconds, say } = options
  const loads = parseList('loads', options.loads, traceNames)
  if (!(syncSeconds >= 1)) throw new Error('--sync: give seconds from 1 on, such as 15')
  const names = parseList('scalers', options.names, contestantNames)
  const lanes = parseStarts(options.starts).flatMap((startSeconds) => names.map((name) => ({ name, startSeconds })))
  const live = await createLiveWorld({
    parent: options.dir,
    say,
    withKeda: names.some((name) => name !== 'matte'),
    isSimulated: true,
  })
  const rows: Row[] = []
  try {
    say(head)
    for (const load of loads) {
      const totals = new Map<string, Totals>()
      for (let seed = first; seed < first + rounds; seed++) {
        const trace = makeLiveTrace(load, seed)
        for (const { name, startSeconds, measured } of await runLive(live, { trace, lanes, id: `${load}-${seed}` })) {
          const simulated = simulate(name, trace, {
            startSeconds: measured.startSeconds,
            slotSeconds: measured.slotSeconds,
            syncSeconds,
            overheadSeconds: overheadOf(measured),
            pods: measured.podsAtBegin,
          })
          say(formatResult(`${load} D=${startSeconds} #${seed}`, name, measured, simulated))
          add(totals, laneKey({ name, startSeconds }), measured)
        }
      }
      rows.push(...lanes.flatMap((lane) => compare(load, lane, totals)))
    }
  } finally {
    await live.remove()
  }
  return rows
}

/** Seconds outside queue and slot: the tenth percentile of all requests less that of the time in a slot. */
const overheadOf = ({ p10Seconds, slotSeconds }: Measured): number =>
  Math.max(0, p10Seconds - slotSeconds * (1 - 0.8 * serviceSpread))

function parseList<T extends string>(option: string, text: string, known: readonly T[]): T[] {
  return text.split(',').map((name) => {
    const found = known.find((one) => one === name)
    if (found !== undefined) return found
    throw new Error(`--${option} ${name}: there are ${known.join(', ')}`)
  })
}

function parseStarts(text: string): number[] {
  const starts = text.split(',').map(Number)
  if (starts.every((seconds) => seconds >= 3 && seconds <= 600)) return starts
  throw new Error(`--starts ${text}: give seconds from 3 to 600, such as 3,20`)
}

const laneKey = ({ name, startSeconds }: Lane): string => `${name} ${startSeconds}`

function add(totals: Map<string, Totals>, key: string, { requests, missed, podSeconds }: Measured): void {
  const total = totals.get(key) ?? { requests: 0, missed: 0, podSeconds: 0 }
  total.requests += requests
  total.missed += missed
  total.podSeconds += podSeconds
  totals.set(key, total)
}

/** Matte's misses and pod-seconds over those of another scaler with the same start of pods. */
function compare(load: string, { name, startSeconds }: Lane, totals: ReadonlyMap<string, Totals>): Row[] {
  const ours = totals.get(laneKey({ name: 'matte', startSeconds }))
  const theirs = totals.get(laneKey({ name, startSeconds }))
  if (name === 'matte' || ours === undefined || theirs === undefined) return []
  const cell = `${load}, D = ${startSeconds} s`
  return [
    {
      name: `${cell}: misses, Matte's ÷ those of ${name}`,
      ratio: ours.missed === theirs.missed ? 1 : ours.missed / theirs.missed,
      target: { atMost: 1 },
      detail: `${ours.missed} and ${theirs.missed} of ${ours.requests} requests`,
    },
    {
      name: `${cell}: pod-seconds, Matte's ÷ those of ${name}`,
      ratio: ours.podSeconds / theirs.podSeconds,
      detail: `${ours.podSeconds.toFixed(0)} and ${theirs.podSeconds.toFixed(0)}`,
    },
  ]
}

const columns = [
  'run',
  'scaler',
  'requests',
  'missed',
  'pod-seconds',
  'p50, p95, longest',
  'first answer from zero',
  'pods at the beginning, started, thrown away',
  'slot, start of a pod',
  'simulated: missed, pod-seconds (20 draws)',
]
const head = `| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`

function formatResult(
  run: string,
  name: ContestantName,
  measured: Measured,
  simulated: { readonly missed: Range; readonly podSeconds: Range },
): string {
  const { requests, missed, failed, podSeconds, podsAtBegin, podsStarted, podsThrownAway } = measured
  const share = (count: number) => `${count} (${((100 * count) / requests).toFixed(1)} %)`
  const range = ({ mean, least, most }: Range) => `${mean.toFixed(0)} (${least.toFixed(0)}–${most.toFixed(0)})`
  const seconds = (value: number) => `${value.toFixed(1)} s`
  const { p50Seconds, p95Seconds, maxSeconds, wakeSeconds, slotSeconds, startSeconds } = measured
  const cells = [
    run,
    name,
    failed > 0 ? `${requests}, ${failed} failed` : requests,
    share(missed),
    podSeconds.toFixed(0),
    [p50Seconds, p95Seconds, maxSeconds].map(seconds).join(', '),
    seconds(wakeSeconds),
    `${podsAtBegin}, ${podsStarted}, ${podsThrownAway}`,
    `${slotSeconds.toFixed(2)} s, ${seconds(startSeconds)}`,
    `${range(simulated.missed)}, ${range(simulated.podSeconds)}`,
  ]
  return `| ${cells.join(' | ')} |`
}
