// Tasks that one sweep deletes a second, beside tasks that ten connections create a second, alone and at once. The
// sweep deletes a task with its history, deliveries and holds, and releases its upload.
import type { Db } from '@matte/core/db/database'
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { sql } from 'kysely'
import type { Row } from '../row.ts'
import { createOne } from './load.ts'
import { benchPlan, plans } from './plan.ts'
import { connectTo, readCpuMs } from './store.ts'

const connections = 10
const sharedBy = 100
const seconds = 8
/** Share of the tasks that are old for the sweep. */
const oldShare = 0.02

export async function measureRates(url: string, name: string): Promise<Row[]> {
  const [callers, sweeper] = [connectTo(url, connections), connectTo(url)]
  try {
    const { rows: owners } = await sql<{ id: string }>`
      select id from workspace where deleted_at is null order by name limit ${sharedBy}`.execute(callers.db)
    const now = await findTime(sweeper.db)
    const create = (goesOn: () => boolean) =>
      createWhile(
        callers.db,
        owners.map(({ id }) => id),
        goesOn,
      )
    const sweep = (goesOn: () => boolean) => sweepWhile(sweeper.db, now, goesOn)
    const alone = { created: await perSecond(create), deleted: await perSecond(sweep) }
    const cpu = { created: await cpuOf(callers.db, create), deleted: await cpuOf(sweeper.db, sweep) }
    const [created, deleted] = await Promise.all([perSecond(create), perSecond(sweep)])
    const row = (when: string, rates: typeof alone): Row => ({
      name: `tasks deleted ÷ created a second, ${when}, ${name}`,
      ratio: rates.deleted / rates.created,
      target: { atLeast: 1 },
      detail: `one sweep deletes ${rates.deleted.toFixed(0)}/s, ${connections} connections create ${rates.created.toFixed(0)}/s`,
    })
    return [
      row('each alone', alone),
      row('at once', { created, deleted }),
      {
        name: `processor time of a deleted task ÷ of a created one, in PostgreSQL, ${name}`,
        ratio: cpu.deleted / cpu.created,
        target: { atMost: 1 },
        detail: `${cpu.deleted.toFixed(2)} ms, ${cpu.created.toFixed(2)} ms`,
      },
    ]
  } finally {
    await endAll(sweeper.db)
    await callers.stop()
    await sweeper.stop()
  }
}

/** Leaves no queue to the next run. */
async function endAll(db: Db): Promise<void> {
  await sql`update task set status = 'canceled', completed_at = now() where status = 'queued'`.execute(db)
  await sql`update workspace set queued = 0, open_singles = processing where queued > 0`.execute(db)
  await sql`
    update credit_hold h set state = 'released' from task t
     where h.state = 'open' and t.id = h.task_id and t.status = 'canceled' and t.completed_at > now() - interval '1 minute'
  `.execute(db)
  await sql`vacuum (analyze) task, workspace`.execute(db)
}

/** A time at which a fiftieth of the tasks is old. */
async function findTime(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    select min(completed_at) + ${oldShare}::float8 * (max(completed_at) - min(completed_at))
           + ${benchPlan.retentionDays}::int * interval '1 day' as now from task`.execute(db)
  if (rows[0] === undefined) throw new Error('there are no tasks')
  return rows[0].now
}

async function perSecond(work: (goesOn: () => boolean) => Promise<number>): Promise<number> {
  const begun = performance.now()
  const done = await work(() => performance.now() - begun < seconds * 1_000)
  return done / ((performance.now() - begun) / 1_000)
}

/** Milliseconds of the server's processes per task. */
async function cpuOf(db: Db, work: (goesOn: () => boolean) => Promise<number>): Promise<number> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`.execute(db)
  const read = (): number => rows.reduce((sum, { pid }) => sum + readCpuMs(pid), 0)
  const before = read()
  const begun = performance.now()
  const done = await work(() => performance.now() - begun < seconds * 1_000)
  return (read() - before) / done
}

async function createWhile(db: Db, owners: readonly string[], goesOn: () => boolean): Promise<number> {
  let created = 0
  const one = async (): Promise<void> => {
    while (goesOn()) {
      await createOne(db, owners[created % owners.length] ?? '')
      created += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  return created
}

async function sweepWhile(db: Db, now: Date, goesOn: () => boolean): Promise<number> {
  const end = new AbortController()
  let deleted = 0
  while (goesOn()) {
    // A call handles a hundred workspaces; the signal ends it in between.
    const timer = setInterval(() => !goesOn() && end.abort(), 50)
    try {
      const done = await deleteOldTasks(db, plans, { now, signal: end.signal })
      deleted += done
      if (done === 0) break
    } finally {
      clearInterval(timer)
    }
  }
  return deleted
}
