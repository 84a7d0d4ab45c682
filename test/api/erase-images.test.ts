import { failAttempt } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { admin as runAdmin } from '../support/admin.ts'
import { givenPerson } from '../support/app/people.ts'
import type { Task } from '../support/client.ts'
import { type Caller, claim, smallImage, succeed, useApi } from './given.ts'

const world = useApi()
const admin = (...args: string[]) => runAdmin(args, { DATABASE_URL: world.databaseUrl })

const erase = async ({ client }: Pick<Caller, 'client'>, id: string): Promise<Task> =>
  (await client.call<Task>('DELETE', `/tasks/${id}/images`)).data

async function givenTask(plan = 'internal') {
  const caller = await world.caller({ plan, credits: 10 })
  const objectKey = await caller.client.upload(await smallImage(), { fileName: 'secret.png' })
  const { id } = await caller.client.createTask({ imageUrl: objectKey })
  return { ...caller, objectKey, id }
}

const doomed = async (): Promise<string[]> => {
  const { rows } = await sql<{ key: string }>`
    select object_key as key from object_deletion where due_at <= now() order by 1`.execute(world.db)
  return rows.map(({ key }) => key)
}

const fail = async (id: string) => failAttempt(world.db, await claim(world.db, id), 'INPUT_UNREADABLE')

describe('DELETE /open/developer/tasks/{taskId}/images', () => {
  it.each([
    ['succeeded', (id: string) => succeed(world.db, id)],
    ['failed', fail],
    ['canceled', (_id: string, cancel: () => Promise<unknown>) => cancel()],
  ])('erases a task that is %s, once and again', async (status, move) => {
    const given = await givenTask()
    await move(given.id, () => given.client.cancelTask(given.id))
    const erased = await erase(given, given.id)
    expect(erased).toMatchObject({ id: given.id, status, resultUrl: null, erasedAt: expect.any(String) })
    expect(erased.sourceUrl).not.toContain('secret')
    expect(given.objectKey.startsWith(erased.sourceUrl)).toBe(true)
    const keys = await doomed()
    expect(keys).toContain(given.objectKey)
    expect(keys.some((key) => key.startsWith('results/') && key.endsWith(`/${given.id}/`))).toBe(true)
    expect(await erase(given, given.id)).toEqual(erased)
    const { rows } = await sql<{ action: string }>`
      select action from audit_entry where target = ${given.id} and action = 'eraseTaskImages'`.execute(world.db)
    expect(rows).toHaveLength(2)
  })

  it.each([
    ['queued', 'Cancel it first', async () => undefined],
    ['processing', 'Wait for its end', (id: string) => claim(world.db, id)],
  ])('refuses a task that is %s, and says what to do', async (status, advice, move) => {
    const given = await givenTask()
    await move(given.id)
    const refused = { status: 409, code: 'CONFLICT', message: expect.stringContaining(advice), details: { status } }
    await expect(erase(given, given.id)).rejects.toMatchObject(refused)
    expect(await given.client.getTask(given.id)).toMatchObject({ status, sourceUrl: given.objectKey, erasedAt: null })
    expect(await doomed()).not.toContain(given.objectKey)
  })

  it('refuses while another task uses the photo; afterwards that one keeps its result, without the name', async () => {
    const given = await givenTask()
    const { client } = given
    await succeed(world.db, given.id)
    const other = await client.createTask({ imageUrl: given.objectKey })
    const refused = { status: 409, code: 'CONFLICT', details: { taskIds: [other.id] } }
    await expect(erase(given, given.id)).rejects.toMatchObject(refused)
    await succeed(world.db, other.id)
    await erase(given, given.id)
    const kept = await client.getTask(other.id)
    expect(kept).toMatchObject({ resultUrl: expect.any(String), erasedAt: null })
    expect(kept.sourceUrl).not.toContain('secret')
    await expect(client.createTask({ imageUrl: given.objectKey })).rejects.toMatchObject({
      code: 'TASK_INPUT_FORBIDDEN',
    })
  })

  it('erases one child of a batch', async () => {
    const given = await givenTask()
    const imageUrls = [await given.client.upload(await smallImage()), await given.client.upload(await smallImage())]
    const { data } = await given.client.call<{ id: string; tasks: Task[] }>('POST', '/batch-tasks', {
      body: { imageUrls },
    })
    const [first] = data.tasks
    for (const { id } of data.tasks) await succeed(world.db, id)
    await erase(given, first?.id ?? '')
    const { data: read } = await given.client.call<{ tasks: Task[] }>('GET', `/batch-tasks/${data.id}`)
    expect(read.tasks.map(({ resultUrl }) => resultUrl === null)).toEqual([true, false])
  })

  it('leaves a failed task that cannot be retried', async () => {
    const given = await givenTask()
    await fail(given.id)
    await erase(given, given.id)
    const refused = { code: 'TASK_NOT_RETRYABLE', message: expect.stringContaining('erased') }
    await expect(given.client.call('POST', `/tasks/${given.id}/retry`)).rejects.toMatchObject(refused)
  })

  it('erases the background that a door left behind, with its name', async () => {
    const given = await givenTask()
    const background = await given.client.upload(await smallImage(), { fileName: 'hidden.png' })
    const door = JSON.stringify({ kind: 'background', objectKey: background, etag: 'x', sizeBytes: 1 })
    await sql`update task set door = ${door}::jsonb where id = ${given.id}`.execute(world.db)
    await succeed(world.db, given.id)
    await erase(given, given.id)
    expect(await doomed()).toContain(background)
    const { rows } = await sql`
      select 1 from task where id = ${given.id} and task::text like '%hidden%'`.execute(world.db)
    expect(rows).toEqual([])
  })

  it('gives no link, preview or photo of an erased task to members', async () => {
    const given = await givenTask()
    const { client, accessToken } = await givenPerson(world.db, world.api, {
      member: { workspaceId: given.workspaceId, role: 'member' },
    })
    await succeed(world.db, given.id)
    const { data } = await client.call('DELETE', `/tasks/images/${given.id}/images`)
    expect(data).toMatchObject({ erasedAt: expect.any(String) })
    for (const what of ['download', 'input']) {
      const refused = { status: 409, code: 'CONFLICT', message: expect.stringContaining('erased') }
      await expect(client.call('GET', `/tasks/images/${given.id}/${what}`)).rejects.toMatchObject(refused)
    }
    const headers = { authorization: `Bearer ${accessToken}` }
    const preview = await fetch(`${world.api.url}/api/v1/app/tasks/images/${given.id}/preview`, { headers })
    expect(preview.status).toBe(409)
  })

  it('responds DEVELOPER_TASK_NOT_FOUND for a task of another workspace and for no id', async () => {
    const [given, other] = [await givenTask(), await world.caller()]
    await succeed(world.db, given.id)
    const notFound = { status: 404, code: 'DEVELOPER_TASK_NOT_FOUND' }
    await expect(erase(other, given.id)).rejects.toMatchObject(notFound)
    await expect(erase(other, 'nothing')).rejects.toMatchObject(notFound)
    expect(await given.client.getTask(given.id)).toMatchObject({ erasedAt: null })
  })

  it('has one outcome in a race with creations on the photo', async () => {
    const given = await givenTask()
    await succeed(world.db, given.id)
    const creations = Array.from({ length: 10 }, () =>
      given.client.createTask({ imageUrl: given.objectKey }).then(
        () => 'created',
        ({ code }) => code as string,
      ),
    )
    const erasure = await erase(given, given.id).then(
      () => 'erased',
      ({ code }) => code as string,
    )
    const outcomes = await Promise.all(creations)
    const isErased = erasure === 'erased'
    expect([isErased, outcomes.includes('created')].sort()).toEqual([false, true])
  })
})

describe('retention', () => {
  const create = async (body: object, plan = 'pro') => {
    const { client } = await world.caller({ plan })
    return client.createTask({ imageUrl: await client.upload(await smallImage()), ...body })
  }

  it('of a task is 10 minutes at least', async () => {
    expect(await create({ retention: 600 })).toMatchObject({ retention: 600 })
    expect(await create({ retention: null })).toMatchObject({ retention: null })
    for (const retention of [599, 0, -600, 600.5, '10m']) {
      await expect(create({ retention })).rejects.toMatchObject({
        code: 'INVALID_PARAMS',
        details: { issues: [{ path: '/body/retention' }] },
      })
    }
  })

  it('of a task or batch is at most the days of the plan', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await smallImage())
    const days = 30 * 86_400
    expect(await client.createTask({ imageUrl, retention: days })).toMatchObject({ retention: days })
    const issues = [{ path: '/body/retention', message: expect.stringContaining(`${days}`) }]
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues } }
    await expect(client.createTask({ imageUrl, retention: days + 1 })).rejects.toMatchObject(refused)
    const batch = (retention: number) =>
      client.call<{ tasks: Task[] }>('POST', '/batch-tasks', { body: { imageUrls: [imageUrl], retention } })
    await expect(batch(days + 1)).rejects.toMatchObject(refused)
    expect((await batch(3_600)).data.tasks).toMatchObject([{ retention: 3_600 }])
  })

  it('of a workspace is read by members, and changed by owners and admins', async () => {
    const { workspaceId } = await world.caller({ plan: 'pro' })
    const of = (role: 'owner' | 'admin' | 'billing' | 'member') =>
      givenPerson(world.db, world.api, { member: { workspaceId, role } })
    const [owner, member, billing] = [await of('owner'), await of('member'), await of('billing')]
    const url = '/tasks/retention'
    const max = 30 * 86_400
    expect((await member.client.call('GET', url)).data).toEqual({ retention: null, effective: max, min: 600, max })
    const set = ({ client }: typeof owner, retention: unknown) => client.call('PUT', url, { body: { retention } })
    expect((await set(owner, 600)).data).toEqual({ retention: 600, effective: 600, min: 600, max })
    expect((await billing.client.call('GET', url)).data).toMatchObject({ retention: 600 })
    for (const person of [member, billing]) {
      await expect(set(person, null)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    }
    for (const wrong of [599, max + 1, '600', undefined]) {
      await expect(set(owner, wrong)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    }
    expect((await set(await of('admin'), null)).data).toMatchObject({ retention: null, effective: max })
  })

  it('of a workspace is set by operators too', async () => {
    const { workspaceId } = await world.caller({ plan: 'pro' })
    const set = (seconds: string) => admin('workspace', 'retention', '--workspace', workspaceId, '--seconds', seconds)
    expect(await set('3600')).toMatchObject({ workspaceId, retention: 3_600, effective: 3_600 })
    expect(await set('default')).toMatchObject({ retention: null, effective: 30 * 86_400 })
    for (const wrong of ['599', '2592001', 'never']) await expect(set(wrong)).rejects.toThrow(/--seconds must be/)
    const unknown = admin('workspace', 'retention', '--workspace', crypto.randomUUID(), '--seconds', '600')
    await expect(unknown).rejects.toThrow(/there is no workspace/)
  })
})

describe('DEFAULT_RETENTION_SECONDS', () => {
  const brief = useApi({ DEFAULT_RETENTION_SECONDS: '3600' })

  it('is in force for workspaces that have not chosen, and can be exceeded up to the plan', async () => {
    const { client } = await givenPerson(brief.db, brief.api)
    const read = async () => (await client.call('GET', '/tasks/retention')).data
    expect(await read()).toMatchObject({ retention: null, effective: 3_600, max: 30 * 86_400 })
    await client.call('PUT', '/tasks/retention', { body: { retention: 86_400 } })
    expect(await read()).toMatchObject({ retention: 86_400, effective: 86_400 })
  })
})
