// Every write of a worker names task, run and claim (D34): one that was stopped past its claim and goes on finds that
// it has nothing to say any more.
import { type ClaimedTask, giveBackClaim, renewClaim } from '@matte/core/task/claim-task'
import { failAttempt, finishTask } from '@matte/core/task/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { databases, useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenClaimed,
  givenWorkspace,
  lapseClaim,
  readHistory,
  readTask,
  success,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

const receiver = 'http://receiver.example/'

for (const { version, url, missing } of databases()) {
  describe.skipIf(missing)(`a worker whose claim another has, on PostgreSQL ${version}`, () => {
    const database = useDatabase(url)

    async function givenLateWorker() {
      const { db } = database
      const workspace = await givenWorkspace(db, { plan: 'pro', credits: 1 })
      const late = await givenClaimed(db, workspace, { callbackUrl: receiver })
      await lapseClaim(db, late)
      const holder = await claimNext(db, [late.modelVersion])
      if (holder === undefined) throw new Error('the lapsed claim was not taken')
      return { db, late, holder }
    }

    type Act = (late: ClaimedTask) => Promise<unknown>
    const acts: Record<string, Act> = {
      finishes: async (late) => (await finishTask(database.db, late, success(late))) ?? 'lost',
      'fails its attempt': (late) => failAttempt(database.db, late, 'INTERNAL'),
      'fails for good': (late) => failAttempt(database.db, late, 'INPUT_UNREADABLE'),
      'gives back': async (late) => (await giveBackClaim(database.db, late, 0)) ?? 'lost',
      renews: async (late) => (await renewClaim(database.db, late, 60_000)) ?? 'lost',
    }

    it.each(Object.entries(acts))('and %s while the other works: nothing is written', async (_, act) => {
      const { db, late, holder } = await givenLateWorker()
      const before = { row: await readTask(db, late.id), history: await readHistory(db, late.id) }
      expect(await act(late)).toBe('lost')
      expect({ row: await readTask(db, late.id), history: await readHistory(db, late.id) }).toEqual(before)
      expect(await finishTask(db, holder, success(holder))).toMatchObject({ status: 'succeeded' })
      expect(await findBrokenRules(db)).toEqual({})
    })

    it('and finishes after the other has: one result, one event, one delivery, one credit', async () => {
      const { db, late, holder } = await givenLateWorker()
      expect(await finishTask(db, holder, success(holder))).toMatchObject({ status: 'succeeded' })
      expect(await finishTask(db, late, success(late))).toBeUndefined()
      expect(await failAttempt(db, late, 'INPUT_UNREADABLE')).toBe('lost')
      const task = await readTask(db, late.id)
      expect(task.result_key).toContain(holder.claim)
      expect(await readHistory(db, late.id)).toEqual(['queued', 'processing', 'succeeded'])
      expect(await db.selectFrom('delivery').select('event').where('task_id', '=', late.id).execute()).toEqual([
        { event: 'task.succeeded' },
      ])
      expect(await findBrokenRules(db)).toEqual({})
    })

    it('may finish as long as nobody took the task, though its claim has lapsed: the work is done and right', async () => {
      const { db } = database
      const claim = await givenClaimed(db, await givenWorkspace(db))
      await lapseClaim(db, claim)
      expect(await finishTask(db, claim, success(claim))).toMatchObject({ status: 'succeeded' })
      expect(await claimNext(db, [claim.modelVersion])).toBeUndefined()
    })

    it('is fenced by the run as well as by the claim', async () => {
      const { db } = database
      const claim = await givenClaimed(db, await givenWorkspace(db))
      await sql`update task set run = 2 where id = ${claim.id}`.execute(db)
      expect(await finishTask(db, claim, success(claim))).toBeUndefined()
      expect(await failAttempt(db, claim, 'INTERNAL')).toBe('lost')
      await sql`update task set run = 1 where id = ${claim.id}`.execute(db)
    })
  })
}
