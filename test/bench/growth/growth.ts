// `make bench ARGS=growth`: cost of each statement on databases of millions of tasks beside that on an empty one.
// Rounds on the two databases alternate, so changes of the machine's speed affect both.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { median } from '../median.ts'
import type { Row } from '../row.ts'
import type { Cell } from './fill.ts'
import { measureIds } from './ids.ts'
import { findSubject, type Operation, operationsOf, type Subject } from './operations.ts'
import { measureRates } from './rates.ts'
import { connectTo, databaseOf, prepareCell, readCpuMs, settings, startServer } from './store.ts'

type GrowthOptions = {
  readonly sizes: readonly number[]
  readonly workspaces: readonly number[]
  /** Folder of the databases; kept. */
  readonly dir: string
  readonly rounds: number
  readonly say: (line: string) => void
}

/** Almost empty: rows of a workspace lie between those of others, as in the large ones. */
const empty: Cell = { tasks: 3_000, workspaces: 1_000 }
const defaultWorkspaces = 1_000

/** Every size with a thousand workspaces, and every number of workspaces with the size nearest to a million. */
export function cellsOf(sizes: readonly number[], workspaces: readonly number[]): Cell[] {
  const million = sizes.toSorted((a, b) => Math.abs(a - 1_000_000) - Math.abs(b - 1_000_000))[0]
  const bySize = sizes.map((tasks) => ({ tasks, workspaces: defaultWorkspaces }))
  const byWorkspaces = million === undefined ? [] : workspaces.map((count) => ({ tasks: million, workspaces: count }))
  const all = [...bySize, ...byWorkspaces.filter((cell) => cell.workspaces !== defaultWorkspaces)]
  return all.toSorted((a, b) => a.tasks - b.tasks || a.workspaces - b.workspaces)
}

export async function measureGrowth({ sizes, workspaces, dir, rounds, say }: GrowthOptions): Promise<Row[]> {
  const cells = cellsOf(sizes, workspaces)
  const largest = cells.at(-1)
  const kept = largest === undefined ? [empty] : [empty, largest]
  say(
    `settings: ${Object.entries(settings)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  )
  await prepareCell(dir, empty, kept, say)
  const compared: Compared[] = []
  for (const cell of cells) {
    await prepareCell(dir, cell, kept, say)
    say(`measuring ${nameOf(cell)}`)
    const server = await startServer(dir)
    try {
      const one = await compare(server.url(databaseOf(empty)), server.url(databaseOf(cell)), cell, rounds)
      say(tableOf([one])) // a later cell may fail
      compared.push(one)
    } finally {
      await server.stop()
    }
  }
  say(`\n${tableOf(compared)}`)
  return [...rowsOf(compared), ...(largest === undefined ? [] : await measureLargest(dir, largest))]
}

/** Rates of creation and deletion, and the log of ids, which leave new rows behind. */
async function measureLargest(dir: string, cell: Cell): Promise<Row[]> {
  const server = await startServer(dir)
  try {
    const url = server.url(databaseOf(cell))
    return [...(await measureIds(url, nameOf(cell))), ...(await measureRates(url, nameOf(cell)))]
  } finally {
    await server.stop()
  }
}

type Cost = { readonly ms: number[]; cpuMs: number; buffers: number; calls: number; bounded: boolean }
type Costs = Map<string, Cost>
type Compared = { readonly cell: Cell; readonly base: Costs; readonly grown: Costs }

async function compare(baseUrl: string, url: string, cell: Cell, rounds: number): Promise<Compared> {
  const [first, second] = [connectTo(baseUrl), connectTo(url)]
  try {
    const base = { subject: await findSubject(first.db, baseUrl), costs: new Map() as Costs }
    const grown = { subject: await findSubject(second.db, url), costs: new Map() as Costs }
    for (const { subject } of [base, grown]) await runRound(subject, new Map()) // a warm-up
    for (let round = 0; round < rounds; round++)
      for (const { subject, costs } of [base, grown]) await runRound(subject, costs)
    return { cell, base: base.costs, grown: grown.costs }
  } finally {
    await first.stop()
    await second.stop()
  }
}

async function runRound(subject: Subject, costs: Costs): Promise<void> {
  const pid = await serverProcess(subject.db)
  for await (const { name, bounded, calls } of operationsOf(subject)) {
    const cost = costs.get(name) ?? { ms: [], cpuMs: 0, buffers: 0, calls: 0, bounded }
    costs.set(name, cost)
    await measureCalls(subject.db, pid, calls, cost)
    cost.calls += calls.length
  }
}

/** The pool replaces its single connection if a round on the other database takes long. */
async function serverProcess(db: Db): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return rows[0]?.pid ?? 0
}

/** Adds the time of each call, and PostgreSQL's processor time and pages, from memory or disk, for all of them. */
async function measureCalls(db: Db, pid: number, calls: Operation['calls'], cost: Cost): Promise<void> {
  await sql`select pg_stat_statements_reset(0, (select oid from pg_database where datname = current_database()))`.execute(
    db,
  )
  const cpuBefore = readCpuMs(pid)
  for (const call of calls) {
    const begun = performance.now()
    await call()
    cost.ms.push(performance.now() - begun)
  }
  cost.cpuMs += readCpuMs(pid) - cpuBefore
  const { rows } = await sql<{ pages: number }>`
    select coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as pages from pg_stat_statements
      join pg_database d on d.oid = dbid where datname = current_database() and query !~ 'pg_stat_statements'`.execute(
    db,
  )
  cost.buffers += rows[0]?.pages ?? 0
}

const short = (count: number): string =>
  count >= 1_000_000 ? `${count / 1_000_000}m` : count >= 1_000 ? `${count / 1_000}k` : String(count)
const nameOf = ({ tasks, workspaces }: Cell): string => `${short(tasks)} tasks, ${short(workspaces)} workspaces`
const perCall = ({ buffers, calls }: Cost): number => buffers / calls
const p50 = ({ ms }: Cost): number => median(ms)
const cpuPerCall = ({ cpuMs, calls }: Cost): number => cpuMs / calls

/** By operation and cell: p50 and processor time, each divided by that on the empty database, and pages per call. */
function tableOf(compared: readonly Compared[]): string {
  const names = [...(compared[0]?.base.keys() ?? [])]
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const lines = names.map((name) => {
    const cost = compared[0]?.base.get(name)
    const first =
      cost === undefined
        ? ''
        : `${p50(cost).toFixed(2)} ms, ${cpuPerCall(cost).toFixed(2)} ms, ${perCall(cost).toFixed(0)}`
    const cells = compared.map(({ base, grown }) => {
      const [before, after] = [base.get(name), grown.get(name)]
      if (before === undefined || after === undefined) return '–'
      const ratios = [p50(after) / p50(before), cpuPerCall(after) / cpuPerCall(before)]
      return `${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}, ${perCall(after).toFixed(0)}`
    })
    return row([name, first, ...cells])
  })
  const head = ['p50 ÷ empty, CPU ÷ empty, pages', 'empty', ...compared.map(({ cell }) => nameOf(cell))]
  return [row(head), row(head.map(() => '---')), ...lines].join('\n')
}

/** A row per operation: its worst ratio over the cells. */
function rowsOf(compared: readonly Compared[]): Row[] {
  return [...(compared[0]?.base.entries() ?? [])].map(([name, { bounded }]) => {
    const ratios = compared.map(({ cell, base, grown }) => ({
      cell,
      ratio: median(grown.get(name)?.ms ?? []) / median(base.get(name)?.ms ?? []),
      pages: perCall(grown.get(name) as Cost),
    }))
    const worst = ratios.toSorted((a, b) => b.ratio - a.ratio)[0]
    return {
      name: `${name} ÷ empty`,
      ratio: worst?.ratio ?? Number.NaN,
      ...(bounded && { target: { atMost: 1.2 } }),
      detail: `${worst && nameOf(worst.cell)}, ${worst?.pages.toFixed(0)} pages`,
    }
  })
}
