// Export of a user's data, and the list of columns with personal data.

import { personalData } from '@matte/people/identity/account/personal-data'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson } from '../support/app/people.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'

const world = useApi()

type Export = { readonly profile: Record<string, unknown> } & Record<string, Record<string, unknown>[]>

describe('a data export', () => {
  it('has the profile and every section, of the user only', async () => {
    const [someone, other] = [await givenPerson(world.db, world.api), await givenPerson(world.db, world.api)]
    await someone.client.call('PATCH', '/users/profile', { body: { name: 'Anna' } })
    const personal = await givenTask(world.db, await workspaceOf(someone.personalWorkspaceId))
    await givenTask(world.db, await workspaceOf(other.personalWorkspaceId))
    const answer = await someone.client.call<Export>('GET', '/users/export')
    const { profile, ...sections } = answer.data
    expect(answer.requestId).toBe(answer.headers.get('x-request-id'))
    expect(profile).toMatchObject({ id: someone.userId, email: someone.email, name: 'Anna' })
    const named = Object.values(personalData).flatMap(({ shown }) => (typeof shown === 'string' ? [] : [shown.name]))
    expect(Object.keys(sections)).toEqual(named)
    expect(sections).toMatchObject({
      memberships: [{ workspaceId: someone.personalWorkspaceId, role: 'owner' }],
      sessions: [{ id: someone.sessionId, userAgent: null }],
      changes: [{ action: 'updateProfile', ipAddress: expect.any(String) }],
      tasks: [{ id: personal.id, status: 'queued' }],
      creditLots: [{ granted: 100, available: 99, held: 1 }],
    })
    for (const secret of [other.userId, other.email, other.sessionId, other.workspaceId]) {
      expect(JSON.stringify(answer.data)).not.toContain(secret)
    }
  })

  it('of a team member has the user’s own tasks, and no others', async () => {
    const team = await givenWorkspace(world.db)
    const someone = await givenPerson(world.db, world.api, { member: { workspaceId: team.id, role: 'member' } })
    const [own, others] = [await givenTask(world.db, team), await givenTask(world.db, team)]
    await world.db.updateTable('task').set({ created_by: someone.userId }).where('id', '=', own.id).execute()
    const { tasks } = (await someone.client.call<Export>('GET', '/users/export')).data
    expect(tasks?.map(({ id }) => id)).toEqual([own.id])
    expect(others.id).not.toBe(own.id)
  })

  it('continues past its pages without omitting or repeating a row', async () => {
    const someone = await givenPerson(world.db, world.api)
    // One statement gives one time, so rows are ordered by id.
    await sql`
      insert into login_event (user_id, success, method)
      select ${someone.userId}, true, 'password' from generate_series(1, 1234)`.execute(world.db)
    const { loginHistory = [] } = (await someone.client.call<Export>('GET', '/users/export')).data
    expect(new Set(loginHistory.map(({ id }) => id)).size).toBe(1_234)
    expect(loginHistory).toHaveLength(1_234)
  })

  it('is allowed twice a minute', async () => {
    const { client } = await givenPerson(world.db, world.api)
    const answers = await Promise.all(
      [1, 2, 3].map(() =>
        client.call('GET', '/users/export').then(
          ({ status }) => status,
          (error) => [error.status, error.details.limit],
        ),
      ),
    )
    expect(answers.filter((answer) => answer === 200)).toHaveLength(2)
    expect(answers).toContainEqual([429, 'exports'])
  })
})

async function workspaceOf(id: string) {
  const { plan } = await givenWorkspace(world.db, { plan: 'pro' })
  return { id, plan }
}

describe('the list of personal data', () => {
  const places = Object.keys(personalData)
  const tablesIn = (list: readonly string[]) => new Set(list.map((place) => place.split('.')[0]))

  it('has every column that references users, and every table that references workspaces', async () => {
    const { rows } = await sql<{ place: string; target: string }>`
      select c.conrelid::regclass || '.' || a.attname as place, c.confrelid::regclass::text as target
        from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
       where c.contype = 'f' and c.confrelid in ('app_user'::regclass, 'workspace'::regclass)
      union
      select table_name || '.' || column_name, 'app_user' from information_schema.columns
       where table_schema = 'public' and data_type = 'uuid'
         and (column_name like '%user\_id' or column_name like '%\_by' or column_name = 'for_user')`.execute(world.db)
    const people = rows.filter(({ target }) => target === 'app_user').map(({ place }) => place)
    const workspaces = rows.filter(({ target }) => target === 'workspace').map(({ place }) => place)
    expect(people.length).toBeGreaterThan(15)
    expect(people.filter((place) => !places.includes(place))).toEqual([])
    expect([...tablesIn(workspaces)].filter((table) => !tablesIn(places).has(table))).toEqual([])
  })

  it('has every table with an address or a browser of users', async () => {
    const { rows } = await sql<{ place: string }>`
      select table_name || '.' || column_name as place from information_schema.columns
       where table_schema = 'public' and table_name <> 'app_user'
         and (column_name ~ '(email|address|user_agent)' or data_type = 'inet')`.execute(world.db)
    const known = tablesIn(places)
    const missing = rows.filter(({ place }) => !known.has(place.split('.')[0]))
    expect(rows.length).toBeGreaterThan(5)
    expect(missing).toEqual([])
  })

  it('names existing columns, with an index that begins with the searched one', async () => {
    for (const [place, { shown, erased }] of Object.entries(personalData)) {
      const [table = '', column = ''] = place.split('.')
      const named = [column, ...(typeof shown === 'string' ? [] : [...shown.columns, ...shown.order])]
      const emptied = erased !== 'rows' && 'columns' in erased ? erased.columns : []
      const { rows } = await sql<{ name: string }>`
        select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum > 0`.execute(world.db)
      const known = rows.map(({ name }) => name)
      expect({ place, missing: [...named, ...emptied].filter((name) => !known.includes(name)) }).toEqual({
        place,
        missing: [],
      })
      if (typeof shown === 'string') continue
      const { rows: indexes } = await sql<{ first: string }>`
        select pg_get_indexdef(indexrelid, 1, true) as first from pg_index
         where indrelid = ${table}::regclass`.execute(world.db)
      const first = indexes.map((index) => index.first)
      expect({ place, indexed: first.includes(column) || first.includes(`lower(${column})`) }).toEqual({
        place,
        indexed: true,
      })
    }
  })
})
