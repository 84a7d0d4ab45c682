// The audit log (D74): its entries cannot be changed, and can be exported.
import { randomUUID } from 'node:crypto'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { admin, adminText } from '../support/admin.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { givenTeam, type Team } from '../support/app/teams.ts'
import { processDb } from '../support/roles.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })

type Page<T> = { readonly items: T[] }
type Entry = Readonly<Record<string, unknown>> & { readonly id: string }

const rename = ({ owner, path }: Team, name: string, headers: Record<string, string> = {}) =>
  owner.client.call('PATCH', path, { body: { name }, headers })

async function renamed(count: number): Promise<Team> {
  const team = await givenTeam(world)
  for (let i = 0; i < count; i += 1) await rename(team, `Shop ${i}`)
  return team
}

const entriesOf = async ({ owner, path }: Team) =>
  (await owner.client.call<Page<Entry>>('GET', `${path}/audit-log`)).data.items

describe('an entry', () => {
  it('has an id of the service beside the id that the caller chose', async () => {
    const team = await renamed(0)
    await rename(team, 'One', { 'x-request-id': 'chosen' })
    await rename(team, 'Two', { 'x-request-id': 'chosen' })
    await rename(team, 'Three')
    const [three, two, one] = await entriesOf(team)
    const unique = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    expect([one, two]).toMatchObject(Array(2).fill({ requestId: unique, clientRequestId: 'chosen' }))
    expect(one?.requestId).not.toBe(two?.requestId)
    expect(three).toMatchObject({ requestId: unique, clientRequestId: null })
  })

  it('names a key, whose creator did not act', async () => {
    const team = await givenTeam(world)
    const made = await team.owner.client.call<{ id: string; key: string }>('POST', '/developer/api-keys', {
      body: { name: 'Robot', scopes: ['webhooks:write'] },
    })
    await world.api.client(made.data.key).call('POST', '/webhooks', { body: { targetUrl: 'https://93.184.216.34/' } })
    const [entry] = await entriesOf(team)
    const robot = { actorKind: 'api-key', apiKeyId: made.data.id, actorId: null, actorName: 'Robot' }
    expect(entry).toMatchObject({ ...robot, action: 'createWebhook' })
  })

  it('of an operator shows the reason and hides the host', async () => {
    const team = await givenTeam(world)
    const env = { DATABASE_URL: world.databaseUrl }
    await admin(['key', 'create', '--workspace', team.id, '--reason', 'Asked by phone'], env)
    const operator = { actorKind: 'matte-admin', actorId: null, actorName: null, userAgent: null, ipAddress: null }
    expect(await entriesOf(team)).toMatchObject([{ ...operator, action: 'key create', reason: 'Asked by phone' }])
  })
})

describe('entries', () => {
  const attempts = {
    api: ["update audit_entry set action = 'x'", 'delete from audit_entry', 'truncate audit_entry'],
    worker: ["update audit_entry set action = 'x'", 'insert into audit_entry (action) values (1)'],
    operator: ['select from audit_entry', "insert into audit_entry (action) values ('x')", 'delete from audit_entry'],
    dispatcher: ['select from audit_entry', "update audit_entry set action = 'x'", 'delete from audit_entry'],
  } as const

  it.each(
    Object.entries(attempts).flatMap(([role, statements]) => statements.map((statement) => [role, statement] as const)),
  )('cannot be changed by the %s: %s', async (role, statement) => {
    await renamed(1)
    const tried = sql.raw(statement).execute(processDb(role as keyof typeof attempts, world.db))
    await expect(tried).rejects.toMatchObject({ code: '42501' })
  })

  it.each([
    ['worker', "update audit_entry set at = now() - interval '10 years'"],
    ['api', "update audit_entry set ip_address = '192.0.2.1'"],
    ['api', 'update audit_entry set ip_address = null, user_agent = null'],
  ] as const)('keep their values although the %s may name the column: %s', async (role, statement) => {
    const team = await renamed(1)
    const before = await entriesOf(team)
    const tried = sql.raw(statement).execute(processDb(role, world.db))
    await expect(tried).rejects.toMatchObject({ code: '42501' })
    expect(await entriesOf(team)).toEqual(before)
  })

  it('of an erased person lose address, user agent and name, and stay', async () => {
    const team = await givenTeam(world)
    const leaving = await team.member('admin')
    await leaving.client.call('POST', `${team.path}/invites`, { body: { email: 'x@example.com', role: 'member' } })
    const [before] = await entriesOf(team)
    expect(before).toMatchObject({ ipAddress: '127.0.0.1', userAgent: expect.any(String) })
    await givePassword(world.db, leaving)
    await leaving.client.call('DELETE', '/users/profile', { body: { password } })
    const [after] = await entriesOf(team)
    expect(after).toEqual({ ...before, ipAddress: null, userAgent: null, actorName: null })
    const refused = { code: '42501' }
    const own = sql`user_id = ${leaving.userId}`
    // Entries of erased persons alone, so nothing but their values is refused.
    await sql`delete from audit_entry where not (${own})`.execute(world.db)
    const worker = sql`update audit_entry set at = now() - interval '10 years'`.execute(processDb('worker', world.db))
    await expect(worker).rejects.toMatchObject(refused)
    const api = sql`update audit_entry set ip_address = '192.0.2.1' where ${own}`.execute(processDb('api', world.db))
    await expect(api).rejects.toMatchObject(refused)
  })

  it('are deleted by the worker after their retention, and by no sweep of matte-admin with the role of the API', async () => {
    const team = await renamed(1)
    const now = new Date(Date.now() + 31 * 86_400_000)
    const env = { DATABASE_URL: world.databaseUrl, AUDIT_RETENTION_DAYS: '30' }
    const swept = await admin(['sweep', '--now', now.toISOString()], env)
    expect(swept.deletedAuditEntries).toBeNull()
    expect(await entriesOf(team)).toHaveLength(1)
    const deps = { plans: world.api.config.plans, auditRetentionDays: 30, bucket: undefined }
    await sweepRetention({ db: processDb('worker', world.db), ...deps }, { now })
    expect(await entriesOf(team)).toEqual([])
  })
})

describe('GET /app/teams/{teamId}/audit-log/export', () => {
  async function read({ path }: Pick<Team, 'path'>, { accessToken }: Person, query: string) {
    const response = await fetch(`${world.api.url}/api/v1/app${path}/audit-log/export?${query}`, {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    const text = await response.text()
    const lines = response.ok ? text.split('\n').filter((line) => line !== '') : []
    return {
      status: response.status,
      type: response.headers.get('content-type')?.split(';')[0],
      text,
      lines: lines.map(parse),
    }
  }
  const parse = (line: string) => JSON.parse(line) as Entry
  const untilNow = 'endDate=2100-01-01'

  it('has JSON lines, oldest first, of this team alone, and continues after the last', async () => {
    const [team] = [await renamed(5), await renamed(1)]
    const all = await read(team, team.owner, untilNow)
    expect([all.status, all.type]).toEqual([200, 'application/x-ndjson'])
    expect(all.lines).toEqual((await entriesOf(team)).toReversed())
    const first = await read(team, team.owner, `${untilNow}&limit=2`)
    const rest = await read(team, team.owner, `${untilNow}&after=${first.lines.at(-1)?.id}`)
    expect([...first.lines, ...rest.lines]).toEqual(all.lines)
    const end = await read(team, team.owner, `${untilNow}&after=${all.lines.at(-1)?.id}`)
    expect([end.status, end.text]).toEqual([200, ''])
  })

  it('leaves out the last minute, so that a later entry with an earlier time is not missed', async () => {
    const team = await renamed(1)
    expect((await read(team, team.owner, '')).lines).toEqual([])
    await sql`insert into audit_entry (workspace_id, actor, action, at)
              values (${team.id}, 'system', 'earlier', now() - interval '61 seconds')`.execute(world.db)
    expect((await read(team, team.owner, '')).lines).toMatchObject([{ action: 'earlier', actorKind: 'system' }])
  })

  it('rejects an entry of another log, and other roles than the owner', async () => {
    const [team, other] = [await renamed(1), await renamed(1)]
    const [foreign] = await entriesOf(other)
    for (const after of [foreign?.id, randomUUID(), 'x']) {
      const { status, text } = await read(team, team.owner, `after=${after}`)
      expect([status, JSON.parse(text)]).toMatchObject([
        400,
        { error: { code: 'INVALID_PARAMS', details: { issues: [{ path: '/query/after' }] } } },
      ])
    }
    expect(await read(team, team.owner, 'limit=1001')).toMatchObject({ status: 400 })
    expect(await read(team, await team.member('admin'), '')).toMatchObject({ status: 403 })
    expect(await read(team, await givenPerson(world.db, world.api), '')).toMatchObject({ status: 404 })
  })
})

describe('matte-admin audit export', () => {
  const run = async (...args: string[]) => {
    const text = await adminText(['audit', 'export', ...args], { DATABASE_URL: world.databaseUrl })
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Entry]))
  }

  it('prints the entries of a workspace or of all, oldest first, within a span', async () => {
    const [team, other] = [await renamed(3), await renamed(1)]
    await admin(['console-link'], { DATABASE_URL: world.databaseUrl, PUBLIC_URL: world.api.url })
    const own = await run('--workspace', team.id, '--to', '2100-01-01')
    expect(own.map(({ id }) => id)).toEqual((await entriesOf(team)).toReversed().map(({ id }) => id))
    const all = await run('--to', '2100-01-01')
    expect(all).toEqual(expect.arrayContaining(own))
    expect(new Set(all.map(({ workspaceId }) => workspaceId))).toEqual(
      expect.objectContaining(new Set([team.id, other.id, null])),
    )
    const link = all.findLast(({ action }) => action === 'console-link')
    expect(link).toMatchObject({ actorKind: 'matte-admin', userAgent: expect.stringContaining('matte-admin (') })
    expect(await run('--workspace', team.id, '--from', '2100-01-01', '--to', '2100-01-02')).toEqual([])
    expect(await run('--workspace', team.id)).toEqual([])
    await expect(run('--from', '2100-01-02', '--to', '2100-01-01')).rejects.toMatchObject({ code: 2 })
  })

  it('reads pages, each once', async () => {
    const { id } = await givenTeam(world)
    // Many entries of one time: the id decides.
    await sql`insert into audit_entry (workspace_id, actor, action, at)
              select ${id}, 'system', n::text, '2026-01-01' from generate_series(1, 1200) n`.execute(world.db)
    const lines = await run('--workspace', id)
    expect(lines).toHaveLength(1_200)
    expect(new Set(lines.map(({ action }) => action)).size).toBe(1_200)
  })
})
