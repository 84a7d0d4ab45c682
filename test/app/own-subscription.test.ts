// `/users/subscription` is consistent on each replica: a response shows a plan change entirely or not at all.
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { buy } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenTeam } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

/** A second replica, which accepts the tokens of the first. */
const world = useApi()
let other: TestApi
beforeAll(async () => {
  const { publicUrl } = world.api.config
  other = await startApi({ DATABASE_URL: world.databaseUrl, PUBLIC_URL: publicUrl })
})
afterAll(() => other?.stop())

type Shown = {
  readonly workspaceId: string
  readonly plan: string
  readonly status: string
  readonly limits: { readonly requestsPerMinute: number; readonly batchLimit: number }
  readonly credits: { readonly available: number; readonly perPeriod: number }
}

const shownBy = async (api: TestApi, { accessToken }: Person): Promise<Shown> =>
  (await createAppClient(api.url, accessToken).call<Shown>('GET', '/users/subscription')).data

const free = { plan: 'free', status: 'none', limits: { requestsPerMinute: 600, batchLimit: 0 } }
const pro = { plan: 'pro', status: 'active', limits: { requestsPerMinute: 1_200, batchLimit: 5 } }
const given = () => givenPerson(world.db, world.api, { plan: 'free', credits: 0 })

describe('the user’s subscription', () => {
  it('is complete and current on another replica that has cached the user under the previous plan', async () => {
    const person = await given()
    for (const api of [world.api, other]) expect(await shownBy(api, person)).toMatchObject(free)
    await buy(person, { plan: 'pro', interval: 'month' })
    const [here, there] = await Promise.all([shownBy(world.api, person), shownBy(other, person)])
    expect(there).toMatchObject({ ...pro, credits: { available: 1_000, perPeriod: 1_000 } })
    expect(there).toEqual(here)
    await person.client.call('POST', '/payments/subscription/change', { body: { plan: 'business', interval: 'month' } })
    expect(await shownBy(other, person)).toMatchObject({
      ...{ plan: 'business', status: 'active' },
      limits: { requestsPerMinute: 2_400, batchLimit: 50 },
    })
  })

  it('is consistent if the change commits between two statements of the read', async () => {
    const person = await given()
    await buy(person, { plan: 'pro', interval: 'month' })
    await shownBy(other, person)
    let reading: Promise<Shown> = Promise.reject(new Error('not begun'))
    reading.catch(() => undefined)
    await world.db.transaction().execute(async (tx) => {
      await sql`lock table subscription in access exclusive mode`.execute(tx)
      reading = shownBy(other, person)
      await until('the reading waits', async () => {
        const { rows } = await sql`
          select from pg_locks where not granted and relation = 'subscription'::regclass`.execute(world.db)
        return rows.length > 0
      })
      await tx.updateTable('workspace').set({ plan: 'free' }).where('id', '=', person.workspaceId).execute()
      const ended = { status: 'canceled', ended_at: new Date() } as const
      await tx.updateTable('subscription').set(ended).where('workspace_id', '=', person.workspaceId).execute()
    })
    const { plan, status } = await reading
    expect(['pro active', 'free canceled']).toContain(`${plan} ${status}`)
    expect(await shownBy(other, person)).toMatchObject({ plan: 'free', status: 'canceled' })
  })

  it('is that of the personal workspace as soon as the membership ends', async () => {
    const team = await givenTeam(world, { plan: 'business' })
    const member = await team.member('member')
    expect(await shownBy(other, member)).toMatchObject({ workspaceId: team.id, plan: 'business' })
    await team.owner.client.call('DELETE', `${team.path}/members/${member.userId}`)
    expect(await shownBy(other, member)).toMatchObject({ workspaceId: member.personalWorkspaceId, plan: 'pro' })
  })
})
