// Bodies that no program of remove.bg or rembg sends, and clients that leave.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { codeOf, countTasks, countUnusedUploads, formOf, type RemovebgErrors } from './doors.ts'
import { type Caller, smallImage, useApi } from './given.ts'

// Without a worker, tasks stay queued.
const world = useApi({ DOORS_REMOVEBG: 'true', TASKS_MAX_WAIT: '1' })
const mb = 1_048_576
const boundary = 'edge'
const multipart = `multipart/form-data; boundary=${boundary}`

type Body = NonNullable<RequestInit['body']>

const send = ({ apiKey }: Pick<Caller, 'apiKey'>, type: string, body: Body, signal?: AbortSignal) =>
  fetch(`${world.api.url}/v1.0/removebg`, {
    method: 'POST',
    headers: { 'X-Api-Key': apiKey, 'content-type': type },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
    ...(signal && { signal }),
  } as RequestInit)

const partOf = (disposition: string, content: string | Buffer, type = 'image/png'): Buffer =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\nContent-Type: ${type}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ])
const end = Buffer.from(`--${boundary}--\r\n`)

describe('the door for remove.bg', () => {
  it('refuses a body of unknown length whose parts together are larger than any image', async () => {
    const caller = await world.caller()
    const large = partOf('name="other"; filename="a.png"', Buffer.alloc(12 * mb))
    const image = partOf('name="image_file"; filename="b.png"', await smallImage())
    const chunked = ReadableStream.from([large, large, large, image, end])
    const response = await send(caller, multipart, chunked)
    expect([response.status, await codeOf(response)]).toEqual([400, 'image_too_large'])
    expect(await countTasks(world, caller.workspaceId)).toBe(0)
  })

  it('refuses a text of unknown length that is larger than any image', async () => {
    const chunk = Buffer.alloc(10 * mb, 'A')
    const chunked = ReadableStream.from([Buffer.from('{"image_file_b64":"'), chunk, chunk, chunk, Buffer.from('"}')])
    const response = await send(await world.caller(), 'application/json', chunked)
    const { errors } = (await response.json()) as RemovebgErrors
    expect([response.status, errors[0]?.code]).toEqual([400, 'image_too_large'])
    expect(errors[0]?.detail).toContain('The body is too large') // an image of this size alone would fail later
  })

  it.each([
    ['form', 'application/x-www-form-urlencoded', `image_file_b64=AAAA${'&a=b'.repeat(2_000)}`],
    ['JSON object', 'application/json', `{"image_file_b64":"AAAA"${',"a":1'.repeat(2_000)}}`],
    ['nested JSON', 'application/json', `{"image_file_b64":"AAAA","a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`],
  ])('refuses a %s with thousands of values', async (_name, type, body) => {
    const response = await send(await world.caller(), type, body)
    expect([response.status, await codeOf(response)]).toEqual([400, 'invalid_parameters'])
  })

  const fields = (name: string, value: string): [type: string, body: string | Buffer][] => [
    ['application/x-www-form-urlencoded', String(new URLSearchParams({ image_file_b64: 'AAAA', [name]: value }))],
    ['application/json', JSON.stringify({ image_file_b64: 'AAAA', [name]: value })],
    [multipart, Buffer.concat([partOf(`name="${name}"`, value, 'text/plain'), end])],
  ]

  it.each(['crop_margin', 'roi', 'image_url', 'unknown'])(
    'refuses a %s of more than 8,192 characters',
    async (name) => {
      const caller = await world.caller()
      for (const [type, body] of fields(name, '1 '.repeat(4_097))) {
        const response = await send(caller, type, body as Body)
        const { errors } = (await response.json()) as RemovebgErrors
        const detail = `${name} must be at most 8192 characters long.`
        expect([response.status, errors]).toMatchObject([400, [{ code: 'invalid_parameters', detail }]])
      }
    },
  )

  it('refuses an image as text that is no base64, whose characters take twice the memory', async () => {
    const caller = await world.caller()
    for (const [type, body] of fields('image_file_b64', `${'A'.repeat(10_000)}€`)) {
      const response = await send(caller, type, body as Body)
      const { errors } = (await response.json()) as RemovebgErrors
      expect([response.status, errors]).toMatchObject([400, [{ detail: 'image_file_b64 must be base64.' }]])
    }
  })

  it.each([
    ['without a boundary', 'multipart/form-data', 'x'],
    ['that is cut within a part', multipart, partOf('name="image_file"; filename="a.png"', 'abc').subarray(0, -2)],
    ['without its end', multipart, partOf('name="size"', 'full', 'text/plain')],
    ['that is no multipart', multipart, 'just text'],
    ['with a malformed header', multipart, `--${boundary}\r\nnonsense\r\n\r\nabc\r\n--${boundary}--\r\n`],
    ['with broken JSON in a field', multipart, Buffer.concat([partOf('name="size"', '{', 'application/json'), end])],
    ['with the name of a prototype', multipart, Buffer.concat([partOf('name="__proto__"', 'a', 'text/plain'), end])],
    ['with too many parts', multipart, Buffer.concat([...Array(100).fill(partOf('name="a"', 'b', 'text/plain')), end])],
  ])('answers 400 for a multipart body %s', async (_name, type, body) => {
    const response = await send(await world.caller(), type, body as Body)
    expect([response.status, await codeOf(response)]).toEqual([400, expect.any(String)])
  })

  it.each([
    ['no name', 'name="image_file"'],
    ['a name with separators and controls', 'name="image_file"; filename="../../a\t%00\u0001b"'],
    ['a very long name', `name="image_file"; filename="${'a'.repeat(5_000)}"`],
  ])('takes a file with %s', async (_name, disposition) => {
    const caller = await world.caller()
    const file = partOf(disposition, await smallImage(), 'application/octet-stream')
    const response = await send(caller, multipart, Buffer.concat([file, end]))
    expect([response.status, await codeOf(response)]).toEqual([503, 'timeout'])
  })

  it('creates no task for a client that left while its image was stored', async () => {
    const caller = await world.caller({ credits: 5 })
    const leaving = new AbortController()
    const form = formOf({ size: 'full' }, { name: 'image_file', bytes: await smallImage() })
    const { promise: unlocked, resolve: unlock } = Promise.withResolvers<void>()
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>()
    const transaction = world.db.transaction().execute(async (tx) => {
      await sql`lock table upload in share mode`.execute(tx)
      lock()
      await unlocked
    })
    await locked
    const request = new Request(`${world.api.url}/v1.0/removebg`, {
      method: 'POST',
      headers: { 'X-Api-Key': caller.apiKey },
      body: form,
      signal: leaving.signal,
    })
    const answer = fetch(request).catch(() => 'left')
    await until('the upload waits for the lock', isWaiting)
    leaving.abort()
    expect(await answer).toBe('left')
    await fetch(`${world.api.url}/v1.0/account`) // the process has seen the disconnection by then
    unlock()
    await transaction
    await until('the upload is released', async () => {
      const { rows } = await sql`select from upload where workspace_id = ${caller.workspaceId}`.execute(world.db)
      return rows.length === 1 && (await countUnusedUploads(world, caller.workspaceId)) === 0
    })
    expect(await countTasks(world, caller.workspaceId)).toBe(0)
  })
})

async function isWaiting(): Promise<boolean> {
  const { rows } = await sql`
    select from pg_locks where relation = 'upload'::regclass and not granted
       and database = (select oid from pg_database where datname = current_database())`.execute(world.db)
  return rows.length > 0
}
