// Retention in two processes at once, against the real store. The test changes times in the rows.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useStack } from '../support/stack.ts'
import { cutOut } from '../support/tasks.ts'
import { until } from '../support/until.ts'

describe('two controllers that sweep', () => {
  const stack = useStack({ env: { worker: { RETENTION_EVERY_MS: '100' } }, processes: ['api', 'worker'] })

  it('delete an old task and, 8 days later, its objects, and leave a young one', async () => {
    const { client, db, bucket } = stack
    await stack.start('worker')
    const [old, young] = [await cutOut(client), await cutOut(client)]
    const before = await bucket.keys()
    const kept = await ownKeys(young.id)
    expect(before).toHaveLength(4)

    await sql`update task set completed_at = completed_at - interval '31 days' where id = ${old.id}`.execute(db)
    await sql`update workspace set retention_at = now() where id = ${stack.workspaceId}`.execute(db)
    await until('the old task is gone', () =>
      client.getTask(old.id).then(
        () => false,
        ({ code }) => code === 'DEVELOPER_TASK_NOT_FOUND',
      ),
    )
    expect(await bucket.keys()).toEqual(before)
    const lines = await db.selectFrom('object_deletion').select('object_key').execute()
    expect(lines).toHaveLength(2) // its input image and its result

    await sql`update object_deletion set due_at = due_at - interval '8 days'`.execute(db)
    await until('its lines are gone', async () => {
      const left = await db.selectFrom('object_deletion').select('object_key').execute()
      return left.length === 0
    })
    expect(await bucket.keys()).toEqual(kept)
    expect(await client.getTask(young.id)).toMatchObject({ status: 'succeeded' })
    const errors = stack.process('worker').log()
    expect(errors.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('delete an unused upload after a day, and expire credits', async () => {
    const { client, db, bucket, workspaceId } = stack
    const unused = await client.upload(Buffer.from('not even an image'))
    await sql`update upload set created_at = created_at - interval '25 hours' where object_key = ${unused}`.execute(db)
    await sql`insert into credit_lot (workspace_id, kind, granted, available, expires_at)
              values (${workspaceId}, 'test', 3, 3, now())`.execute(db)
    await until('the object is gone', async () => !(await bucket.keys()).includes(unused))
    await until('the credits have expired', async () => {
      const lots = await db.selectFrom('credit_lot').select('expired').where('workspace_id', '=', workspaceId).execute()
      return lots[0]?.expired === 3
    })
  })

  async function ownKeys(id: string): Promise<string[]> {
    const { source_key: source, result_key: result } = await stack.db
      .selectFrom('task')
      .select(['source_key', 'result_key'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    return [source, result ?? ''].sort()
  }
})
