// Erasure and chosen retention with all processes: every copy in the store, links to it, and webhooks on their way.
import { previewKey, resultKey } from '@matte/core/storage/object-key'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Task } from '../support/client.ts'
import { onePixelPng, readTask } from '../support/factories.ts'
import { lemur } from '../support/photos.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { useStack } from '../support/stack.ts'
import { cutOut, download, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'

const png = { contentType: 'image/png' }

describe('DELETE /tasks/{taskId}/images', () => {
  const stack = useStack({ env: { worker: { RETENTION_EVERY_MS: '100' } } })
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  const erase = async (id: string) => (await stack.client.call<Task>('DELETE', `/tasks/${id}/images`)).data

  async function givenCutOut(more: Record<string, unknown> = {}): Promise<Task> {
    const imageUrl = await stack.client.upload(lemur(), { fileName: 'secret-holiday.jpg', contentType: 'image/jpeg' })
    const { id } = await stack.client.createTask({ imageUrl, ...more })
    return untilStatus(stack.client, id, 'succeeded')
  }

  /** Keys of the task's photo and results that the store holds. */
  const keysOf = async (task: Task): Promise<string[]> =>
    (await stack.bucket.keys()).filter((key) => key.includes(`/${task.id}/`) || key === task.sourceUrl)

  const untilGone = (task: Task) => until('its images are gone', async () => (await keysOf(task)).length === 0)

  /** Stores the preview that an App would have, and a result of a worker that lost its claim. */
  async function giveCopies({ id }: Task): Promise<string[]> {
    const { created_at: createdAt, result_key: key } = await readTask(stack.db, id)
    const lost = resultKey({ id, run: 1, claim: crypto.randomUUID(), createdAt }, 'png')
    const copies = [previewKey({ id, createdAt, resultKey: key ?? '' }), lost]
    for (const copy of copies) await stack.bucket.put(copy, onePixelPng, png)
    return copies
  }

  it('deletes photo, result, preview and unrecorded results, ends links, and keeps the task without file name', async () => {
    const { client, db } = stack
    const task = await givenCutOut()
    await giveCopies(task)
    expect(await keysOf(task)).toHaveLength(4)
    await download(task.resultUrl)
    const erased = await erase(task.id)
    expect(erased).toMatchObject({ id: task.id, status: 'succeeded', resultUrl: null, erasedAt: expect.any(String) })
    await untilGone(task)
    expect((await fetch(task.resultUrl ?? '')).status).toBe(404)
    const read = await client.getTask(task.id)
    expect(read).toEqual(erased)
    expect(read).toMatchObject({ width: task.width, completedAt: task.completedAt })
    expect(`${task.sourceUrl}`).toContain('secret-holiday')
    expect(JSON.stringify([read, await client.listTasks()])).not.toContain('secret-holiday')

    // Once no upload of the photo can be on its way any more, the database does not know the name either.
    await sql`update object_deletion set due_at = now(), again_at = null`.execute(db)
    await until('nothing is left to delete', async () => (await linesLeft()) === 0)
    expect(await tablesWith('secret-holiday')).toEqual([])

    // The task goes at the end of its retention, and with it the rest of the photo's row.
    await sql`update task set completed_at = completed_at - interval '31 days' where id = ${task.id}`.execute(db)
    await sql`update workspace set retention_at = now() where id = ${stack.workspaceId}`.execute(db)
    await until('the task is gone', () => isGone(task.id))
    await sql`update object_deletion set due_at = now()`.execute(db)
    await until('nothing is left to delete', async () => (await linesLeft()) === 0)
    expect((await sql`select 1 from upload`.execute(db)).rows).toEqual([])
  })

  it('deletes what a late writer stores after the first deletion', async () => {
    const task = await givenCutOut()
    const copies = await giveCopies(task)
    await erase(task.id)
    await untilGone(task)
    for (const key of [...copies, task.sourceUrl]) await stack.bucket.put(key, onePixelPng, png)
    expect(await keysOf(task)).toHaveLength(3)
    await sql`update object_deletion set due_at = now()`.execute(stack.db)
    await untilGone(task)
    await until('nothing is left to delete', async () => (await linesLeft()) === 0)
  })

  it('deletes the photo again once its grant can no longer write to it', async () => {
    const task = await givenCutOut()
    await erase(task.id)
    await untilGone(task)
    const { rows } = await sql<{ what: string; seconds: number }>`
      select split_part(object_key, '/', 1) as what,
             extract(epoch from due_at - now())::int as seconds from object_deletion order by 1`.execute(stack.db)
    expect(rows.map(({ what }) => what)).toEqual(['private-uploads', 'results'])
    expect(rows[0]?.seconds).toBeGreaterThan(14 * 60)
    expect(rows[1]?.seconds).toBeLessThanOrEqual(60)
    await sql`delete from object_deletion`.execute(stack.db)
  })

  it('deletes a task with its images 10 minutes after its end, if it was created so, and no other', async () => {
    const { client, db } = stack
    const [kept, brief] = [await givenCutOut(), await givenCutOut({ retention: 600 })]
    expect([kept, brief]).toMatchObject([{ retention: null }, { retention: 600 }])
    const link = brief.resultUrl ?? ''
    await sql`update task set completed_at = completed_at - interval '9 minutes'
               where id = any(${[kept.id, brief.id]}::uuid[])`.execute(db)
    await until('the sweep has looked', () => hasSwept())
    expect(await client.getTask(brief.id)).toMatchObject({ status: 'succeeded' })
    await sql`update task set completed_at = completed_at - interval '1 minute'
               where id = any(${[kept.id, brief.id]}::uuid[])`.execute(db)
    await until('the task is gone', () => isGone(brief.id))
    await untilGone(brief)
    expect((await fetch(link)).status).toBe(404)
    expect(await client.getTask(kept.id)).toMatchObject({ status: 'succeeded' })
    expect(await keysOf(kept)).toHaveLength(2)
  })

  it('still sends the webhook of a task whose retention ended before it was delivered', async () => {
    const { db } = stack
    receiver.answerWith(...Array<number>(3).fill(500))
    const { id } = await givenCutOut({ retention: 600, callbackUrl: receiver.url })
    await receiver.until(1)
    await sql`update delivery set due_at = now() + interval '1 hour' where task_id = ${id} and status = 'pending'`.execute(
      db,
    )
    await sql`update task set completed_at = completed_at - interval '10 minutes' where id = ${id}`.execute(db)
    await until('the task is gone', () => isGone(id))
    const before = receiver.received.length
    receiver.answerWith()
    await sql`update delivery set due_at = now() where workspace_id = ${stack.workspaceId} and status = 'pending'`.execute(
      db,
    )
    await until('the webhook is delivered', async () => {
      const { rows } = await sql`
        select 1 from delivery where workspace_id = ${stack.workspaceId} and body like ${`%${id}%`}
           and status = 'delivered'`.execute(db)
      return rows.length === 1
    })
    expect(receiver.received.length).toBeGreaterThan(before)
  })

  it('keeps tasks as long as the workspace chose, also those that have ended', async () => {
    const { db } = stack
    const [brief, own] = [await givenCutOut(), await givenCutOut({ retention: 86_400 })]
    await sql`update task set completed_at = completed_at - interval '2 hours'
               where id = any(${[brief.id, own.id]}::uuid[])`.execute(db)
    await sql`update workspace set retention_seconds = 3600 where id = ${stack.workspaceId}`.execute(db)
    await until('the task is gone', () => isGone(brief.id))
    await untilGone(brief)
    expect(await stack.client.getTask(own.id)).toMatchObject({ status: 'succeeded', retention: 86_400 })
    await sql`update workspace set retention_seconds = null where id = ${stack.workspaceId}`.execute(db)
  })

  const isGone = (id: string) =>
    stack.client.getTask(id).then(
      () => false,
      ({ code }) => code === 'DEVELOPER_TASK_NOT_FOUND',
    )

  async function linesLeft(): Promise<number> {
    const { rows } = await sql`select 1 from object_deletion`.execute(stack.db)
    return rows.length
  }

  /** A pass that began after this call has looked at the workspace. */
  async function hasSwept(): Promise<boolean> {
    const past = sql`update workspace set retention_at = now() - interval '1 second' where id = ${stack.workspaceId}`
    await past.execute(stack.db)
    await until('the workspace is looked at', async () => {
      const { rows } = await sql`
        select 1 from workspace where id = ${stack.workspaceId} and retention_at > now()`.execute(stack.db)
      return rows.length === 1
    })
    return true
  }

  async function tablesWith(text: string): Promise<string[]> {
    const { rows: tables } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables
       where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(stack.db)
    const found: string[] = []
    for (const { name } of tables) {
      const { rows } = await sql`
        select 1 from ${sql.table(name)} t where strpos(t::text, ${text}) > 0 limit 1`.execute(stack.db)
      if (rows.length > 0) found.push(name)
    }
    return found
  }
})

describe('while the object store is gone', () => {
  const stack = useStack({ own: ['store'], processes: ['api', 'worker'] })

  it('an erasure is accepted, and happens once the store answers, although the worker died in between', async () => {
    const { client, db } = stack
    const { id } = await cutOut(client)
    const store = stack.server('store')
    await store.kill('SIGKILL')
    const { data } = await client.call<Task>('DELETE', `/tasks/${id}/images`)
    expect(data).toMatchObject({ id, resultUrl: null })
    await until('the worker has tried', async () => {
      const { rows } = await sql`select 1 from object_deletion where due_at > now() + interval '5 seconds'`.execute(db)
      return rows.length === 2
    })
    await stack.process('worker').kill('SIGKILL')
    await store.start()
    expect(await stack.bucket.keys()).toHaveLength(2)
    await sql`update object_deletion set due_at = now()`.execute(db)
    await stack.start('worker')
    await until('its images are gone', async () => (await stack.bucket.keys()).length === 0)
  })
})

describe('with a default of the installation', () => {
  const env = { DEFAULT_RETENTION_SECONDS: '3600' }
  const stack = useStack({ env: { worker: { ...env, RETENTION_EVERY_MS: '100' }, api: env }, processes: ['api'] })

  it('tasks of every workspace without a choice are deleted after it, from the start of the worker on', async () => {
    const { client, db } = stack
    const usual = await stack.start('worker', { DEFAULT_RETENTION_SECONDS: '' })
    const { id } = await cutOut(client)
    await until('the next look is far ahead', async () => {
      const { rows } = await sql`select 1 from workspace where retention_at > now() + interval '2 hours'`.execute(db)
      return rows.length === 1
    })
    await usual.stop()
    await sql`update task set completed_at = completed_at - interval '2 hours' where id = ${id}`.execute(db)
    await stack.start('worker')
    await until('the images are gone', async () => (await stack.bucket.keys()).length === 0)
    await expect(client.getTask(id)).rejects.toMatchObject({ code: 'DEVELOPER_TASK_NOT_FOUND' })
  })
})
