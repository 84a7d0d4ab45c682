// `make bench ARGS=pipeline`: images a second through the whole service with a Triton that answers at once, and what an
// image costs each part. CPU times come from /proc, so they depend less on other work of the machine than rates.
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../support/until.ts'
import { median } from '../median.ts'
import { readPhotos } from '../model.ts'
import type { Photo } from '../rates.ts'
import type { Row } from '../row.ts'
import { type DatabaseWork, readDatabaseWork, spent } from './database-work.ts'
import { startLoad } from './load.ts'
import { processorMs } from './processor-time.ts'
import { partNames, type Service, startService } from './service.ts'

type PipelineOptions = {
  readonly rounds: number
  readonly seconds: number
  /** Folder, and so disk, of the servers' files. */
  readonly dir: string
  readonly say: (line: string) => void
  /** The most that a process has to PostgreSQL. */
  readonly connections: number
}

type Size = {
  readonly name: string
  readonly photo: Photo
  readonly callers: number
  readonly targets?: { readonly controller: number; readonly rate?: number }
}

/** Above the worker's tasks in flight, so some always wait; and below, so it often finds none. */
const [manyCallers, fewCallers] = [8, 2]
/** Node has compiled the hot code after a few hundred images. */
const warmUpSeconds = 10
const postgresTarget = 6

export async function measurePipelineParts({
  rounds,
  seconds,
  dir,
  say,
  connections,
}: PipelineOptions): Promise<Row[]> {
  const photos = await readPhotos()
  const sizes: readonly Size[] = [
    { name: '0.3 megapixels', photo: photos.small, callers: manyCallers, targets: { controller: 28, rate: 36 } },
    { name: '0.3, two callers', photo: photos.small, callers: fewCallers },
    { name: '1 megapixel', photo: photos.megapixel, callers: manyCallers, targets: { controller: 46 } },
    { name: '12 megapixels', photo: photos.large, callers: manyCallers },
  ]
  const service = await startService(dir, connections)
  try {
    const measured = new Map<string, Measured[]>(sizes.map(({ name }) => [name, []]))
    for (const size of sizes) await measureOnce(service, size, warmUpSeconds)
    for (let round = 0; round < rounds; round++) {
      for (const size of sizes) {
        const one = await measureOnce(service, size, seconds)
        measured.get(size.name)?.push(one)
        say(
          `round ${round + 1} of ${rounds}, ${size.name}: ${one.perSecond.toFixed(1)} images/s${one.failed > 0 ? `, ${one.failed} requests failed` : ''}`,
        )
      }
    }
    const all = sizes.map((size) => ({ ...size, costs: costsOf(measured.get(size.name) ?? []) }))
    say(`\n${formatParts(all)}\n`)
    if (all[0]) say(formatStatements(all[0].costs))
    return all.flatMap(toRows)
  } catch (error) {
    say(service.showLogs())
    throw error
  } finally {
    await service.remove()
  }
}

type Measured = {
  readonly images: number
  readonly failed: number
  readonly perSecond: number
  readonly cpuMs: ReadonlyMap<string, number>
  readonly work: DatabaseWork
}

/** Counts while the load runs, so the parts are busy at both ends. */
async function measureOnce(service: Service, { photo, callers }: Size, seconds: number): Promise<Measured> {
  const { origin, apiKey, db, parts } = service
  const load = await startLoad({ origin, apiKey, photo, callers })
  const readAll = async () => ({
    images: load.ended(),
    failed: load.failed(),
    atMs: performance.now(),
    cpuMs: new Map([...partNames.map((name) => [name, processorMs(parts[name])] as const), ['callers', ownMs()]]),
    work: await readDatabaseWork(db),
  })
  try {
    await pause(settleMs)
    const before = await readAll()
    await pause(seconds * 1_000)
    // On a busy machine a large image takes longer than the round.
    const hasEnough = async (): Promise<boolean> => load.ended() - before.images >= imagesMin
    await until('some images have ended', hasEnough, { timeoutMs: 300_000, everyMs: 250 })
    const after = await readAll()
    const images = after.images - before.images
    return {
      images,
      failed: after.failed - before.failed,
      perSecond: (images * 1_000) / (after.atMs - before.atMs),
      cpuMs: new Map([...after.cpuMs].map(([name, ms]) => [name, ms - (before.cpuMs.get(name) ?? 0)])),
      work: spent(before.work, after.work),
    }
  } finally {
    await load.stop()
  }
}

const settleMs = 2_000
const imagesMin = 8

function ownMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

type Costs = {
  readonly perSecond: number
  /** Milliseconds of CPU per image. */
  readonly cpuMs: ReadonlyMap<string, number>
  readonly statements: readonly (readonly [text: string, calls: number, ms: number])[]
  readonly perImage: Readonly<Record<'statements' | 'claims' | 'commits' | 'walBytes' | 'walSyncs', number>>
}

function costsOf(rounds: readonly Measured[]): Costs {
  const images = rounds.reduce((sum, round) => sum + round.images, 0)
  const mean = (read: (round: Measured) => number): number =>
    rounds.reduce((sum, round) => sum + read(round), 0) / images
  const texts = new Set(rounds.flatMap(({ work }) => [...work.byText.keys()]))
  return {
    perSecond: median(rounds.map((round) => round.perSecond)),
    cpuMs: new Map([...partNames, 'callers'].map((name) => [name, mean(({ cpuMs }) => cpuMs.get(name) ?? 0)])),
    statements: [...texts].map((text) => [
      text,
      mean(({ work }) => work.byText.get(text)?.calls ?? 0),
      mean(({ work }) => work.byText.get(text)?.ms ?? 0),
    ]),
    perImage: {
      statements: mean(({ work }) => work.statements),
      claims: mean(({ work }) => work.claims),
      commits: mean(({ work }) => work.commits),
      walBytes: mean(({ work }) => work.walBytes),
      walSyncs: mean(({ work }) => work.walSyncs),
    },
  }
}

type Costed = Size & { readonly costs: Costs }

function formatParts(sizes: readonly Costed[]): string {
  const line = (name: string, read: (costs: Costs) => string): string =>
    `| ${name} | ${sizes.map(({ costs }) => read(costs)).join(' | ')} |`
  const cpu = [...partNames, 'callers'].map((name) =>
    line(`CPU ms, ${labels[name] ?? name}`, ({ cpuMs }) => (cpuMs.get(name) ?? 0).toFixed(1)),
  )
  return [
    `| per image | ${sizes.map(({ name }) => name).join(' | ')} |`,
    `|---|${sizes.map(() => '---|').join('')}`,
    line('images/s', ({ perSecond }) => perSecond.toFixed(1)),
    ...cpu,
    line('statements', ({ perImage }) => perImage.statements.toFixed(1)),
    line('of these, claims of a task', ({ perImage }) => perImage.claims.toFixed(2)),
    line('commits', ({ perImage }) => perImage.commits.toFixed(1)),
    line('write-ahead log, kB', ({ perImage }) => (perImage.walBytes / 1_000).toFixed(1)),
    line('syncs of it', ({ perImage }) => perImage.walSyncs.toFixed(1)),
  ].join('\n')
}

const labels: Readonly<Record<string, string>> = {
  postgres: 'PostgreSQL',
  nats: 'NATS',
  api: 'API',
  triton: 'fake Triton',
  callers: 'callers and their receiver',
}

const shownStatements = 14

/** The dearest statements per image, by the server's own time. */
function formatStatements({ statements }: Costs): string {
  const dearest = [...statements].sort(([, , a], [, , b]) => b - a).slice(0, shownStatements)
  return [
    '| ms per image | calls | statement |',
    '|---|---|---|',
    ...dearest.map(([text, calls, ms]) => `| ${ms.toFixed(3)} | ${calls.toFixed(2)} | ${shorten(text)} |`),
  ].join('\n')
}

const shorten = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll('|', '/').trim().slice(0, 110)

function toRows({ name, targets, costs }: Costed): Row[] {
  const { cpuMs, perSecond } = costs
  const controller = cpuMs.get('controller') ?? Number.NaN
  const postgres = cpuMs.get('postgres') ?? Number.NaN
  const row = (what: string, ratio: number, target: Row['target'] | undefined): Row => ({
    name: `${what}, ${name}`,
    ratio,
    ...(target && { target }),
    detail: `${perSecond.toFixed(1)} images/s`,
  })
  return [
    row('controller, CPU ms an image', controller, targets && { atMost: targets.controller }),
    row('PostgreSQL, CPU ms an image', postgres, targets && { atMost: postgresTarget }),
    ...(targets?.rate === undefined ? [] : [row('images a second', perSecond, { atLeast: targets.rate })]),
  ]
}
