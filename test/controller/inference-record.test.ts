import { inferenceRecord } from '@matte/controller/worker/inference-record'
import { sql } from 'kysely'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const a = { pool: 'standard', revision: 'aaaaaaaa' }
const b = { pool: 'standard', revision: 'bbbbbbbb' }

describe('inferenceRecord', () => {
  const database = useDatabase()

  const readSums = async (replica: string) => {
    const rows = await database.db
      .selectFrom('inference_window')
      .selectAll()
      .where('replica', '=', replica)
      .orderBy('revision')
      .execute()
    const revisions = [...new Set(rows.map(({ revision }) => revision))]
    return revisions.map((revision) => {
      const own = rows.filter((row) => row.revision === revision)
      const sum = (read: (row: (typeof own)[number]) => number): number =>
        own.reduce((total, row) => total + read(row), 0)
      return {
        revision,
        done: sum((row) => row.done),
        failed: sum((row) => row.failed),
        timedOut: sum((row) => row.timed_out),
        unavailable: sum((row) => row.unavailable),
        busySeconds: sum((row) => row.busy_seconds),
        ended: sum((row) => row.ended),
        within2s: sum((row) => row.latency_buckets.slice(0, 5).reduce((total, count) => total + count, 0)),
      }
    })
  }
  const nothing = { failed: 0, timedOut: 0, unavailable: 0, ended: 0, within2s: 0 }

  it('writes sums per revision, and adds to them', async () => {
    const subject = inferenceRecord({ db: database.db, replica: 'one', logger })
    subject.record(a, 'ok', 0.5)
    subject.record(a, 'ok', 0.25)
    subject.record(a, 'failed', 3)
    subject.record(b, 'timeout', 30)
    subject.record(b, 'unavailable', 1)
    subject.recordEnd(a, 1.2)
    subject.recordEnd(a, 7)
    await subject.start()
    await until('the sums are written', async () => (await readSums('one')).length === 2)
    subject.record(a, 'ok', 0.25)
    await subject.stop()
    expect(await readSums('one')).toEqual([
      { ...nothing, revision: 'aaaaaaaa', done: 3, failed: 1, busySeconds: 1, ended: 2, within2s: 1 },
      { ...nothing, revision: 'bbbbbbbb', done: 0, timedOut: 1, unavailable: 1, busySeconds: 0 },
    ])
  })

  it('writes nothing without inferences', async () => {
    const asked: string[] = []
    const { db } = connectTo(database.url)
    const watched = db.withPlugin({
      transformQuery: ({ node }) => {
        asked.push(node.kind)
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const subject = inferenceRecord({ db: watched, replica: 'idle', logger })
    await subject.start()
    subject.wake()
    await subject.stop()
    expect(asked).toEqual([])
    subject.record(a, 'ok', 1)
    await subject.stop()
    expect(asked).toHaveLength(1)
    await db.destroy()
  })

  /** Renames the table, so every write fails. */
  async function withoutTable(act: () => Promise<void>): Promise<void> {
    await sql`alter table inference_window rename to away`.execute(database.db)
    try {
      await act()
    } finally {
      await sql`alter table away rename to inference_window`.execute(database.db)
    }
  }

  it('keeps sums that could not be written, adds new ones, and writes all of them later', async () => {
    const failures: string[] = []
    const noting = pino({}, { write: (line: string) => void failures.push(line) })
    const subject = inferenceRecord({ db: database.db, replica: 'late', logger: noting })
    await withoutTable(async () => {
      subject.record(a, 'ok', 1)
      subject.recordEnd(a, 1)
      await subject.start()
      await until('a write has failed', () => failures.some((line) => line.includes('loop pass failed')))
      subject.record(a, 'ok', 2)
      subject.record(b, 'failed', 1)
    })
    await subject.stop()
    expect(await readSums('late')).toEqual([
      { ...nothing, revision: 'aaaaaaaa', done: 2, busySeconds: 3, ended: 1, within2s: 1 },
      { ...nothing, revision: 'bbbbbbbb', done: 0, failed: 1, busySeconds: 0 },
    ])
  })

  it('is bounded while the database is unavailable: the oldest sums are dropped', async () => {
    const subject = inferenceRecord({ db: database.db, replica: 'full', logger })
    await withoutTable(async () => {
      for (let pool = 0; pool < 1_500; pool++) subject.record({ pool: `p-${pool}`, revision: 'aaaaaaaa' }, 'ok', 1)
      await subject.stop()
    })
    await subject.stop()
    const rows = await database.db.selectFrom('inference_window').select('pool').where('replica', '=', 'full').execute()
    expect(rows).toHaveLength(1_000)
    expect(rows.map(({ pool }) => pool)).not.toContain('p-499')
  })
})
