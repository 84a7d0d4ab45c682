// `make bench`: cost of the service relative to the bare model. Ratios of one run are comparable on a shared machine;
// the absolute numbers printed beside them hold only for this machine and hour. Exits with 1 on a missed target;
// `--report` only measures.
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rootDir } from '@matte/local/paths'
import { formatRows, isMet, type Row } from './row.ts'

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    // Outside the temporary folder: in memory, a commit costs no sync.
    dir: { type: 'string', default: join(rootDir, '.local') },
    // For `pipeline`: DATABASE_POOL_MAX of each process.
    connections: { type: 'string', default: '10' },
    // For `growth`: numbers of tasks and workspaces, and the folder that keeps the databases. For `bloat`: rows.
    sizes: { type: 'string', default: '10k,1m,5m' },
    workspaces: { type: 'string', default: '1,1k,100k' },
    rows: { type: 'string', default: '200k' },
    keep: { type: 'string', default: '/var/tmp/matte-growth' },
    report: { type: 'boolean', default: false },
    loads: { type: 'string', default: 'step,bursts' },
    starts: { type: 'string', default: '3,20' },
    scalers: { type: 'string', default: 'matte,keda-jetstream,keda-prometheus' },
    seed: { type: 'string', default: '1' },
    // Seconds: the cluster's --horizontal-pod-autoscaler-sync-period.
    sync: { type: 'string', default: '15' },
  },
  allowPositionals: true,
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** `10k,1m` as numbers. */
function readCounts(text: string): number[] {
  return text.split(',').map((part) => {
    const [, digits, unit = ''] = /^(\d+)([km]?)$/.exec(part) ?? []
    if (digits === undefined) throw new Error(`not a number such as 10k or 1m: ${part}`)
    return Number(digits) * { '': 1, k: 1_000, m: 1_000_000 }[unit as '' | 'k' | 'm']
  })
}

/** Loaded by name: modules of other benchmarks would enlarge the heap, and so the time of each collection. */
const sets: Readonly<Record<string, () => Promise<Row[]>>> = {
  model: async () => (await import('./model.ts')).measureModel({ rounds, seconds, say }),
  rembg: async () => (await import('./rembg/rembg.ts')).measureRembg({ rounds, seconds, say }),
  door: async () => (await import('./rembg/door.ts')).measureDoor({ rounds, seconds, say }),
  pixels: async () => [
    ...(await (await import('./shadows.ts')).measureShadows({ rounds })),
    ...(await (await import('./pixels.ts')).measurePixels({ rounds, say })),
  ],
  accept: async () => (await import('./accept.ts')).measureAccept({ rounds, seconds, dir: values.dir, say }),
  pipeline: async () =>
    (await import('./pipeline/pipeline.ts')).measurePipelineParts({
      ...{ rounds, seconds, dir: values.dir, say },
      connections: Number(values.connections),
    }),
  app: async () => (await import('./app/app.ts')).measureApp({ rounds, seconds, dir: values.dir, say }),
  console: async () => (await import('./console/console.ts')).measureConsole({ rounds, say }),
  gpu: async () =>
    (await import('./gpu/gpu.ts')).measureGpu({ rounds, seconds, say, tritonUrl: process.env.TRITON_URL }),
  growth: async () =>
    (await import('./growth/growth.ts')).measureGrowth({
      ...{ sizes: readCounts(values.sizes), workspaces: readCounts(values.workspaces) },
      ...{ dir: values.keep, rounds, say },
    }),
  bloat: async () =>
    (await import('./growth/bloat.ts')).measureBloat({
      dir: `${values.keep}-bloat`,
      rows: readCounts(values.rows)[0] ?? 0,
      say,
    }),
  streams: async () => (await import('./app/streams.ts')).measureStreams({ dir: values.dir, say }),
  scalers: async () => {
    const { loads, starts, scalers: names, dir } = values
    return (await import('./scalers/scalers.ts')).measureScalers({
      loads,
      starts,
      names,
      rounds,
      seed: Number(values.seed),
      syncSeconds: Number(values.sync),
      dir,
      say,
    })
  },
  attack: async () => (await import('./attack/attack.ts')).measureAttack({ seconds: seconds * 37.5, say }),
  wake: async () => (await import('./scalers/wake.ts')).measureWake({ rounds, dir: values.dir, say }),
}
/** These need a GPU, a cluster, `make up` or an hour, so they run only by name. */
const namedOnly = ['attack', 'gpu', 'growth', 'bloat', 'scalers', 'wake']

const gib = (totalmem() / 2 ** 30).toFixed(0)
const cores = `${availableParallelism()} cores of ${cpus()[0]?.model ?? '?'}`
say(`machine: ${cores}, ${gib} GiB, Linux ${release()}, Node ${process.version}`)
const names = positionals.length > 0 ? positionals : Object.keys(sets).filter((name) => !namedOnly.includes(name))
const rows: Row[] = []
for (const name of names) {
  const measure = sets[name]
  if (measure === undefined) throw new Error(`no such rows: ${name}. There are ${Object.keys(sets).join(', ')}`)
  rows.push(...(await measure()))
}
say(`\n${formatRows(rows)}`)
if (!values.report && !rows.every(isMet)) process.exitCode = 1
