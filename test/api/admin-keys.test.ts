import { describe, expect, it } from 'vitest'
import { adminText, admin as runAdmin } from '../support/admin.ts'
import { givenPerson } from '../support/app/people.ts'
import { useApi } from './given.ts'

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

describe('matte-admin key on existing keys', () => {
  type Listed = { readonly apiKeyId: string; readonly key: string; readonly expiresAt: string | null }

  it('list shows all but the secret key texts', async () => {
    const { workspaceId, apiKeyId, apiKey } = await newWorkspace()
    const { keys } = await admin(['key', 'list', '--workspace', workspaceId])
    expect(keys).toMatchObject([{ apiKeyId, name: 'first', key: `service_live_…${apiKey.slice(-4)}`, revokedAt: null }])
    const stdout = await adminText(['key', 'list', '--workspace', workspaceId], { DATABASE_URL: world.databaseUrl })
    expect(stdout).toMatch(
      new RegExp(`^workspaceId {2}${workspaceId}\nkeys {9}apiKeyId=${apiKeyId} name=first key=service`),
    )
    expect(stdout).not.toContain(apiKey)
  })

  it('roll creates the next key and keeps the old one working for the overlap', async () => {
    const { workspaceId, apiKeyId, apiKey } = await newWorkspace()
    const rolled = await admin(['key', 'roll', '--key', apiKeyId, '--overlap-seconds', '3600'])
    expect(rolled).toMatchObject({ workspaceId, rolled: apiKeyId, expiresAt: null })
    for (const key of [apiKey, String(rolled.apiKey)]) expect((await world.api.client(key).listTasks()).total).toBe(0)
    const keys = (await admin(['key', 'list', '--workspace', workspaceId])).keys as Listed[]
    expect(keys.map((key) => [key.apiKeyId, key.expiresAt === null])).toEqual([
      [rolled.apiKeyId, true],
      [apiKeyId, false],
    ])
    const again = await refusal(['key', 'roll', '--key', apiKeyId])
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('already rolled') })
  })

  it('adopt transfers the keys of a member to an owner', async () => {
    const owner = await givenPerson(world.db, world.api)
    const { workspaceId } = owner
    const member = await givenPerson(world.db, world.api, { member: { workspaceId, role: 'admin' } })
    const { data } = await member.client.call<{ id: string }>('POST', '/developer/api-keys', { body: { name: 'k' } })
    const args = ['key', 'adopt', '--workspace', workspaceId, '--from', member.userId]
    expect(await admin([...args, '--to', owner.userId])).toMatchObject({ adopted: [data.id] })
    const refused = await refusal([...args, '--to', member.userId])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('owner') })
  })

  it.each([
    [['key', 'roll', '--key', unknown], 1, 'no key'],
    [['key', 'roll', '--key', unknown, '--overlap-seconds', '604801'], 2, 'whole number'],
    [['key', 'list', '--workspace', unknown], 1, 'no workspace'],
    [['key', 'adopt', '--workspace', unknown, '--from', unknown, '--to', unknown], 1, 'owner'],
  ])('rejects %j', async (args, code, words) => {
    expect(await refusal(args)).toMatchObject({ code, stderr: expect.stringContaining(words) })
  })
})

describe('matte-admin workspace list', () => {
  type Listed = {
    readonly workspaceId: string
    readonly name: string
    readonly userId: string | null
    readonly createdAt: string
  }
  const list = async (...more: string[]) => (await admin(['workspace', 'list', ...more])).workspaces as Listed[]

  it('shows ids, plans and people, newest first, and finds a part of a name', async () => {
    const { workspaceId } = await newWorkspace()
    const person = await givenPerson(world.db, world.api)
    const personal = { personal_of: person.userId }
    await world.db.updateTable('workspace').set(personal).where('id', '=', person.workspaceId).execute()
    const all = await list()
    const find = (id: string) => all.find((each) => each.workspaceId === id)
    expect(find(person.workspaceId)).toMatchObject({ kind: 'personal', userId: person.userId })
    expect(find(workspaceId)).toMatchObject({ name: 'w', plan: 'pro', userId: null })
    const times = all.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...times].sort().reverse())
    await world.db.updateTable('workspace').set({ name: 'Shop 100%_' }).where('id', '=', workspaceId).execute()
    expect(await list('--name', '100%_')).toMatchObject([{ workspaceId }])
    expect((await list('--name', 'sHoP')).map((each) => each.workspaceId)).toEqual([workspaceId])
    await world.db.updateTable('workspace').set({ deleted_at: new Date() }).where('id', '=', workspaceId).execute()
    expect(await list('--name', 'shop')).toEqual([])
  })
})
