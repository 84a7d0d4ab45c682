import type { Db } from '@matte/core/db/database'
import { countRequests, deleteOldWindows, type RateWindow } from '@matte/core/rate-windows'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'

describe('countRequest', () => {
  const database = useDatabase()
  let subjects = 0
  const newSubject = (): string => `test:${++subjects}`

  const countRequest = async (db: Db, subject: string, limit: number, count = 1): Promise<RateWindow> =>
    (await countRequests(db, [{ subject, count, limit }]))[0] as RateWindow

  /** Moves the window of the row to `minutes` from now. */
  const moveWindow = (subject: string, minutes: number) =>
    sql`update rate_window set minute = floor(extract(epoch from now()) / 60)::int + ${minutes}::int
           where subject = ${subject}`.execute(database.db)

  it('gives each of fifty concurrent requests another number, in the window that counts them', async () => {
    const subject = newSubject()
    const counted = await Promise.all(Array.from({ length: 50 }, () => countRequest(database.db, subject, 1_000)))
    for (const [, window] of Map.groupBy(counted, ({ resetsAt }) => resetsAt)) {
      const numbers = window.map(({ used }) => used).sort((a, b) => a - b)
      expect(numbers).toEqual(Array.from({ length: window.length }, (_, i) => i + 1))
    }
  })

  it('returns the end of the minute by the database’s clock', async () => {
    const { resetsAt, resetsInMs } = await countRequest(database.db, newSubject(), 10)
    const { rows } = await sql<{ now: number }>`
        select extract(epoch from clock_timestamp())::float8 as now`.execute(database.db)
    expect(resetsAt % 60).toBe(0)
    expect(resetsInMs).toBeGreaterThan(-1_000)
    expect(resetsInMs).toBeLessThanOrEqual(60_000)
    expect(resetsAt - (rows[0]?.now ?? 0)).toBeLessThanOrEqual(resetsInMs / 1_000)
  })

  it('counts several subjects, and several requests of one, in one statement', async () => {
    const [one, two] = [newSubject(), newSubject()]
    await countRequest(database.db, one, 100, 5)
    const windows = await countRequests(database.db, [
      { subject: two, count: 3, limit: 100 },
      { subject: one, count: 4, limit: 100 },
    ])
    const used = Object.fromEntries(windows.map((window) => [window.subject, window.used]))
    expect([9, 4]).toContain(used[one]) // 4 if the minute has just ended
    expect(used[two]).toBe(3)
  })

  it('does not deadlock when replicas count the same subjects in another order', async () => {
    const subjects = Array.from({ length: 8 }, newSubject)
    const rounds = Array.from({ length: 60 }, (_, i) =>
      countRequests(
        database.db,
        (i % 2 === 0 ? subjects : subjects.toReversed()).map((subject) => ({ subject, count: 1, limit: 1_000 })),
      ),
    )
    expect((await Promise.all(rounds)).flat()).toHaveLength(480)
  })

  it('counts no further than one above the limit', async () => {
    const subject = newSubject()
    const counted: RateWindow[] = []
    for (let i = 0; i < 6; i++) counted.push(await countRequest(database.db, subject, 2))
    for (const [, window] of Map.groupBy(counted, ({ resetsAt }) => resetsAt)) {
      expect(window.map(({ used }) => used)).toEqual(window.map((_, i) => Math.min(i + 1, 3)))
    }
  })

  it('forgets no admitted request while replicas disagree about the limit', async () => {
    let windows: readonly [RateWindow, RateWindow, RateWindow]
    do {
      const subject = newSubject()
      const count = (limit: number, requests = 1) => countRequest(database.db, subject, limit, requests)
      windows = [await count(40, 35), await count(20), await count(40)]
      // Repeated if a minute ended meanwhile.
    } while (new Set(windows.map(({ resetsAt }) => resetsAt)).size > 1)
    expect(windows[1].used).toBeGreaterThan(20)
    expect(windows[2].used).toBeGreaterThan(35)
  })

  it('starts again in the next minute', async () => {
    const subject = newSubject()
    for (let i = 0; i < 3; i++) await countRequest(database.db, subject, 2)
    await moveWindow(subject, -1)
    expect(await countRequest(database.db, subject, 2)).toMatchObject({ used: 1 })
  })

  it('counts late requests at the border once, in the window that has begun', async () => {
    const subject = newSubject()
    await countRequest(database.db, subject, 10)
    await moveWindow(subject, 1)
    const { used, resetsInMs } = await countRequest(database.db, subject, 10)
    expect(used).toBe(2)
    expect(resetsInMs).toBeGreaterThan(59_000 - 60_000)
    expect(resetsInMs).toBeLessThanOrEqual(120_000)
  })

  it('is not blocked by a row that a wrong clock left far ahead', async () => {
    const subject = newSubject()
    await countRequest(database.db, subject, 1)
    await moveWindow(subject, 5)
    expect(await countRequest(database.db, subject, 1)).toMatchObject({ used: 1 })
  })

  it('deletes subjects of older minutes and keeps those of the current and the last one', async () => {
    const [old, last, current] = [newSubject(), newSubject(), newSubject()]
    for (const subject of [old, last, current]) await countRequest(database.db, subject, 1)
    await moveWindow(old, -3)
    await moveWindow(last, -1)
    expect(await deleteOldWindows(database.db)).toBeGreaterThanOrEqual(1)
    const rows = await database.db
      .selectFrom('rate_window')
      .select('subject')
      .where('subject', 'in', [old, last, current])
      .orderBy('subject')
      .execute()
    expect(rows.map(({ subject }) => subject).sort()).toEqual([last, current].sort())
  })
})
