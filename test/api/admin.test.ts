import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createEmptyDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { claim, picture, useApi } from './given.ts'

const world = useApi()
const main = fileURLToPath(import.meta.resolve('@matte/api/admin/main'))
const run = promisify(execFile)
const unknown = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'

/** Runs the command as an operator would; with `--json` the printed object. */
async function admin(args: readonly string[], env: Record<string, string> = {}): Promise<Record<string, unknown>> {
  const { stdout } = await run(process.execPath, [main, ...args, '--json'], {
    env: { PATH: process.env.PATH, DATABASE_URL: world.databaseUrl, MATTE_ENV: 'development', ...env },
  })
  return JSON.parse(stdout) as Record<string, unknown>
}

/** What a refused command says, and its exit code. */
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
  it('makes a workspace whose key works, with its credits', async () => {
    const made = await newWorkspace('--credits', '2')
    expect(Object.keys(made)).toEqual(['workspaceId', 'apiKeyId', 'apiKey'])
    const client = world.api.client(made.apiKey)
    const imageUrl = await client.upload(await picture())
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
    const args = [main, 'workspace', 'create', '--name', 'w', '--plan', 'internal']
    const { stdout } = await run(process.execPath, args, { env: { DATABASE_URL: world.databaseUrl } })
    expect(stdout).toMatch(/^workspaceId {2}[0-9a-f-]{36}\napiKeyId {5}[0-9a-f-]{36}\napiKey {7}service_live_\w{38}\n$/)
  })
})

describe('matte-admin key', () => {
  it('create makes a key with the scopes and the end that are asked for', async () => {
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

describe('matte-admin setting set', () => {
  it('turns a switch that is in force within 5 s', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await picture())
    expect(await admin(['setting', 'set', 'maintenance', 'on'])).toEqual({ name: 'maintenance', value: true })
    await until('maintenance is in force', () =>
      client.createTask({ imageUrl }).then(
        () => false,
        () => true,
      ),
    )
    await admin(['setting', 'set', 'maintenance', 'off'])
    await until('maintenance is over', () =>
      client.createTask({ imageUrl }).then(
        () => true,
        () => false,
      ),
    )
  })

  it('takes a list of targets and clears it', async () => {
    const set = (list: string) => admin(['setting', 'set', 'webhooks.allowedTargets', list])
    expect(await set('127.0.0.1:9000  LOCALHOST:* [::1]:443')).toEqual({
      name: 'webhooks.allowedTargets',
      value: ['127.0.0.1:9000', 'localhost:*', '[::1]:443'],
    })
    expect(await set('')).toMatchObject({ value: [] })
  })
})

describe('matte-admin credits grant', () => {
  it('adds credits to a workspace', async () => {
    const { workspaceId, apiKey } = await newWorkspace()
    const client = world.api.client(apiKey)
    const imageUrl = await client.upload(await picture())
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject({ code: 'CREDITS_INSUFFICIENT' })
    const granted = await admin(['credits', 'grant', '--workspace', workspaceId, '--credits', '1'])
    expect(granted).toMatchObject({ workspaceId, credits: 1 })
    expect((await client.createTask({ imageUrl })).status).toBe('queued')
  })
})

describe('matte-admin fault and sweep', () => {
  it('fault inference marks an unfinished task, and is refused in production', async () => {
    const { client } = await world.caller()
    const { id } = await client.createTask({ imageUrl: await client.upload(await picture()) })
    const args = ['fault', 'inference', '--task', id, '--attempts', '2']
    expect(await admin(args)).toEqual({ taskId: id, attempts: 2, status: 'queued' })
    expect(await claim(world.db, id)).toMatchObject({ faultAttempts: 2 })
    const refused = await refusal(args, { MATTE_ENV: 'production' })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('MATTE_ENV') })
  })

  it('sweep ends what waited too long by the given time', async () => {
    const { client } = await world.caller()
    const { id } = await client.createTask({ imageUrl: await client.upload(await picture()) })
    expect(await admin(['sweep'])).toMatchObject({ endedTasks: 0 })
    const later = new Date(Date.now() + 25 * 3_600_000).toISOString()
    const { endedTasks } = await admin(['sweep', '--now', later])
    expect(endedTasks).toBeGreaterThanOrEqual(1)
    expect(await client.getTask(id)).toMatchObject({ status: 'failed', failure: { reason: 'INFERENCE_TIMEOUT' } })
  })
})

describe('a command that cannot be done', () => {
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
    [['setting', 'set', 'maintenance', 'maybe'], 2, 'on or off'],
    [['setting', 'set', 'colour', 'on'], 2, 'maintenance'],
    [['setting', 'set', 'maintenance'], 2, 'usage'],
    [['setting', 'set', 'webhooks.allowedTargets', 'http://x'], 2, 'host:port'],
    [['setting', 'set', 'webhooks.allowedTargets', 'x:0'], 2, 'host:port'],
    [['fault', 'inference', '--task', unknown, '--attempts', '1'], 1, 'no task'],
    [['sweep', '--now', 'tomorrow'], 2, 'ISO 8601'],
    [['sweep', 'now'], 2, 'not expected'],
  ])('%j says so on standard error and leaves with %d', async (args, code, words) => {
    const refused = await refusal(args)
    expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(words) })
  })

  it('says which variable is missing', async () => {
    expect(await refusal(['sweep'], { DATABASE_URL: '' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('DATABASE_URL'),
    })
  })
})
