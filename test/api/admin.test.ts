import { openBucket } from '@matte/core/storage/bucket'
import { describe, expect, it } from 'vitest'
import { adminText, admin as runAdmin } from '../support/admin.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { claim, smallImage, useApi } from './given.ts'

const world = useApi()
const unknown = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'
type Env = Record<string, string>

/** The object that a command prints. */
const admin = (args: readonly string[], env: Env = {}) => runAdmin(args, { DATABASE_URL: world.databaseUrl, ...env })

/** Error output and exit code of a rejected command. */
const refusal = (args: readonly string[], env: Record<string, string> = {}) =>
  admin(args, env).then(
    () => undefined,
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  )

const newWorkspace = async (...more: string[]) => {
  const made = await admin(['workspace', 'create', '--name', 'w', '--plan', 'pro', ...more])
  return made as { workspaceId: string; apiKeyId: string; apiKey: string }
}

describe('matte-admin workspace create', () => {
  it('creates a workspace with a working key and credits', async () => {
    const made = await newWorkspace('--credits', '2')
    expect(Object.keys(made)).toEqual(['workspaceId', 'apiKeyId', 'apiKey'])
    const client = world.api.client(made.apiKey)
    const imageUrl = await client.upload(await smallImage())
    await client.createTask({ imageUrl })
    await client.createTask({ imageUrl })
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
  })

  it('works on an empty database, before any process of the service has run', async () => {
    const { url, drop } = await createEmptyDatabase()
    const made = await admin(['workspace', 'create', '--name', 'w', '--plan', 'internal'], { DATABASE_URL: url })
    expect(made.apiKey).toMatch(/^service_live_/)
    await drop()
  })

  it('prints lines for people without --json', async () => {
    const stdout = await adminText(['workspace', 'create', '--name', 'w', '--plan', 'internal'], {
      DATABASE_URL: world.databaseUrl,
    })
    expect(stdout).toMatch(/^workspaceId {2}[0-9a-f-]{36}\napiKeyId {5}[0-9a-f-]{36}\napiKey {7}service_live_\w{38}\n$/)
  })
})

describe('matte-admin key', () => {
  it('create makes a key with the given scopes and expiry', async () => {
    const { workspaceId } = await newWorkspace()
    const args = ['key', 'create', '--workspace', workspaceId, '--scopes', 'tasks:read, tasks:read']
    const made = await admin([...args, '--expires-at', '2099-01-01T00:00:00Z'])
    expect(made).toMatchObject({ scopes: ['tasks:read'], expiresAt: '2099-01-01T00:00:00.000Z' })
    const client = world.api.client(String(made.apiKey))
    expect((await client.listTasks()).total).toBe(0)
    await expect(client.signingSecret()).rejects.toMatchObject({ code: 'API_KEY_INSUFFICIENT_SCOPE' })
  })

  it('revoke ends a key within 5 s, once', async () => {
    const { apiKeyId, apiKey } = await newWorkspace()
    const client = world.api.client(apiKey)
    await client.listTasks()
    expect(await admin(['key', 'revoke', '--key', apiKeyId])).toEqual({ apiKeyId, revoked: true })
    await until(
      'the key is refused',
      () =>
        client.listTasks().then(
          () => false,
          () => true,
        ),
      { timeoutMs: 5_000 },
    )
    expect(await refusal(['key', 'revoke', '--key', apiKeyId])).toMatchObject({ code: 1, stdout: '' })
  })

  it('create stops at 100 keys', async () => {
    const { workspaceId } = await newWorkspace()
    await world.db
      .insertInto('api_key')
      .values(
        Array.from({ length: 99 }, (_, index) => ({
          workspace_id: workspaceId,
          name: 'filler',
          hash: Buffer.from(workspaceId.replaceAll('-', '') + String(index).padStart(32, '0'), 'hex'),
          prefix: 'service_live_',
          last_four: '0000',
          scopes: [],
        })),
      )
      .execute()
    const refused = await refusal(['key', 'create', '--workspace', workspaceId])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('100 keys') })
  })
})

describe('matte-admin credits grant', () => {
  it('adds credits to a workspace', async () => {
    const { workspaceId, apiKey } = await newWorkspace('--credits', '0')
    const client = world.api.client(apiKey)
    const imageUrl = await client.upload(await smallImage())
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject({ code: 'CREDITS_INSUFFICIENT' })
    const granted = await admin(['credits', 'grant', '--workspace', workspaceId, '--credits', '1'])
    expect(granted).toMatchObject({ workspaceId, credits: 1 })
    expect((await client.createTask({ imageUrl })).status).toBe('queued')
  })
})

describe('matte-admin credits', () => {
  it('grant takes an expiry, a priority, and a source that grants once', async () => {
    const { workspaceId } = await newWorkspace('--credits', '0')
    const args = ['credits', 'grant', '--workspace', workspaceId, '--credits', '5', '--source', 'plan:2099-01']
    const more = ['--expires-at', '2099-02-01T00:00:00Z', '--priority', '10']
    const granted = await admin([...args, ...more])
    expect(granted).toMatchObject({ credits: 5, expiresAt: '2099-02-01T00:00:00.000Z', priority: 10 })
    expect(await admin([...args, ...more])).toEqual(granted)
    const lots = await world.db.selectFrom('credit_lot').selectAll().where('workspace_id', '=', workspaceId).execute()
    expect(lots).toMatchObject([{ available: 5, priority: 10, expires_at: new Date('2099-02-01T00:00:00Z') }])
    const other = args.with(5, '6')
    expect(await refusal(other)).toMatchObject({ code: 1, stderr: expect.stringContaining('plan:2099-01') })
  })

  it('balance shows available and held credits', async () => {
    const { workspaceId, apiKey } = await newWorkspace('--credits', '3')
    const client = world.api.client(apiKey)
    await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    const balance = await admin(['credits', 'balance', '--workspace', workspaceId])
    expect(balance).toEqual({ workspaceId, available: 2, held: 1, total: 3, expiringSoon: 0 })
  })
})

describe('matte-admin fault and sweep', () => {
  it('fault inference marks an unfinished task, and is rejected in production', async () => {
    const { client } = await world.caller()
    const { id } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    const args = ['fault', 'inference', '--task', id, '--attempts', '2']
    expect(await admin(args)).toEqual({ taskId: id, attempts: 2, status: 'queued' })
    expect(await claim(world.db, id)).toMatchObject({ faultAttempts: 2 })
    const refused = await refusal(args, { MATTE_ENV: 'production' })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('MATTE_ENV') })
  })

  it('sweep fails tasks that waited too long at the given time', async () => {
    const { client } = await world.caller()
    const { id } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    expect(await admin(['sweep'])).toMatchObject({ endedTasks: 0 })
    const later = new Date(Date.now() + 25 * 3_600_000).toISOString()
    const { endedTasks } = await admin(['sweep', '--now', later])
    expect(endedTasks).toBeGreaterThanOrEqual(1)
    expect(await client.getTask(id)).toMatchObject({ status: 'failed', failure: { reason: 'INFERENCE_TIMEOUT' } })
  })

  it('sweep runs retention and expiry as of the given time, and keeps objects without a store', async () => {
    const { client, workspaceId } = await world.caller()
    const grant = ['credits', 'grant', '--workspace', workspaceId, '--credits', '5']
    await admin([...grant, '--expires-at', inDays(20)])
    const imageUrl = await client.upload(await smallImage())
    const { id } = await client.createTask({ imageUrl })
    await client.cancelTask(id)
    const unused = await client.upload(await smallImage())
    const swept = await admin(['sweep', '--now', inDays(31)])
    expect(swept).toMatchObject({ deletedObjects: null })
    for (const [name, atLeast] of [
      ['expiredCredits', 5],
      ['releasedUploads', 1],
      ['deletedTasks', 1],
    ] as const) {
      expect(swept[name], name).toBeGreaterThanOrEqual(atLeast)
    }
    await expect(client.getTask(id)).rejects.toMatchObject({ code: 'DEVELOPER_TASK_NOT_FOUND' })
    for (const key of [imageUrl, unused]) {
      await expect(client.createTask({ imageUrl: key })).rejects.toMatchObject({ code: 'TASK_INPUT_FORBIDDEN' })
    }
    const again = await admin(['sweep', '--now', inDays(31)])
    expect(again).toMatchObject({ expiredCredits: 0, releasedUploads: 0, deletedTasks: 0, announcedCleanups: 0 })
  })

  it('sweep deletes objects with a store', async () => {
    const { client } = await world.caller()
    const imageUrl = await client.upload(await smallImage())
    const { s3Endpoint, s3Bucket, s3AccessKeyId, s3SecretAccessKey } = world.api.config
    const store = { S3_ENDPOINT: s3Endpoint, S3_BUCKET: s3Bucket, S3_ACCESS_KEY_ID: s3AccessKeyId }
    const withSecret = { ...store, S3_SECRET_ACCESS_KEY: s3SecretAccessKey }
    const bucket = openBucket({
      internalEndpoint: s3Endpoint,
      publicEndpoint: s3Endpoint,
      bucket: s3Bucket,
      region: 'us-east-1',
      accessKeyId: s3AccessKeyId,
      secretAccessKey: s3SecretAccessKey,
    })
    expect((await bucket.head(imageUrl, 1)).sizeBytes).toBeGreaterThan(0)
    const { deletedObjects } = await admin(['sweep', '--now', inDays(2)], withSecret)
    expect(deletedObjects).toBeGreaterThanOrEqual(1)
    await expect(bucket.head(imageUrl, 1)).rejects.toMatchObject({ kind: 'missing' })
    bucket.close()
    const refused = await refusal(['sweep'], store)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('S3_SECRET_ACCESS_KEY') })
  })

  it('sweep with a future time requires --yes in production, and does nothing without it', async () => {
    const { client, workspaceId } = await world.caller()
    await admin(['credits', 'grant', '--workspace', workspaceId, '--credits', '5', '--expires-at', inDays(1)])
    const { id } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    const args = ['sweep', '--now', inDays(2)]
    for (const env of [{ MATTE_ENV: 'production' }, { MATTE_ENV: '' }]) {
      const refused = await refusal(args, env)
      expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/future.* --yes/) })
    }
    expect(await client.getTask(id)).toMatchObject({ status: 'queued' })
    const inProduction = { MATTE_ENV: 'production' }
    expect(await admin(['sweep'], inProduction)).toMatchObject({ expiredCredits: 0 })
    expect(await admin(['sweep', '--now', inDays(-1)], inProduction)).toMatchObject({ expiredCredits: 0 })
    expect((await admin([...args, '--yes'], inProduction)).expiredCredits).toBeGreaterThanOrEqual(5)
    expect(await client.getTask(id)).toMatchObject({ status: 'failed' })
  })

  const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString()
})

describe('an impossible command', () => {
  it.each([
    [['nonsense'], 2, 'no such command'],
    [['workspace', 'create', '--name', 'w'], 2, '--plan is missing'],
    [['workspace', 'create', '--name', 'w', '--plan', 'gold'], 2, 'internal'],
    [['workspace', 'create', '--name', 'w', '--plan', 'pro', '--credits', '-1'], 2, '--credits'],
    [['workspace', 'create', '--color', 'red'], 2, 'usage: matte-admin workspace create'],
    [['key', 'create', '--workspace', 'x'], 2, 'UUID'],
    [['key', 'create', '--workspace', unknown], 1, 'no workspace'],
    [['key', 'create', '--workspace', unknown, '--scopes', 'tasks:fly'], 2, 'tasks:read'],
    [['key', 'create', '--workspace', unknown, '--expires-at', 'soon'], 2, 'ISO 8601'],
    [['key', 'revoke', '--key', unknown], 1, 'no key'],
    [['credits', 'grant', '--workspace', unknown, '--credits', '5'], 1, 'no workspace'],
    [['credits', 'grant', '--workspace', unknown, '--credits', '0'], 2, '--credits'],
    [['credits', 'grant', '--workspace', unknown, '--credits', '5', '--priority', '101'], 2, '--priority'],
    [['credits', 'grant', '--workspace', unknown, '--credits', '5', '--expires-at', '2001-01-01'], 2, 'future'],
    [['credits', 'grant', '--workspace', unknown, '--credits', '5', '--source', ''], 2, '255'],
    [['credits', 'balance', '--workspace', unknown], 1, 'no workspace'],
    [['fault', 'inference', '--task', unknown, '--attempts', '1'], 1, 'no task'],
    [['sweep', '--now', 'tomorrow'], 2, 'ISO 8601'],
    [['sweep', 'now'], 2, 'not expected'],
    [['credits', 'balance', '--workspace', unknown, '--yes'], 2, '--yes'],
  ])('%j reports the error on standard error and exits with %d', async (args, code, words) => {
    const refused = await refusal(args)
    expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(words) })
  })

  it('reports the missing variable', async () => {
    expect(await refusal(['sweep'], { DATABASE_URL: '' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('DATABASE_URL'),
    })
  })
})
