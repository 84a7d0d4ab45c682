// `POST /cut-outs`: an image in, its cut-out back.
import { createHash, randomUUID } from 'node:crypto'
import { readBalance } from '@matte/core/credit/balance'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { finishTask } from '@matte/core/task/run/finish-task'
import sharp from 'sharp'
import { beforeAll, describe, expect, it } from 'vitest'
import { startApi } from '../support/api.ts'
import { exposedAt } from '../support/app/exposed.ts'
import { createClient, type Task } from '../support/client.ts'
import { lemur } from '../support/photos.ts'
import { openRequest } from '../support/raw-request.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { countTasks, countUnusedUploads, formOf, untilTask } from './doors.ts'
import { type Caller, claim, givenCaller, smallImage, succeed, useApi } from './given.ts'

const mb = 1_048_576
const path = '/api/v1/open/developer/cut-outs'

type Sent = {
  readonly query?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
  readonly url?: string
}
type Body = NonNullable<RequestInit['body']>

const sender =
  (urlOf: () => string) =>
  ({ apiKey }: Pick<Caller, 'apiKey'>, body: Body, { query = '', headers, signal, url = urlOf() }: Sent = {}) =>
    fetch(`${url}${path}${query}`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, ...headers },
      body,
      ...(body instanceof ReadableStream && { duplex: 'half' }),
      ...(signal && { signal }),
    } as RequestInit)

const form = async (fields: Record<string, string> = {}, bytes?: Uint8Array) =>
  formOf(fields, { name: 'file', bytes: bytes ?? (await smallImage()) })

const raw = (type = 'image/png') => ({ headers: { 'content-type': type } })

type Issue = { readonly path: string; readonly message: string }
type Failure = { code: string; message: string; details: { issues?: Issue[] } & Record<string, unknown> }
const failureOf = async (response: Response): Promise<Failure> => ((await response.json()) as { error: Failure }).error
const taskOf = async (response: Response): Promise<Task> => ((await response.json()) as { data: Task }).data

describe('with a worker', () => {
  const stack = useStack({ processes: ['api', 'worker'] })
  const send = sender(() => stack.process('api').url)
  let caller: Caller
  beforeAll(async () => {
    const api = { client: (key: string) => createClient(stack.process('api').url, key) }
    caller = await givenCaller(stack.db, api, { credits: 3 })
  })

  it('a form is answered with the cut-out, its task and its box, for one credit', async () => {
    const response = await send(caller, await form({}, lemur()))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
    const bytes = Buffer.from(await response.arrayBuffer())
    const { width, height } = await sharp(lemur()).metadata()
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width, height, channels: 4 })
    const id = response.headers.get('x-task-id') ?? ''
    expect(response.headers.get('location')).toBe(`/api/v1/open/developer/tasks/${id}`)
    const task = await caller.client.getTask(id)
    expect(task).toMatchObject({ status: 'succeeded', sourceUrl: expect.stringContaining('photo.png') })
    const { top, left, width: w, height: h } = task.foreground ?? {}
    expect(response.headers.get('x-foreground')).toBe(`top=${top}, left=${left}, width=${w}, height=${h}`)
    expect(Number(response.headers.get('x-confidence'))).toBe(task.confidence)
    expect(await readBalance(stack.db, caller.workspaceId)).toMatchObject({ available: 2, held: 0 })
  })

  it('the raw image makes the same cut-out as the form, with the output of the query', async () => {
    const output = { format: 'jpeg', background: '#ff0000', crop: 'true', maxSide: '64' }
    const responses = [
      await send(caller, await form(output, lemur())),
      await send(caller, lemur(), { ...raw(), query: `?${new URLSearchParams(output)}` }),
    ]
    const hashes = new Set<string>()
    for (const response of responses) {
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
      const bytes = Buffer.from(await response.arrayBuffer())
      const { width = 0, height = 0 } = await sharp(bytes).metadata()
      expect(Math.max(width, height)).toBe(64)
      hashes.add(createHash('sha256').update(bytes).digest('hex'))
    }
    expect(hashes.size).toBe(1)
  })
})

describe('POST /cut-outs', () => {
  // Without a worker, tasks stay queued; a task of these tests ends when the test says so.
  const world = useApi({ TASKS_MAX_WAIT: '20' })
  const send = sender(() => world.api.url)
  const now = { headers: { prefer: 'wait=0' } }

  it('answers 202 with the queued task at the end of the wait, and leaves it', async () => {
    const caller = await world.caller()
    const response = await send(caller, await form(), now)
    expect([response.status, response.headers.get('preference-applied')]).toEqual([202, 'wait=0'])
    const task = await taskOf(response)
    expect(task).toMatchObject({ status: 'queued', creditCost: 1 })
    expect(response.headers.get('location')).toBe(`/api/v1/open/developer/tasks/${task.id}`)
    expect((await caller.client.getTask(task.id)).status).toBe('queued')
  })

  it('leaves the task when the client disconnects', async () => {
    const caller = await world.caller()
    const leaving = new AbortController()
    const left = send(caller, await form(), { signal: leaving.signal }).catch(() => 'left')
    await untilTask(world, caller.workspaceId, 'queued')
    leaving.abort()
    expect(await left).toBe('left')
    await until('the API notices', async () => {
      const inWork = await exposedAt(world.api.healthUrl, 'matte_http_requests_in_flight', {})
      return inWork === 0
    })
    expect((await untilTask(world, caller.workspaceId, 'queued')).id).toBeTruthy()
  })

  it('answers the task for Accept: application/json', async () => {
    const caller = await world.caller()
    const answer = send(caller, await form(), { headers: { accept: 'application/json' } })
    const { id } = await untilTask(world, caller.workspaceId, 'queued')
    await succeed(world.db, id)
    const response = await answer
    expect([response.status, await taskOf(response)]).toMatchObject([200, { id, status: 'succeeded', width: 40 }])
  })

  it.each([
    ['INPUT_UNREADABLE', 400, 'TASK_FORMAT_NOT_SUPPORTED', false],
    ['INPUT_TOO_LARGE', 400, 'TASK_FILE_SIZE_EXCEEDED', false],
    ['INTERNAL', 500, 'SYSTEM_INTERNAL_ERROR', true],
  ] as const)('answers a task that failed with %s by status %i', async (reason, status, code, retryable) => {
    const caller = await world.caller()
    const answer = send(caller, await form())
    const { id } = await untilTask(world, caller.workspaceId, 'queued')
    const deadLetter = reason === 'INTERNAL'
    await finishTask(world.db, await claim(world.db, id), { status: 'failed', reason, deadLetter })
    const response = await answer
    expect([response.status, response.headers.get('x-task-id')]).toEqual([status, id])
    expect(await failureOf(response)).toMatchObject({ code, details: { taskId: id, reason, retryable } })
  })

  it('answers a canceled task as CONFLICT', async () => {
    const caller = await world.caller()
    const answer = send(caller, await form())
    const { id } = await untilTask(world, caller.workspaceId, 'queued')
    await caller.client.cancelTask(id)
    expect([(await answer).status, await failureOf(await answer)]).toMatchObject([409, { code: 'CONFLICT' }])
  })

  it('keeps the fields of a task: model, callback and retention', async () => {
    const caller = await world.caller()
    const fields = { modelVersion: 'service-v2', callbackUrl: 'https://93.184.216.34/hook', retention: '600' }
    const created = await taskOf(await send(caller, await form(fields), now))
    expect(created).toMatchObject({ ...fields, retention: 600 })
  })

  it('gives the output that a task has by its JSON body', async () => {
    const caller = await world.caller({ plan: 'internal' })
    const output = {
      format: 'webp',
      crop: true,
      maxSide: 64,
      roi: { left: '0px', top: '0px', right: '50%', bottom: '9px' },
    }
    const texts = { format: 'webp', crop: 'true', maxSide: '64', roi: JSON.stringify(output.roi), scale: '' }
    const imageUrl = await caller.client.upload(await smallImage())
    const byBody = await caller.client.createTask({ imageUrl, output })
    const byForm = await taskOf(await send(caller, await form(texts), now))
    const query = `?${new URLSearchParams(texts)}`
    const headers = { ...now.headers, ...raw().headers }
    const byQuery = await taskOf(await send(caller, await smallImage(), { query, headers }))
    const tasks = await world.db.selectFrom('task').selectAll().where('workspace_id', '=', caller.workspaceId).execute()
    const outputs = [byBody, byForm, byQuery].map(({ id }) => tasks.find((task) => task.id === id)?.output)
    expect(outputs[0]).toBeTruthy()
    expect(outputs).toEqual([outputs[0], outputs[0], outputs[0]])
  })

  it.each<[string, Record<string, string>, Issue]>([
    [
      'a misspelled field',
      { formta: 'webp' },
      { path: '/body/formta', message: 'is not known here: did you mean format?' },
    ],
    ['a number in words', { maxSide: 'ten' }, { path: '/body/maxSide', message: 'must be either integer or null' }],
    ['a switch in words', { crop: 'maybe' }, { path: '/body/crop', message: 'must be either boolean or null' }],
    [
      'a misspelled part of a shadow',
      { shadow: '{"kind":"drop","opacty":1}' },
      {
        path: '/body/shadow/opacty',
        message: 'is not known here: did you mean opacity?',
      },
    ],
    ['a shadow that is no JSON', { shadow: 'drop' }, { path: '/body/shadow', message: 'must be JSON' }],
    [
      'an unknown model',
      { modelVersion: 'x' },
      { path: '/body/modelVersion', message: expect.stringContaining('must be one of') },
    ],
    [
      'a region without area',
      { roi: '{"left":"9px","top":"0px","right":"1px","bottom":"9px"}' },
      {
        path: '/body/roi/right',
        message: 'must be more than left',
      },
    ],
    [
      'a retention beyond the plan',
      { retention: '1000000000' },
      { path: '/body/retention', message: expect.any(String) },
    ],
  ])('refuses %s in a form and in a query, and creates nothing', async (_what, fields, issue) => {
    const caller = await world.caller()
    const byForm = await failureOf(await send(caller, await form(fields), now))
    expect(byForm).toMatchObject({ code: 'INVALID_PARAMS', details: { issues: [issue] } })
    const sent = { ...raw(), query: `?${new URLSearchParams(fields)}` }
    const byQuery = await failureOf(await send(caller, await smallImage(), sent))
    const path = issue.path.replace('/body', '/query')
    expect(byQuery).toMatchObject({ code: 'INVALID_PARAMS', details: { issues: [{ ...issue, path }] } })
    expect([await countTasks(world, caller.workspaceId), await countUnusedUploads(world, caller.workspaceId)]).toEqual([
      0, 0,
    ])
  })

  it('ignores unknown fields with Prefer: handling=lenient, and names them', async () => {
    const response = await send(await world.caller(), await form({ colour: 'red' }), {
      headers: { prefer: 'handling=lenient, wait=0' },
    })
    expect([response.status, response.headers.get('x-ignored-fields')]).toEqual([202, 'colour'])
    expect(response.headers.get('preference-applied')).toBe('handling=lenient, wait=0')
  })

  it('refuses a field that is in the form and in the query', async () => {
    const response = await send(await world.caller(), await form({ format: 'webp' }), { query: '?format=png' })
    const issue = { path: '/body/format', message: 'is in the query too: send it once' }
    expect([response.status, await failureOf(response)]).toMatchObject([400, { details: { issues: [issue] } }])
  })

  it.each<[string, () => Promise<[Body, Sent?]>, string]>([
    ['a form without a file', async () => [formOf({ format: 'png' })], '/body/file'],
    ['a file as text', async () => [formOf({ file: 'x' })], '/body/file'],
    [
      'a file under another name',
      async () => {
        const both = await form()
        both.set('image', new Blob(['x']), 'b.png')
        return [both]
      },
      '/body/image',
    ],
    ['JSON', async () => ['{}', raw('application/json')], '/headers/content-type'],
    [
      'the default type of curl',
      async () => [await smallImage(), raw('application/x-www-form-urlencoded')],
      '/headers/content-type',
    ],
    [
      'a query with a field twice',
      async () => [await smallImage(), { ...raw(), query: '?format=png&format=webp' }],
      '/query/format',
    ],
    ['half a form', async () => ['--edge\r\n', raw('multipart/form-data; boundary=edge')], '/body'],
  ])('refuses %s', async (_what, given, path) => {
    const caller = await world.caller()
    const response = await send(caller, ...(await given()))
    const { code, details } = await failureOf(response)
    expect([response.status, code, details.issues?.map((issue) => issue.path)]).toEqual([400, 'INVALID_PARAMS', [path]])
    expect(await countTasks(world, caller.workspaceId)).toBe(0)
  })

  it('refuses bytes that are no photo, whatever their type says', async () => {
    const caller = await world.caller()
    const texts = [await send(caller, 'GIF89a', raw()), await send(caller, await form({}, Buffer.alloc(0)))]
    for (const response of texts) {
      expect([response.status, (await failureOf(response)).code]).toEqual([400, 'TASK_FORMAT_NOT_SUPPORTED'])
    }
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })

  it('refuses an image above the limit of the plan, announced or not', async () => {
    const caller = await world.caller()
    const announced = openRequest({
      url: world.api.url,
      target: `POST ${path}`,
      headers: { 'X-API-Key': caller.apiKey, 'Content-Type': 'image/png', 'Content-Length': String(40 * mb) },
    })
    await until('it is refused before its bytes', () => announced.read().includes('TASK_FILE_SIZE_EXCEEDED'))
    announced.destroy()
    const chunk = Buffer.alloc(12 * mb)
    const chunked = ReadableStream.from([await smallImage(), chunk, chunk])
    const response = await send(caller, chunked, raw())
    expect([response.status, (await failureOf(response)).code]).toEqual([400, 'TASK_FILE_SIZE_EXCEEDED'])
    const inForm = await send(caller, await form({}, Buffer.concat([await smallImage(), chunk, chunk])))
    expect([inForm.status, (await failureOf(inForm)).code]).toEqual([400, 'TASK_FILE_SIZE_EXCEEDED'])
    expect(await countTasks(world, caller.workspaceId)).toBe(0)
  })

  it('refuses at the limit of open tasks, during maintenance and without credits, and keeps no upload', async () => {
    const caller = await world.caller({ credits: 3 })
    const other = await world.caller({ credits: 0 })
    const expectRefused = async (response: Response, code: string, { workspaceId } = caller) => {
      expect((await failureOf(response)).code).toBe(code)
      expect(await countUnusedUploads(world, workspaceId)).toBe(0)
    }
    for (const _each of [1, 2]) expect((await send(caller, await form(), now)).status).toBe(202)
    await expectRefused(await send(caller, await form()), 'TASK_CONCURRENT_LIMIT')
    await expectRefused(await send(other, await form()), 'CREDITS_INSUFFICIENT', other)
    await writeSetting(world.db, 'maintenance', true)
    try {
      await until('the API pauses', async () => (await send(other, await form())).status === 503)
      await expectRefused(await send(other, await form()), 'TASK_MAINTENANCE', other)
    } finally {
      await writeSetting(world.db, 'maintenance', false)
      // The API reads settings every second.
      const answer = () =>
        other.client.createTask({ imageUrl: 'unknown.png' }).catch((error: { code: string }) => error)
      await until('maintenance is over', async () => !JSON.stringify(await answer()).includes('TASK_MAINTENANCE'))
    }
  })

  it('holds no request capacity while it waits', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, REQUESTS_IN_WORK_MAX: '4', TASKS_MAX_WAIT: '50' })
    try {
      const caller = await world.caller({ plan: 'internal' })
      const leaving = new AbortController()
      for (let count = 1; count <= 6; count++) {
        void send(caller, await form(), { url: api.url, signal: leaving.signal }).catch(() => undefined)
        await until('its task is there', async () => (await countTasks(world, caller.workspaceId)) === count)
      }
      expect((await api.client(caller.apiKey).listTasks({})).total).toBe(6)
      leaving.abort()
    } finally {
      await api.stop()
    }
  })

  it('holds no memory of its image while it waits', async () => {
    const caller = await world.caller({ plan: 'internal' })
    const bytes = Buffer.concat([await smallImage(), Buffer.alloc(18 * mb)])
    const leaving = new AbortController()
    // Three would need 108 MiB, and a workspace may hold 80.
    for (let count = 1; count <= 3; count++) {
      const early = send(caller, bytes, { ...raw(), signal: leaving.signal }).then(
        async (response) => Promise.reject(new Error(`answered ${response.status}: ${await response.text()}`)),
        () => undefined,
      )
      early.catch(() => undefined)
      const created = until('its task is there', async () => (await countTasks(world, caller.workspaceId)) === count)
      await Promise.race([created, early])
    }
    leaving.abort()
  })

  describe('with an Idempotency-Key', () => {
    const keyed = (key: string, more: Record<string, string> = {}) => ({ headers: { 'idempotency-key': key, ...more } })

    it('gives the same task and picture, charges once, and stores nothing again', async () => {
      const caller = await world.caller()
      const key = randomUUID()
      const first = await taskOf(await send(caller, await form({ format: 'png' }), keyed(key, now.headers)))
      const again = await send(caller, await smallImage(), {
        query: '?format=png',
        ...keyed(key, { ...now.headers, ...raw().headers }),
      })
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
      expect((await taskOf(again)).id).toBe(first.id)
      expect(await readBalance(world.db, caller.workspaceId)).toMatchObject({ available: 99, held: 1 })
      const uploads = world.db.selectFrom('upload').select('id').where('workspace_id', '=', caller.workspaceId)
      expect((await uploads.execute()).length).toBe(1)
      await caller.client.cancelTask(first.id)
      const ended = await send(caller, await form({ format: 'png' }), keyed(key))
      expect([ended.status, ended.headers.get('x-task-id')]).toEqual([409, first.id])
    })

    it.each([
      ['another image', {}, true],
      ['another field', { format: 'webp' }, false],
    ])('refuses %s under the same key', async (_what, fields, isOther) => {
      const caller = await world.caller()
      const key = randomUUID()
      await send(caller, await form(), keyed(key, now.headers))
      const bytes = isOther ? await smallImage('png', 41) : await smallImage()
      const response = await send(caller, await form(fields, bytes), keyed(key, now.headers))
      const { code, details } = await failureOf(response)
      expect([code, details.issues]).toEqual([
        'INVALID_PARAMS',
        [{ path: '/headers/idempotency-key', message: expect.any(String) }],
      ])
      expect(await countTasks(world, caller.workspaceId)).toBe(1)
      expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
    })

    it('makes one task of requests at the same time', async () => {
      const caller = await world.caller({ plan: 'internal' })
      const key = randomUUID()
      const bodies = await Promise.all(Array.from({ length: 5 }, () => form()))
      const answers = await Promise.all(bodies.map((body) => send(caller, body, keyed(key, now.headers))))
      // 409: the first was still in progress.
      for (const { status } of answers) expect([202, 409]).toContain(status)
      expect(await countTasks(world, caller.workspaceId)).toBe(1)
      await until('no upload is left', async () => (await countUnusedUploads(world, caller.workspaceId)) === 0)
    })
  })
})
