// `make bench ARGS=scalers`: Matte, KEDA and a HorizontalPodAutoscaler side by side in the cluster of the kube context,
// under the simulator's loads, beside the simulator's own answer for the same requests.
import type { Say } from '@matte/local/say'
import { type TraceName, traceNames } from '../../sim/trace.ts'
import type { Row } from '../row.ts'
import { type ContestantName, contestantNames } from './contestants.ts'
import { makeLiveTrace } from './live-trace.ts'
import { createLiveWorld } from './live-world.ts'
import { type Measured, runLive } from './run-live.ts'
import { simulate } from './simulate.ts'

export type ScalersOptions = {
  /** Such as `step:3,bursts:20`: load and seconds of a pod's start. */
  readonly cells: string
  readonly names: string
  readonly rounds: number
  readonly dir: string
  readonly say: Say
}

type Cell = { readonly load: TraceName; readonly startSeconds: number }
type Totals = { requests: number; missed: number; podSeconds: number }

export async function measureScalers(options: ScalersOptions): Promise<Row[]> {
  const { rounds, say } = options
  const cells = parseCells(options.cells)
  const names = parseNames(options.names)
  const live = await createLiveWorld({ parent: options.dir, say, withKeda: names.some((name) => name !== 'matte') })
  const rows: Row[] = []
  try {
    say(head)
    for (const [index, { load, startSeconds }] of cells.entries()) {
      const totals = new Map<ContestantName, Totals>()
      for (let seed = 1; seed <= rounds; seed++) {
        const trace = makeLiveTrace(load, seed)
        const measured = await runLive(live, { trace, startSeconds, names, id: `${index}-${seed}` })
        for (const [name, result] of measured) {
          const simulated = simulate(name, trace, result.startSeconds)
          say(formatResult(`${load} D=${startSeconds} #${seed}`, name, result, simulated))
          add(totals, name, result)
        }
      }
      rows.push(...compare(`${load}, D = ${startSeconds} s`, totals))
    }
  } finally {
    await live.remove()
  }
  return rows
}

function parseCells(text: string): Cell[] {
  return text.split(',').map((cell) => {
    const [name, seconds] = cell.split(':')
    const load = traceNames.find((one) => one === name)
    const startSeconds = Number(seconds)
    if (load !== undefined && startSeconds >= 3) return { load, startSeconds }
    throw new Error(`--cells ${cell}: give a load (${traceNames.join(', ')}) and at least 3 seconds, such as step:3`)
  })
}

function parseNames(text: string): ContestantName[] {
  return text.split(',').map((name) => {
    const known = contestantNames.find((one) => one === name)
    if (known !== undefined) return known
    throw new Error(`--scalers ${name}: there are ${contestantNames.join(', ')}`)
  })
}

function add(totals: Map<ContestantName, Totals>, name: ContestantName, { requests, missed, podSeconds }: Measured) {
  const total = totals.get(name) ?? { requests: 0, missed: 0, podSeconds: 0 }
  total.requests += requests
  total.missed += missed
  total.podSeconds += podSeconds
  totals.set(name, total)
}

/** Matte's misses and pod-seconds over those of each other scaler. */
function compare(cell: string, totals: ReadonlyMap<ContestantName, Totals>): Row[] {
  const ours = totals.get('matte')
  if (ours === undefined) return []
  return [...totals].flatMap(([name, theirs]) => {
    if (name === 'matte') return []
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
  })
}

const columns = [
  'run',
  'scaler',
  'requests',
  'missed',
  'pod-seconds',
  'p50, p95, longest',
  'first answer from zero',
  'pods started, thrown away',
  'start of a pod',
  'simulated: missed, pod-seconds',
]
const head = `| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`

function formatResult(
  run: string,
  name: ContestantName,
  measured: Measured,
  simulated: { readonly missed: number; readonly podSeconds: number },
): string {
  const { requests, missed, failed, podSeconds, podsStarted, podsThrownAway } = measured
  const share = (count: number) => `${count} (${((100 * count) / requests).toFixed(1)} %)`
  const seconds = (value: number) => `${value.toFixed(1)} s`
  const { p50Seconds, p95Seconds, maxSeconds, wakeSeconds, startSeconds } = measured
  const cells = [
    run,
    name,
    failed > 0 ? `${requests}, ${failed} failed` : requests,
    share(missed),
    podSeconds.toFixed(0),
    [p50Seconds, p95Seconds, maxSeconds].map(seconds).join(', '),
    seconds(wakeSeconds),
    `${podsStarted}, ${podsThrownAway}`,
    seconds(startSeconds),
    `${share(simulated.missed)}, ${simulated.podSeconds.toFixed(0)}`,
  ]
  return `| ${cells.join(' | ')} |`
}
