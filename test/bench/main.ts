// `make bench`: cost of the service relative to the bare model. Ratios of one run are comparable on a shared machine;
// the absolute numbers printed beside them hold only for this machine and hour. Exits with 1 on a missed target;
// `--report` only measures.
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rootDir } from '@matte/local/paths'
import { measureAccept } from './accept.ts'
import { measureApp } from './app/app.ts'
import { measureStreams } from './app/streams.ts'
import { measureConsole } from './console/console.ts'
import { measureGpu } from './gpu/gpu.ts'
import { measureBloat } from './growth/bloat.ts'
import { measureGrowth } from './growth/growth.ts'
import { measureModel } from './model.ts'
import { measurePipelineParts } from './pipeline/pipeline.ts'
import { measurePixels } from './pixels.ts'
import { measureRembg } from './rembg/rembg.ts'
import { formatRows, isMet, type Row } from './row.ts'
import { measureScalers } from './scalers/scalers.ts'
import { measureWake } from './scalers/wake.ts'

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    // Outside the temporary folder: in memory, a commit costs no sync.
    dir: { type: 'string', default: join(rootDir, '.local') },
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

const sets: Readonly<Record<string, () => Promise<Row[]>>> = {
  model: () => measureModel({ rounds, seconds, say }),
  rembg: () => measureRembg({ rounds, seconds, say }),
  pixels: () => measurePixels({ rounds, say }),
  accept: () => measureAccept({ rounds, seconds, dir: values.dir, say }),
  pipeline: () => measurePipelineParts({ rounds, seconds, dir: values.dir, say }),
  app: () => measureApp({ rounds, seconds, dir: values.dir, say }),
  console: () => measureConsole({ rounds, say }),
  gpu: () => measureGpu({ rounds, seconds, say, tritonUrl: process.env.TRITON_URL }),
  growth: () =>
    measureGrowth({
      ...{ sizes: readCounts(values.sizes), workspaces: readCounts(values.workspaces) },
      ...{ dir: values.keep, rounds, say },
    }),
  bloat: () => measureBloat({ dir: `${values.keep}-bloat`, rows: readCounts(values.rows)[0] ?? 0, say }),
  streams: () => measureStreams({ dir: values.dir, say }),
  scalers: () => {
    const { loads, starts, scalers: names, dir } = values
    return measureScalers({ loads, starts, names, rounds, seed: Number(values.seed), dir, say })
  },
  wake: () => measureWake({ rounds, dir: values.dir, say }),
}
/** These need a GPU, a cluster or an hour, so they run only by name. */
const namedOnly = ['gpu', 'growth', 'bloat', 'scalers', 'wake']

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
