// A failure in one part of a sweep, or one workspace, does not stop the others.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { givenClaimed, givenWorkspace, readTask } from '../support/factories.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'

describe('the sweeper of the controller', () => {
  const stack = useStack({ own: ['nats'], processes: ['worker'] })

  it('deletes expired records while NATS is unavailable, and publishes waiting dead letters later', async () => {
    const { db } = stack
    const nats = stack.server('nats')
    const controller = stack.process('worker')
    await nats.kill('SIGKILL')
    await controller.untilLogged('bus disconnected')
    const workspace = await givenWorkspace(db)
    const task = await givenClaimed(db, workspace)
    await sql`update task set attempt = 5, claimed_until = now() where id = ${task.id}`.execute(db)
    await until('the task waits for the stream', async () => (await readTask(db, task.id)).dead_letter === 'due')
    await sql`
      insert into idempotency_record (workspace_id, method, path, key, body_hash, created_at)
      values (${workspace.id}, 'POST', '/tasks', 'old', sha256(''), now() - interval '25 hours')`.execute(db)
    await sql`
      insert into personal_idempotency_record (user_id, method, path, key, body_hash, created_at)
      values (gen_random_uuid(), 'POST', '/teams', 'old', sha256(''), now() - interval '25 hours')`.execute(db)
    await until('the records are deleted', async () => {
      const { rows } = await sql`
        select from idempotency_record union all select from personal_idempotency_record`.execute(db)
      return rows.length === 0
    })
    expect(await readTask(db, task.id)).toMatchObject({ dead_letter: 'due' })
    expect(await controller.untilLogged('part of a sweep failed')).toMatchObject({ part: 'dead_letters' })
    await nats.start()
    await until('the letter is handed over', async () => (await readTask(db, task.id)).dead_letter === 'done')
    const metrics = await (await fetch(`${controller.healthUrl}/metrics`)).text()
    expect(metrics).toMatch(/matte_sweep_failures_total\{[^}]*part="dead_letters"[^}]*\} [1-9]/)
  })
})
