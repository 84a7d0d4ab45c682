import { randomBytes, randomUUID } from 'node:crypto'
import { linkHolders } from '@matte/api/auth/link-holders'
import { openBucket } from '@matte/core/storage/bucket'
import { fileLinkSigner } from '@matte/core/storage/file-link'
import { resultKey } from '@matte/core/storage/object-key'
import { finishTask } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import type { Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { givenKeyOf, givenTeam } from '../support/app/teams.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'
import { claim, smallImage, useApi } from './given.ts'

const world = useApi({ RESULTS_DELIVERY: 'gateway', CORS_ALLOWED_ORIGINS: 'https://app.example.com' })
const weekSeconds = 7 * 24 * 60 * 60

let opened: ReturnType<typeof openBucket> | undefined
function bucket() {
  const { config } = world.api
  opened ??= openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.publicUrl,
    bucket: config.s3Bucket,
    region: config.s3Region,
    accessKeyId: config.s3AccessKeyId,
    secretAccessKey: config.s3SecretAccessKey,
  })
  return opened
}
afterAll(() => opened?.close())

async function givenResult(bytes: Buffer, format: 'png' | 'webp' | 'jpeg' = 'png') {
  const caller = await world.caller({ plan: 'internal' })
  const { id } = await caller.client.createTask({ imageUrl: await caller.client.upload(await smallImage()) })
  const claimed = await claim(world.db, id)
  const key = resultKey(claimed, format)
  await bucket().put(key, bytes, { contentType: 'application/octet-stream' })
  const size = { width: 1, height: 1, resultSizeBytes: bytes.length, foreground: null }
  await finishTask(world.db, claimed, { status: 'succeeded', resultKey: key, resultFormat: format, ...size })
  const url = new URL((await caller.client.getTask(id)).resultUrl ?? '')
  return { ...caller, id, key, url }
}

const errorOf = async (response: Response) =>
  [response.status, ((await response.json()) as { error: { code: string } }).error.code] as const

describe('a result link of the gateway', () => {
  it('is below files on the public host, lives for 7 days, and reveals neither store nor credentials', async () => {
    const before = Math.floor(Date.now() / 1_000)
    const { url, key } = await givenResult(Buffer.from('x'))
    expect(url.origin).toBe(world.api.url)
    expect(url.pathname).toBe(`/files/${key}`)
    expect([...url.searchParams.keys()].sort()).toEqual(['expires', 'for', 'key', 'signature'])
    const lifeSeconds = Number(url.searchParams.get('expires')) - before
    expect(lifeSeconds).toBeGreaterThanOrEqual(weekSeconds)
    expect(lifeSeconds).toBeLessThan(weekSeconds + 60)
  })

  it.each([
    ['png', 'image/png', 'png'],
    ['webp', 'image/webp', 'webp'],
    ['jpeg', 'image/jpeg', 'jpg'],
  ] as const)('downloads a %s as %s, with a name', async (format, type, extension) => {
    const bytes = randomBytes(3_000_000)
    const { url, id } = await givenResult(bytes, format)
    const response = await fetch(url, { headers: { origin: 'https://app.example.com' } })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': type,
      'content-disposition': `attachment; filename="${id}.${extension}"`,
      'content-length': String(bytes.length),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'access-control-allow-origin': 'https://app.example.com',
    })
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
  })

  it('supports HEAD and ranges', async () => {
    const { url } = await givenResult(Buffer.from('0123456789'))
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', ''])
    const part = await fetch(url, { headers: { range: 'bytes=2-5' } })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 2-5/10', '2345'])
    expect(await errorOf(await fetch(url, { headers: { range: 'bytes=20-' } }))).toEqual([400, 'INVALID_PARAMS'])
  })

  it('returns 304 for a matching ETag', async () => {
    const { url } = await givenResult(Buffer.from('0123456789'))
    const etag = (await fetch(url)).headers.get('etag') ?? ''
    expect(etag).toMatch(/^".+"$/)
    for (const method of ['GET', 'HEAD']) {
      const again = await fetch(url, { method, headers: { 'if-none-match': etag } })
      expect([again.status, await again.text()]).toEqual([304, ''])
      expect([again.headers.get('etag'), again.headers.get('cache-control')]).toEqual([etag, 'private'])
      const other = await fetch(url, { method, headers: { 'if-none-match': '"other"' } })
      expect([other.status, await other.text()]).toEqual([200, method === 'GET' ? '0123456789' : ''])
    }
  })

  it('is AUTH_FORBIDDEN after any change', async () => {
    const [mine, theirs] = [await givenResult(Buffer.from('mine')), await givenResult(Buffer.from('theirs'))]
    const changed = (change: (url: URL) => void) => {
      const url = new URL(mine.url)
      change(url)
      return url
    }
    for (const url of [
      changed((each) => {
        each.pathname = theirs.url.pathname
      }),
      changed((each) => each.searchParams.set('expires', String(Number(each.searchParams.get('expires')) + 1))),
      changed((each) => each.searchParams.set('signature', randomBytes(32).toString('base64url'))),
      changed((each) => each.searchParams.set('key', 'other')),
      changed((each) => each.searchParams.append('signature', 'x')),
      changed((each) => {
        each.search = ''
      }),
    ]) {
      expect(await errorOf(await fetch(url)), url.href).toEqual([403, 'AUTH_FORBIDDEN'])
    }
    expect(await (await fetch(mine.url)).text()).toBe('mine')
  })

  it('is AUTH_FORBIDDEN when expired, and opens only results', async () => {
    const { sign } = fileLinkSigner(world.api.config.masterKeys)
    const { key, client, apiKeyId } = await givenResult(Buffer.from('x'))
    const holder = `key.${apiKeyId}`
    const at = (objectKey: string, seconds: number) =>
      fetch(`${world.api.url}/files/${sign(objectKey, { expires: Math.floor(Date.now() / 1_000) + seconds, holder })}`)
    expect(await errorOf(await at(key, -2))).toEqual([403, 'AUTH_FORBIDDEN'])
    expect((await at(key, 60)).status).toBe(200)
    const upload = await client.upload(await smallImage())
    expect(await errorOf(await at(upload, 60))).toEqual([404, 'NOT_FOUND'])
  })

  it('is NOT_FOUND when the result is deleted', async () => {
    const { url, key, apiKeyId } = await givenResult(Buffer.from('x'))
    await bucket().delete(key)
    expect(await errorOf(await fetch(url))).toEqual([404, 'NOT_FOUND'])
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(404)
    const unknown = `results/2026/01/${randomUUID()}/1-${randomUUID()}.png`
    const { sign } = fileLinkSigner(world.api.config.masterKeys)
    const signed = { expires: Math.floor(Date.now() / 1_000) + 60, holder: `key.${apiKeyId}` }
    const link = `${world.api.url}/files/${sign(unknown, signed)}`
    expect(await errorOf(await fetch(link))).toEqual([404, 'NOT_FOUND'])
  })

  it('that is not read to its end leaks nothing', async () => {
    const { url } = await givenResult(randomBytes(20_000_000))
    for (let i = 0; i < 5; i++) {
      const leaving = new AbortController()
      const response = await fetch(url, { signal: leaving.signal })
      const reader = response.body?.getReader()
      expect((await reader?.read())?.value?.length).toBeGreaterThan(0)
      leaving.abort()
    }
    const whole = await fetch(url)
    expect((await whole.arrayBuffer()).byteLength).toBe(20_000_000)
  })

  it('is TASK_STORAGE_UNAVAILABLE while the store is down', async () => {
    const { url } = await givenResult(Buffer.from('x'))
    const [port = 0] = await freePorts(1)
    const api = await startApi({
      DATABASE_URL: world.databaseUrl,
      RESULTS_DELIVERY: 'gateway',
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
    })
    try {
      const response = await fetch(`${api.url}${url.pathname}${url.search}`)
      expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(await errorOf(response)).toEqual([503, 'TASK_STORAGE_UNAVAILABLE'])
    } finally {
      await api.stop()
    }
  })
})

describe('a result link of the gateway ends within 5 s on every replica', () => {
  const refused = [403, 'AUTH_FORBIDDEN']
  let other: TestApi | undefined
  beforeAll(async () => {
    other = await startApi({
      DATABASE_URL: world.databaseUrl,
      RESULTS_DELIVERY: 'gateway',
    })
  })
  afterAll(() => other?.stop())

  const replicas = () => [world.api.url, other?.url ?? '']
  const fetchAt = (origin: string, url: string) => fetch(`${origin}${new URL(url).pathname}${new URL(url).search}`)
  const works = async (url: string) => {
    const answers = await Promise.all(replicas().map((origin) => fetchAt(origin, url)))
    for (const answer of answers) await answer.arrayBuffer()
    return answers.every(({ status }) => status === 200)
  }
  const untilRefused = (url: string) =>
    Promise.all(
      replicas().map((origin) =>
        until(
          'the link is refused',
          async () => {
            expect(await errorOf(await fetchAt(origin, url))).toEqual(refused)
            return true
          },
          { timeoutMs: 5_000 },
        ),
      ),
    )

  /** A result of a team, with links for a key of the owner, for the owner and for a member. */
  async function givenTeamResult() {
    const team = await givenTeam(world)
    const member = await team.member('member')
    const { id: apiKeyId, key } = await givenKeyOf(world.db, team.id, team.owner.userId)
    const keyClient = world.api.client(key)
    const { id } = await keyClient.createTask({ imageUrl: await keyClient.upload(await smallImage()) })
    const claimed = await claim(world.db, id)
    const stored = resultKey(claimed, 'png')
    await bucket().put(stored, Buffer.from('x'), { contentType: 'application/octet-stream' })
    const size = { width: 1, height: 1, resultSizeBytes: 1, foreground: null }
    await finishTask(world.db, claimed, { status: 'succeeded', resultKey: stored, resultFormat: 'png', ...size })
    const ofPerson = async ({ client }: Person) => {
      const { data } = await client.call<{ url: string }>('GET', `/tasks/images/${id}/download`)
      const shown = await client.call<{ resultUrl: string }>('GET', `/tasks/images/${id}`)
      const listed = await client.call<{ items: { resultUrl: string }[] }>('GET', '/tasks/images')
      return [data.url, shown.data.resultUrl, listed.data.items[0]?.resultUrl ?? '']
    }
    const links = {
      key: [(await keyClient.getTask(id)).resultUrl ?? '', (await keyClient.listTasks()).items[0]?.resultUrl ?? ''],
      owner: await ofPerson(team.owner),
      member: await ofPerson(member),
    }
    for (const url of Object.values(links).flat()) expect(await works(url)).toBe(true)
    return { team, member, apiKeyId, links }
  }

  it('with its API key, and no other link does', async () => {
    const { team, apiKeyId, links } = await givenTeamResult()
    await team.owner.client.call('DELETE', `/developer/api-keys/${apiKeyId}`)
    for (const url of links.key) await untilRefused(url)
    for (const url of [...links.owner, ...links.member]) expect(await works(url)).toBe(true)
  })

  it('with the expiry of its API key', async () => {
    const { apiKeyId, links } = await givenTeamResult()
    await sql`update api_key set expires_at = now() where id = ${apiKeyId}`.execute(world.db)
    for (const url of links.key) await untilRefused(url)
  })

  it('with the membership of its reader, and not with the session', async () => {
    const { team, member, links } = await givenTeamResult()
    await sql`update session set ended_at = now() where id = ${member.sessionId}`.execute(world.db)
    await until('the session has ended', () =>
      member.client.call('GET', team.path).then(
        () => false,
        () => true,
      ),
    )
    for (const url of links.member) expect(await works(url)).toBe(true)
    await team.owner.client.call('DELETE', `${team.path}/members/${member.userId}`)
    for (const url of links.member) await untilRefused(url)
    for (const url of [...links.owner, ...links.key]) expect(await works(url)).toBe(true)
  })

  it('with its team', async () => {
    const { team, links } = await givenTeamResult()
    await givePassword(world.db, team.owner)
    const body = { password, confirmCreditLoss: true }
    await team.owner.client.call('DELETE', team.path, { body })
    for (const url of Object.values(links).flat()) await untilRefused(url)
  })

  it('with the account of its reader, once an operator has disabled it', async () => {
    const { member, links } = await givenTeamResult()
    await sql`update app_user set disabled_at = now() where id = ${member.userId}`.execute(world.db)
    for (const url of links.member) await untilRefused(url)
  })

  it('and costs at most one query in some seconds, live or ended', async () => {
    const { apiKeyId } = await givenTeamResult()
    let queries = 0
    const counted = world.db.withPlugin({
      transformQuery: ({ node }) => {
        queries += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    for (const [holder, isLive] of [
      [`key.${apiKeyId}`, true],
      [`key.${randomUUID()}`, false],
      [`member.${randomUUID()}.${randomUUID()}`, false],
    ] as const) {
      queries = 0
      const holders = linkHolders(counted)
      for (let i = 0; i < 50; i += 1) expect(await holders.isLive(holder)).toBe(isLive)
      expect(queries).toBe(1)
    }
  })

  it('which a changed holder does not prevent', async () => {
    const { links } = await givenTeamResult()
    const [url = ''] = links.member
    const [ofKey = ''] = links.key
    const changed = new URL(url)
    changed.searchParams.set('for', new URL(ofKey).searchParams.get('for') ?? '')
    expect(await errorOf(await fetch(changed))).toEqual(refused)
    changed.searchParams.delete('for')
    expect(await errorOf(await fetch(changed))).toEqual(refused)
  })
})
