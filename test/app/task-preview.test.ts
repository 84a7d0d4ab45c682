// The small picture of a result that the console's gallery shows.
import type { Bucket } from '@matte/core/storage/bucket'
import { finishTask } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claim, smallImage, useApi } from '../api/given.ts'
import { openStore } from '../support/app/open-store.ts'
import { givenPerson, type Person } from '../support/app/people.ts'

const world = useApi()
let bucket: Bucket
beforeAll(() => {
  bucket = openStore(world.api)
})
afterAll(() => bucket.close())

type Result = {
  readonly format: 'png' | 'jpeg' | 'webp'
  readonly width: number
  readonly height: number
  readonly resultSizeBytes?: number
}

async function givenTask(): Promise<{ someone: Person; id: string }> {
  const { client, workspaceId } = await world.caller({ plan: 'pro' })
  const someone = await givenPerson(world.db, world.api, { member: { workspaceId, role: 'member' } })
  const { id } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
  return { someone, id }
}

/** A succeeded task and its result: transparent on the left, opaque on the right. */
async function givenResult({ format, width, height, resultSizeBytes }: Result) {
  const { someone, id } = await givenTask()
  const right = { input: await smallImage('png', Math.floor(width / 2), height), left: Math.ceil(width / 2), top: 0 }
  const file = await sharp({ create: { width, height, channels: 4, background: '#00000000' } })
    .composite([right])
    .toFormat(format)
    .toBuffer()
  const resultKey = `results/2026/11/${id}/1-preview.${format}`
  await bucket.put(resultKey, file, { contentType: `image/${format}` })
  const outcome = { resultKey, resultFormat: format, resultSizeBytes: resultSizeBytes ?? file.length }
  await finishTask(world.db, await claim(world.db, id), {
    status: 'succeeded',
    ...outcome,
    width,
    height,
    foreground: null,
  })
  return { someone, id, resultKey }
}

const ask = ({ accessToken }: Person, id: string): Promise<Response> =>
  fetch(`${world.api.url}/api/v1/app/tasks/images/${id}/preview`, {
    headers: { authorization: `Bearer ${accessToken}` },
  })

const codeOf = async (answer: Response): Promise<unknown> => [
  answer.status,
  ((await answer.json()) as { error: { code: string } }).error.code,
]

/** Uses up the limit of this minute and the next. */
const spend = (subject: string) =>
  sql`update rate_window set used = last_limit, minute = minute + 1 where subject = ${subject}`.execute(world.db)

describe('the preview of a result', () => {
  it.each([
    { format: 'png', width: 1000, height: 500, shown: [320, 160] },
    { format: 'webp', width: 600, height: 1200, shown: [160, 320] },
    { format: 'jpeg', width: 120, height: 80, shown: [120, 80] },
  ] as const)(
    'is a small WebP with the transparency of a $format of $width x $height',
    async ({ shown, ...result }) => {
      const { someone, id } = await givenResult(result)
      const answer = await ask(someone, id)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/webp'])
      expect(answer.headers.get('cache-control')).toBe('private, max-age=86400, immutable')
      const preview = sharp(Buffer.from(await answer.arrayBuffer()))
      const { format, width, height } = await preview.metadata()
      expect([format, width, height]).toEqual(['webp', ...shown])
      if (result.format === 'jpeg') return
      const { data, info } = await preview.raw().toBuffer({ resolveWithObject: true })
      const alphaAt = (x: number) => data[(Math.floor(info.height / 2) * info.width + x) * info.channels + 3]
      expect([alphaAt(5), alphaAt(info.width - 5)]).toEqual([0, 255])
    },
  )

  it('counts against the limit of the route, not against the requests of the plan', async () => {
    const { someone, id } = await givenResult({ format: 'png', width: 20, height: 20 })
    expect((await ask(someone, id)).headers.get('x-ratelimit-limit')).toBe('600')
    await someone.client.call('GET', '/tasks/images')
    const subject = `workspace:${someone.workspaceId}`
    await spend(subject)
    await expect(someone.client.call('GET', '/tasks/images')).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    expect((await ask(someone, id)).status).toBe(200)
    await spend(`${subject}:/api/v1/app/tasks/images/:taskId/preview`)
    expect(await codeOf(await ask(someone, id))).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  })

  it('is refused without a result, for a result too large to read, and after the result was deleted', async () => {
    const { someone, id } = await givenTask()
    expect(await codeOf(await ask(someone, id))).toEqual([409, 'CONFLICT'])
    const large = await givenResult({ format: 'png', width: 20, height: 20, resultSizeBytes: 70_000_000 })
    expect(await codeOf(await ask(large.someone, large.id))).toEqual([409, 'CONFLICT'])
    const deleted = await givenResult({ format: 'png', width: 20, height: 20 })
    await bucket.delete(deleted.resultKey)
    expect(await codeOf(await ask(deleted.someone, deleted.id))).toEqual([404, 'NOT_FOUND'])
  })

  it('is refused, like the download, for a result that was not charged', async () => {
    const { someone, id } = await givenResult({ format: 'png', width: 20, height: 20 })
    await sql`update task set charge = 'none' where id = ${id}`.execute(world.db)
    const conflict = { status: 409, code: 'CONFLICT', message: expect.stringContaining('not charged') }
    for (const part of ['preview', 'download']) {
      await expect(someone.client.call('GET', `/tasks/images/${id}/${part}`)).rejects.toMatchObject(conflict)
    }
    expect((await someone.client.call('GET', `/tasks/images/${id}`)).data).toMatchObject({ resultUrl: null })
  })

  it('is not shown to another workspace', async () => {
    const { id } = await givenResult({ format: 'png', width: 20, height: 20 })
    const stranger = await givenPerson(world.db, world.api, { plan: 'pro' })
    expect(await codeOf(await ask(stranger, id))).toEqual([404, 'NOT_FOUND'])
  })
})
