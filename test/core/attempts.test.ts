// Attempts and their pauses are stored in the row (D32): outcomes of workers that fail, die or release a claim.

import { failureReasons, isInputFailure } from '@matte/core/task/failure'
import { giveBackClaim, renewClaim } from '@matte/core/task/run/claim-task'
import { takeInjectedFault } from '@matte/core/task/run/fault-injection'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenClaimed,
  givenWorkspace,
  lapseClaim,
  makeDue,
  readHistory,
  readTask,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

describe('attempts', () => {
  const database = useDatabase()

  /** Pause between the last failed attempt and the next due time, from row and history. */
  async function gapAfterFailure(id: string): Promise<number> {
    const { rows } = await sql<{ gapMs: number }>`
        select (extract(epoch from t.due_at - max(e.at)) * 1000)::int as "gapMs"
          from task t join task_event e on e.task_id = t.id and e.type = 'attempt_failed'
         where t.id = ${id} group by t.due_at`.execute(database.db)
    return rows[0]?.gapMs ?? Number.NaN
  }

  it('the next worker takes over a lapsed claim in the same run as another attempt', async () => {
    const { db } = database
    const dead = await givenClaimed(db, await givenWorkspace(db))
    expect(await claimNext(db, [dead.modelVersion])).toBeUndefined()
    await lapseClaim(db, dead)
    const next = await claimNext(db, [dead.modelVersion])
    expect(next).toMatchObject({ id: dead.id, run: dead.run, attempt: 2 })
    expect(next?.claim).not.toBe(dead.claim)
    expect(await readHistory(db, dead.id)).toEqual(['queued', 'processing'])
  })

  it('five attempts are 1, 5, 15 and 60 s apart, then the task fails and waits for the dead-letter stream', async () => {
    const { db } = database
    const first = await givenClaimed(db, await givenWorkspace(db), { callbackUrl: 'http://receiver.example/' })
    const gaps: number[] = []
    let claim = first
    for (;;) {
      const outcome = await failAttempt(db, claim, 'INFERENCE_ERROR')
      if (typeof outcome !== 'string') break
      expect(outcome).toBe('waiting')
      const gapMs = await gapAfterFailure(first.id)
      gaps.push(gapMs)
      // A slow machine could see the end of the first pause.
      if (gapMs > 1_000) expect(await claimNext(db, [first.modelVersion])).toBeUndefined()
      await makeDue(db, first)
      const next = await claimNext(db, [first.modelVersion])
      if (next === undefined) throw new Error('a due attempt was not claimed')
      claim = next
    }
    expect(gaps).toEqual([1_000, 5_000, 15_000, 60_000])
    expect(await readTask(db, first.id)).toMatchObject({
      status: 'failed',
      attempt: 5,
      failure_reason: 'INFERENCE_ERROR',
      dead_letter: 'due',
      claim: null,
    })
    const failed = ['attempt_failed', 'attempt_failed', 'attempt_failed', 'attempt_failed']
    expect(await readHistory(db, first.id)).toEqual(['queued', 'processing', ...failed, 'failed', 'dead_letter'])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it.each(failureReasons.filter(isInputFailure))('%s fails the task at the first attempt', async (reason) => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    expect(await failAttempt(db, claim, reason)).toMatchObject({ status: 'failed' })
    expect(await readTask(db, claim.id)).toMatchObject({
      status: 'failed',
      failure_reason: reason,
      dead_letter: null,
    })
  })

  it('a released claim costs no attempt and is due immediately, every time', async () => {
    const { db } = database
    let claim = await givenClaimed(db, await givenWorkspace(db))
    for (let round = 0; round < 12; round++) {
      expect(await giveBackClaim(db, claim, 0)).toEqual({ id: claim.id })
      const next = await claimNext(db, [claim.modelVersion])
      expect(next).toMatchObject({ id: claim.id, attempt: 1 })
      if (next) claim = next
    }
  })

  it('a claim released with a delay is not due earlier', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    await giveBackClaim(db, claim, 600_000)
    expect(await claimNext(db, [claim.modelVersion])).toBeUndefined()
    expect(await readTask(db, claim.id)).toMatchObject({ status: 'processing', attempt: 0, claim: null })
  })

  it('a renewed claim lives on; a lapsed claim cannot be renewed even if no worker took the task', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    const before = await readTask(db, claim.id)
    const renewed = await renewClaim(db, claim, 3_600_000)
    expect(renewed?.claimed_until?.getTime()).toBeGreaterThan(before.claimed_until?.getTime() ?? Infinity)
    await lapseClaim(db, claim)
    expect(await renewClaim(db, claim, 3_600_000)).toBeUndefined()
  })

  it('no attempt follows the last one', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    await sql`update task set attempt = 5, claimed_until = now() where id = ${claim.id}`.execute(db)
    expect(await claimNext(db, [claim.modelVersion])).toBeUndefined()
  })

  it('only the worker with the claim takes an injected fault, once', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    await sql`update task set fault_attempts = 1 where id = ${claim.id}`.execute(db)
    expect(await takeInjectedFault(db, { ...claim, claim: crypto.randomUUID() })).toBe(false)
    expect(await takeInjectedFault(db, claim)).toBe(true)
    expect(await takeInjectedFault(db, claim)).toBe(false)
  })
})
