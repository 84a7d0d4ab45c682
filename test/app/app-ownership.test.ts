// Every operation of the App API by a stranger with the victim's ids in path and body: the response contains nothing of
// the victim's, and the victim's rows stay unchanged.
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { bodyOf, type Operation, readOperations, send } from '../support/app/operations.ts'
import { givenPerson } from '../support/app/people.ts'
import { addressOf, givenVictim, type Victim } from './victim.ts'

const operations = await readOperations()
const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' }) // all requests from one address

let victim: Victim
let owned: readonly { readonly table: string; readonly column: string }[]

beforeAll(async () => {
  victim = await givenVictim(world, operations)
  owned = await readOwned()
})

/** Every column that references an owner. */
async function readOwned() {
  const { rows } = await sql<{ table: string; column: string }>`
    select c.table_name as table, c.column_name as column
      from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
       and (c.column_name in ('workspace_id', 'user_id')
            or (c.table_name in ('workspace', 'app_user') and c.column_name = 'id'))
     order by 1, 2`.execute(world.db)
  return rows
}

/** Background loops write these some seconds after the victim's own requests. */
const countedLater = { table: 'usage_day', column: 'last_used_at' }

/** Checksums of all rows of the victim, by table. */
async function inventory(): Promise<Record<string, string | null>> {
  const { workspaceId, owner } = victim
  const ids = [workspaceId, owner.userId, owner.personalWorkspaceId]
  const sums: Record<string, string | null> = {}
  for (const { table, column } of owned) {
    if (table === countedLater.table) continue
    const { rows } = await sql<{ sum: string | null }>`
      select md5(string_agg(r::text, '|' order by r::text)) as sum
        from ${sql.table(table)} t, lateral (select to_jsonb(t) - ${countedLater.column} as r) r
       where ${sql.ref(`t.${column}`)} = any(${ids}::uuid[])`.execute(world.db)
    sums[`${table}.${column}`] = rows[0]?.sum ?? null
  }
  return sums
}

it('the inventory detects changes', async () => {
  const before = await inventory()
  expect(before).toMatchObject({ 'workspace.id': expect.any(String), 'session.user_id': expect.any(String) })
  const change = world.db.updateTable('workspace').set({ name: 'another' }).where('id', '=', victim.workspaceId)
  await change.execute()
  expect(await inventory()).not.toEqual(before)
})

const isNobodys = (name: string): boolean => name === 'provider'
const thingsOf = ({ path }: Operation): readonly string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).filter((name) => !isNobodys(name))

/** The example with the victim's ids in all fields that can take them. */
function bodyWithThings(operation: Operation): Record<string, unknown> | undefined {
  const { things, objectKey } = victim
  const taken: Record<string, unknown> = { ...things, imageUrl: objectKey, imageUrls: [objectKey] }
  const body = bodyOf(operation)
  return (
    body &&
    Object.fromEntries(
      Object.entries(body).map(([name, value]) => [name, Object.hasOwn(taken, name) ? taken[name] : value]),
    )
  )
}

/** Values that the response must not contain: all that the stranger has not sent. */
function secretsOf(sent: string): readonly string[] {
  const { things, owner, objectKey, caller, workspaceId } = victim
  const ids = Object.entries(things).flatMap(([name, id]) => (isNobodys(name) ? [] : [id]))
  const { userId, sessionId, personalWorkspaceId, email, accessToken } = owner
  const all = [...ids, userId, sessionId, personalWorkspaceId, email, accessToken, objectKey, workspaceId]
  return [...all, caller.apiKeyId, caller.apiKey].filter((secret) => !sent.includes(secret))
}

describe.each(operations)('$method $path', (operation) => {
  it('gives a stranger no access to the victim’s resources', async () => {
    const before = await inventory()
    const stranger = await givenPerson(world.db, world.api, { plan: 'internal' })
    const url = addressOf(victim, operation)
    const body = bodyWithThings(operation)
    const answer = await send(operation, { url, token: stranger.accessToken, body })
    expect(answer.status).toBeLessThan(500)
    // Like an unknown id.
    if (thingsOf(operation).length > 0) expect(answer).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    for (const secret of secretsOf(`${url} ${JSON.stringify(body)}`)) expect(answer.text).not.toContain(secret)
    expect(await inventory()).toEqual(before)
  })
})
